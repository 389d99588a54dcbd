#include "sim/cycle_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/fiber_state.h"
#include "sim/folding.h"

namespace kernbench::sim {
namespace {

constexpr std::size_t kMostSteps = 12;   // of a cycle, in a text
constexpr std::size_t kMostClauses = 4;  // likewise

const WaitEdge& edge_between(const DeadlockGraph& graph, std::size_t from, std::size_t to) {
  const auto& targets = graph[from].targets;
  return graph[from].edges[static_cast<std::size_t>(std::ranges::find(targets, to) - targets.begin())];
}

/// Leaves out of the middle what is too much.
void shorten(std::vector<std::string>& parts, std::size_t most, const char* omission) {
  if (parts.size() <= most) return;
  const auto first_left_out = parts.begin() + static_cast<std::ptrdiff_t>(most) - 2;
  const auto left_out = static_cast<std::size_t>(parts.end() - 1 - first_left_out);
  parts.erase(first_left_out, parts.end() - 1);
  parts.insert(parts.end() - 1, fmt::format(fmt::runtime(omission), left_out));
}

bool is_program_of(const DeadlockGraph& graph, std::size_t number, bool device) {
  if (graph.role(number) != WaitRole::party) return false;
  const auto* fiber = dynamic_cast<const Fiber*>(graph[number].node);
  const bool is_kernel =
      fiber != nullptr && fiber->implementation().locals[static_cast<std::size_t>(Fiber::Slot::kernel)] != nullptr;
  return device == is_kernel;
}

bool has_calls_of_hosts(const DeadlockGraph& graph, const std::vector<std::size_t>& cycle) {
  for (std::size_t i = 1; i < cycle.size(); ++i) {
    if (!edge_between(graph, cycle[i - 1], cycle[i]).unmet.empty()) return true;
  }
  return false;
}

/// A call of the program's own is "its".
std::string seen_by(const std::string& program, const std::string& text) {
  const std::string owner = program + "'s ";
  return text.starts_with(owner) ? "its " + text.substr(owner.size()) : text;
}

/// Where the program is, without what it waits for, if anything.
std::string begin_of_clause(const std::string& program, const std::string& reason) {
  return fmt::format("{} waits {}for ", program, reason.empty() ? "" : reason + " ");
}

/// From one program to the next: what the first one waits for, and why that does not come.
std::string clause(const DeadlockGraph& graph, const std::vector<std::size_t>& path) {
  const std::string program = graph.name(path.front());
  const WaitEdge& last = edge_between(graph, path[path.size() - 2], path.back());
  std::vector<std::string> calls;
  for (std::size_t i = 1; i + 1 < path.size(); ++i) {
    if (graph.role(path[i]) != WaitRole::call) continue;
    const std::string name = seen_by(program, graph.name(path[i]));
    if (calls.empty() || calls.back() != name) calls.push_back(name);
  }
  if (last.unmet.empty()) {
    calls.push_back(path.size() == 2 || last.reason.empty()
                        ? graph.name(path.back())
                        : fmt::format("{} ({})", graph.name(path.back()), last.reason));
  } else if (calls.empty()) {
    calls.push_back(seen_by(program, last.unmet));
  } else {
    calls.back() = seen_by(program, last.unmet);  // which names that call
  }
  return begin_of_clause(program, edge_between(graph, path[0], path[1]).reason) +
         fmt::to_string(fmt::join(calls, ", which waits for "));
}

std::string clauses_text(const DeadlockGraph& graph, const std::vector<std::size_t>& cycle) {
  std::vector<std::string> clauses;
  std::vector<std::size_t> path{cycle.front()};
  for (std::size_t i = 1; i < cycle.size(); ++i) {
    path.push_back(cycle[i]);
    if (!is_program_of(graph, cycle[i], false)) continue;
    clauses.push_back(clause(graph, path));
    path = {cycle[i]};
  }
  shorten(clauses, kMostClauses, "… ({} more)");
  return fmt::format("cycle: {}", fmt::join(clauses, "; "));
}

std::string steps_text(const DeadlockGraph& graph, const std::vector<std::size_t>& cycle) {
  std::vector<std::string> steps{graph.name(cycle.front())};
  std::string last = steps.front(), need;
  for (std::size_t i = 1; i < cycle.size(); ++i) {
    const WaitEdge& edge = edge_between(graph, cycle[i - 1], cycle[i]);
    if (need.empty() || edge.host) need = edge.reason;
    const WaitRole role = graph.role(cycle[i]);
    if (role != WaitRole::party && role != WaitRole::call) continue;
    const std::string name = graph.name(cycle[i]);
    if (name == last) continue;
    steps.push_back(need.empty() ? name : fmt::format("{} ({})", name, need));
    last = name;
    need.clear();
  }
  shorten(steps, kMostSteps, "… ({} more)");
  return fmt::format("cycle: {}", fmt::join(steps, " -> "));
}

// Two are not a set, so that cycles of pairs are alike.
std::string waiting_text(const DeadlockGraph& graph, const std::vector<std::size_t>& cycle) {
  std::vector<std::string> names;
  for (const std::size_t number : graph.waiting_for(cycle)) names.push_back(graph.name(number));
  if (names.size() == 2) return fmt::format("{} and {} wait", names[0], names[1]);
  const FoldedNames folded = fold_names(names);
  return names.empty() ? "" : fmt::format("{} {}", folded.text, folded.plural ? "wait" : "waits");
}

}  // namespace

std::string cycle_text(const DeadlockGraph& graph, std::vector<std::size_t> cycle) {
  const auto is_host = [&](std::size_t number) { return is_program_of(graph, number, false); };
  const auto is_kernel = [&](std::size_t number) { return is_program_of(graph, number, true); };
  if (cycle.empty() || std::ranges::any_of(cycle, is_kernel)) return steps_text(graph, cycle);
  const auto first = std::ranges::find_if(cycle, is_host);
  if (first != cycle.end() && !has_calls_of_hosts(graph, cycle)) return steps_text(graph, cycle);
  if (first != cycle.end()) {
    cycle.pop_back();
    std::rotate(cycle.begin(), first, cycle.end());
    cycle.push_back(cycle.front());
    return clauses_text(graph, cycle);
  }
  const std::string waiting = waiting_text(graph, cycle);
  return steps_text(graph, cycle) + (waiting.empty() ? "" : ", for which " + waiting);
}

}  // namespace kernbench::sim
