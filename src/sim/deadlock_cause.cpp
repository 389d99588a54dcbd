#include "sim/deadlock_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "sim/cycle_text.h"
#include "sim/fiber.h"
#include "sim/folding.h"
#include "sim/report.h"

namespace kernbench::sim {
namespace {

constexpr std::size_t kNone = DeadlockGraph::kNone;
constexpr std::size_t kMostCauses = 64;  // that are worked out
constexpr std::size_t kMostOthers = 4;   // of a choice, kinds of what those who could provide it wait for

/// Nobody is left who could act: the same thing, by whoever and for whomever.
struct Missing {
  bool host = false;
  std::vector<std::size_t> nodes = {};  // that need it
  std::vector<Name> parties = {};
  Verb verb = {};  // of the parties; behind it comes the fault
  AlikeNames faults = {};
};

/// Whether a node waits for nobody any more. Of alternatives, one that is left would be enough.
bool is_final(const DeadlockGraph::Node& node, const WaitEdge& edge) {
  if (edge.target != nullptr) return false;
  if (!edge.alternative) return true;
  return std::ranges::none_of(node.edges,
                              [](const WaitEdge& other) { return other.alternative && other.target != nullptr; });
}

/// What is missing, where no party is known that could have provided it.
Name need_text(const DeadlockGraph& graph, std::size_t number, const WaitEdge& edge) {
  if (graph.role(number) == WaitRole::party) return edge.reason;
  return named("{}, which needs {}", graph.name(number), edge.reason);
}

/// By who is missing, or by what is needed of nobody in particular.
class MissingParties {
 public:
  explicit MissingParties(const DeadlockGraph& graph) {
    for (std::size_t number = 0; number < graph.nodes().size(); ++number) {
      const auto& node = graph[number];
      const auto* fiber = node.edges.empty() ? dynamic_cast<const Fiber*>(node.node) : nullptr;
      if (fiber != nullptr) add(number, false, {fiber->wait_name()}, doing(*fiber));
      for (const WaitEdge& edge : node.edges) {
        if (!is_final(node, edge)) continue;
        add(number, edge.host, edge.missing,
            edge.fault.empty() ? Predicate{{}, need_text(graph, number, edge)} : edge.fault);
      }
    }
  }
  const std::vector<Missing>& all() const { return all_; }

 private:
  void add(std::size_t number, bool host, const std::vector<Name>& parties, const Predicate& fault) {
    const std::string key =
        fmt::format("{}\n{}\n{}", parties.empty() ? "need" : "fault", fault.verb.singular, pattern_of(fault.rest));
    const auto [place, fresh] = places_.try_emplace(key, all_.size());
    if (fresh) all_.emplace_back().verb = fault.verb;
    Missing& missing = all_[place->second];
    missing.host = missing.host || host;
    if (missing.nodes.empty() || missing.nodes.back() != number) missing.nodes.push_back(number);
    missing.parties.insert(missing.parties.end(), parties.begin(), parties.end());
    missing.faults.add(fault.rest);
  }

  std::vector<Missing> all_;
  std::map<std::string, std::size_t> places_;
};

std::vector<Name> names_of(const DeadlockGraph& graph, const std::vector<std::size_t>& numbers) {
  std::vector<Name> names;
  names.reserve(numbers.size());
  for (const std::size_t number : numbers) names.push_back(graph.name(number));
  return names;
}

/// The calls among `nodes` that are alike to the first one.
std::vector<std::size_t> first_calls(const DeadlockGraph& graph, const std::vector<std::size_t>& nodes) {
  std::vector<std::size_t> calls;
  std::string first;
  for (const std::size_t number : nodes) {
    if (graph.role(number) != WaitRole::call) continue;
    const std::string pattern = pattern_of(graph.name(number));
    if (calls.empty()) first = pattern;
    if (pattern == first) calls.push_back(number);
  }
  return calls;
}

/// In which call programs of kernels wait; what hosts call is part of the fault.
Name calls_text(const DeadlockGraph& graph, const std::vector<std::size_t>& nodes) {
  AlikeNames calls;
  for (const std::size_t number : first_calls(graph, nodes)) calls.add(graph.name(number));
  return calls.size() == 0 ? Name() : ": " + calls.text();
}

/// `others_poll`: who waits for it need not be among those who wait.
std::string missing_text(const DeadlockGraph& graph, const Missing& missing, bool others_poll) {
  const FoldedNames waiting = fold_names(names_of(graph, graph.waiting_for(missing.nodes)));
  const Name wait = kWaits.of(waiting.plural);
  if (missing.parties.empty()) {
    return named("{} {} for {}: nobody is left that could provide it", waiting.text, wait, missing.faults.text());
  }
  const FoldedNames parties = fold_names(missing.parties);
  Name text = named("{} {} {}", parties.text, missing.verb.of(parties.plural), missing.faults.text());
  if (waiting.text.empty() && others_poll) return text;
  if (waiting.text.empty()) return named("{}, for which nobody waits{}", text, calls_text(graph, missing.nodes));
  text += named(", for which {} {}", waiting.text, wait);
  return missing.host ? text : text + calls_text(graph, missing.nodes);
}

bool leaves_a_choice(const DeadlockGraph::Node& node) {
  return std::ranges::count_if(node.edges,
                               [](const WaitEdge& edge) { return edge.alternative && edge.target != nullptr; }) > 1;
}

/// What the programs of `group` wait for, but for `told`, in order: ": A waits for X; 2 programs of B wait for Y".
Name others_text(const DeadlockGraph& graph, const std::vector<std::size_t>& group,
                 const std::vector<std::size_t>& told) {
  FoldedLines lines;
  for (const std::size_t number : group) {
    if (graph.role(number) != WaitRole::party) continue;
    for (const std::size_t target : graph[number].targets) {
      if (target == kNone || !graph.on_cycle(number, target) || std::ranges::binary_search(told, target)) continue;
      lines.add({graph.name(number), kWaitsFor, graph.name(target)});
    }
  }
  Name text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostOthers); ++i) text += (i == 0 ? ": " : "; ") + lines.line(i);
  return lines.size() > kMostOthers ? text + fmt::format("; … ({} more)", lines.size() - kMostOthers) : text;
}

/// Where one of several would be enough, no single cycle is the cause.
Name choices_text(const DeadlockGraph& graph, const std::vector<std::size_t>& group,
                  const std::vector<std::size_t>& choices) {
  const std::vector<std::size_t> calls = first_calls(graph, choices);
  const FoldedNames waiting = fold_names(names_of(graph, graph.waiting_for(calls.empty() ? choices : calls)));
  return named("{} {}{}; everyone who could provide it waits, too{}", waiting.text, kWaits.of(waiting.plural),
               calls_text(graph, choices), others_text(graph, group, calls));
}

struct Cycle {
  bool host = false;
  std::size_t start = kNone;
};

/// Where to start: at a program for whose call another one waits, else at any program, else anywhere.
Cycle cycle_in(const DeadlockGraph& graph, const std::vector<std::size_t>& group) {
  Cycle cycle;
  std::size_t any_party = kNone;
  for (const std::size_t number : group) {
    if (any_party == kNone && graph.role(number) == WaitRole::party) any_party = number;
    for (std::size_t i = 0; i < graph[number].edges.size(); ++i) {
      const std::size_t target = graph[number].targets[i];
      if (target == kNone || !graph[number].edges[i].host || !graph.on_cycle(number, target)) continue;
      cycle.host = true;
      cycle.start = std::min(cycle.start, target);
    }
  }
  if (cycle.start == kNone) cycle.start = any_party == kNone ? group.front() : any_party;
  return cycle;
}

struct Causes {
  std::vector<std::string> host, device;
  std::vector<std::string>& of(bool is_host) { return is_host ? host : device; }
};

/// Whether a program waits for it, of the hosts, or one that has been launched already.
bool holds_up_a_program(const DeadlockGraph& graph, const Missing& missing) {
  const auto has_launch = [&](std::size_t number) {
    return std::ranges::any_of(graph[number].targets, [](std::size_t target) { return target != kNone; });
  };
  return std::ranges::any_of(missing.nodes, has_launch) || !graph.waiting_for(missing.nodes).empty();
}

/// Whether events are still to come, which may be what somebody needs of nobody in particular; of those of polling, who
/// waits for a program does not show.
enum class Outlook : std::uint8_t { none, open, polling };

void append_missing(const DeadlockGraph& graph, Outlook outlook, Causes& causes) {
  const MissingParties parties(graph);
  for (const Missing& missing : parties.all()) {
    if (outlook != Outlook::polling && !holds_up_a_program(graph, missing)) continue;
    if (outlook != Outlook::none && (!missing.host || missing.parties.empty())) continue;
    auto& list = causes.of(missing.host);
    if (list.size() < kMostCauses) list.push_back(missing_text(graph, missing, outlook == Outlook::polling));
  }
}

void append_cycles(const DeadlockGraph& graph, Outlook outlook, Causes& causes) {
  std::vector<std::pair<bool, AlikeNames>> kinds;  // whether it is the hosts'
  std::map<std::string, std::size_t> places;
  for (const auto& group : graph.groups_in_cycles()) {
    const Cycle cycle = cycle_in(graph, group);
    std::vector<std::size_t> choices;
    std::ranges::copy_if(group, std::back_inserter(choices), [&](auto each) { return leaves_a_choice(graph[each]); });
    if (outlook != Outlook::none && !(cycle.host && choices.empty())) continue;
    const Name text =
        choices.empty() ? cycle_text(graph, graph.cycle_through(cycle.start)) : choices_text(graph, group, choices);
    const auto [place, fresh] = places.try_emplace(pattern_of(text), kinds.size());
    if (fresh) kinds.emplace_back(cycle.host, AlikeNames());
    kinds[place->second].second.add(text);
  }
  for (const auto& [host, texts] : kinds) {
    const std::string count = texts.size() > 1 ? fmt::format(" [{} such cycles]", texts.size()) : "";
    causes.of(host).push_back(texts.text().text() + count);
  }
}

std::vector<std::string> causes_of_hosts(const DeadlockGraph& graph, Outlook outlook) {
  Causes causes;
  append_missing(graph, outlook, causes);
  append_cycles(graph, outlook, causes);
  return std::move(causes.host);
}

}  // namespace

std::vector<std::string> causes_so_far(const DeadlockGraph& graph) {
  return causes_of_hosts(graph, Outlook::open);
}

std::vector<std::string> causes_of_polling(const DeadlockGraph& graph) {
  return causes_of_hosts(graph, Outlook::polling);
}

std::vector<std::string> causes_of(const DeadlockGraph& graph) {
  Causes causes;
  append_missing(graph, Outlook::none, causes);
  append_cycles(graph, Outlook::none, causes);
  return causes.host.empty() ? std::move(causes.device) : std::move(causes.host);
}

}  // namespace kernbench::sim
