#include "sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "sim/deadlock_cause.h"
#include "sim/deadlock_graph.h"
#include "sim/fiber_state.h"
#include "sim/folding.h"
#include "sim/scheduler_state.h"

namespace kernbench::sim {
namespace {

constexpr std::size_t kMostCausesTold = 4;  // of one text
constexpr std::size_t kMostLines = 28;      // of one text; DeadlockError::lines() has all

/// What a node without edges is up to: it waits for nothing, so it is where the chain of waits ends.
Predicate describe_idle(const WaitNode& node) {
  const auto* fiber = dynamic_cast<const Fiber*>(&node);
  return fiber != nullptr ? doing(*fiber) : Predicate{kWaits, "for nothing"};
}

/// Lines of a deadlock in the order in which a reader wants them: what programs of the host wait for first, what
/// follows on the devices, and last who only waits for the end of the others.
enum class LineRank : std::uint8_t { host_call, host, device, join, count };

LineRank rank_of(const DeadlockGraph& graph, std::size_t number, const std::vector<DeadlockGraph::Told>& told) {
  if (std::ranges::any_of(told, [](const auto& each) { return each.edge->host; })) return LineRank::host_call;
  if (graph.role(number) == WaitRole::join) return LineRank::join;
  if (told.size() == 1 && told[0].target != DeadlockGraph::kNone && graph.role(told[0].target) == WaitRole::join) {
    return LineRank::join;
  }
  return graph[number].on_device ? LineRank::device : LineRank::host;
}

/// What is said of one edge of a node, or of a node without any.
struct Line {
  Name name;
  Predicate predicate = {};  // where there is no target
  Name reason = {}, target = {};
  bool in_cycle = false;
  std::optional<SlotNeed> slot = {};
};

/// All of it, and the same in few lines.
struct Explanation {
  std::vector<DeadlockLine> lines = {};
  FoldedLines folded[static_cast<std::size_t>(LineRank::count)] = {};
};

ReportLine report_line(const Line& line) {
  if (!line.predicate.empty()) return {line.name, line.predicate.verb, line.predicate.rest};
  Name tail;
  if (!line.reason.empty()) tail = named(" ({})", line.reason);
  if (line.in_cycle) tail += " [cycle]";
  return {line.name, kWaitsFor, line.target, tail};
}

DeadlockLine deadlock_line(const Line& line) {
  const std::string reason = line.predicate.empty() ? line.reason.text() : line.predicate.text();
  return {line.name, reason, line.target, line.in_cycle, line.slot};
}

Line line_of(const DeadlockGraph& graph, std::size_t number, const Name& reason, std::size_t target) {
  if (target != DeadlockGraph::kNone) {
    return {graph.name(number), {}, reason, graph.name(target), graph.on_cycle(number, target)};
  }
  return {graph.name(number), {kNeeds, named("{}: nobody left that could provide it", reason)}};
}

Line idle_line(const DeadlockGraph& graph, std::size_t number) {
  return {graph.name(number), describe_idle(*graph[number].node)};
}

std::vector<DeadlockLine> all_lines(const DeadlockGraph& graph) {
  std::vector<DeadlockLine> lines;
  for (std::size_t number = 0; number < graph.nodes().size(); ++number) {
    const auto& node = graph[number];
    if (node.edges.empty()) lines.push_back(deadlock_line(idle_line(graph, number)));
    for (std::size_t i = 0; i < node.edges.size(); ++i) {
      Line line = line_of(graph, number, node.edges[i].reason, node.targets[i]);
      line.slot = node.edges[i].slot;
      lines.push_back(deadlock_line(line));
    }
  }
  return lines;
}

/// What a text says, by node: of commands of streams only if another line names them.
std::vector<std::vector<DeadlockGraph::Told>> all_told(const DeadlockGraph& graph) {
  std::vector<std::vector<DeadlockGraph::Told>> all(graph.nodes().size());
  std::vector<std::size_t> pending;
  for (std::size_t number = all.size(); number > 0; --number) {
    if (graph.role(number - 1) != WaitRole::command) pending.push_back(number - 1);
  }
  while (!pending.empty()) {
    const std::size_t number = pending.back();
    pending.pop_back();
    all[number] = graph.told(number);
    for (const auto& each : all[number]) {
      const bool is_command = each.target != DeadlockGraph::kNone && graph.role(each.target) == WaitRole::command;
      if (is_command && all[each.target].empty()) pending.push_back(each.target);
    }
  }
  return all;
}

/// What a line says, whether or not it is on a cycle.
std::string statement(const Line& line) {
  return line.name.text() + '\n' + line.target.text() + '\n' + line.reason.text();
}

Explanation explain(const DeadlockGraph& graph) {
  Explanation all{all_lines(graph)};
  const auto all_told_lines = all_told(graph);
  // Two nodes may have one name, as a call and what it waits for first: one on a cycle says it for both.
  std::set<std::string> on_cycles;
  for (std::size_t number = 0; number < graph.nodes().size(); ++number) {
    for (const auto& each : all_told_lines[number]) {
      const Line line = line_of(graph, number, each.reason, each.target);
      if (line.in_cycle) on_cycles.insert(statement(line));
    }
  }
  for (std::size_t number = 0; number < graph.nodes().size(); ++number) {
    const auto& told = all_told_lines[number];
    if (told.empty() && graph.role(number) == WaitRole::command) continue;
    auto& folded = all.folded[static_cast<std::size_t>(rank_of(graph, number, told))];
    if (graph[number].edges.empty()) folded.add(report_line(idle_line(graph, number)));
    for (const auto& each : told) {
      const Line line = line_of(graph, number, each.reason, each.target);
      if (line.in_cycle || !on_cycles.contains(statement(line))) folded.add(report_line(line));
    }
  }
  return all;
}

/// The first `most` lines, and how many more there are.
template <class Folded>
std::string list(const Folded& folded, std::size_t most) {
  std::string text;
  std::size_t shown = 0, left_out = 0;
  for (const FoldedLines& lines : folded) {
    for (std::size_t group = 0; group < lines.size(); ++group) {
      if (shown < most) {
        text += "\n  " + lines.text(group);
        ++shown;
      } else {
        left_out += lines.lines(group);
      }
    }
  }
  if (left_out > 0) text += fmt::format("\n  … and {} more", left_out);
  return text;
}

std::vector<std::vector<std::string>> cycles_of(const DeadlockGraph& graph) {
  std::vector<std::vector<std::string>> cycles;
  for (const auto& group : graph.groups_in_cycles()) {
    auto& names = cycles.emplace_back();
    for (const std::size_t number : graph.cycle_through(group.front())) names.push_back(graph.name(number));
  }
  return cycles;
}

std::string first_causes(const std::vector<std::string>& causes) {
  std::string text;
  const std::size_t shown = std::min(causes.size(), kMostCausesTold);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : "\n  also: ") + causes[i];
  if (shown < causes.size()) text += fmt::format("\n  and {} more causes", causes.size() - shown);
  return text;
}

std::string head(Time now, const std::vector<std::string>& causes, std::size_t waiting) {
  const std::string wait = fmt::format("{} and nothing is left that could wake {}:",
                                       waiting == 1 ? "1 fiber waits" : fmt::format("{} fibers wait", waiting),
                                       waiting == 1 ? "it" : "them");
  std::string text = fmt::format("deadlock at {}: ", kernbench::to_text(now));
  return causes.empty() ? text + wait : text + first_causes(causes) + "\n" + wait;
}

/// The calls that programs of the host wait in, and for whom.
std::string host_calls(const DeadlockGraph& graph) {
  Explanation all = explain(graph);
  const FoldedLines host[1] = {std::move(all.folded[static_cast<std::size_t>(LineRank::host_call)])};
  return list(host, kMostCausesTold);
}

}  // namespace

Predicate doing(const Fiber& fiber) {
  const Fiber::Implementation& state = fiber.implementation();
  switch (state.status) {
    case FiberStatus::created:
      return {kHas, "not started"};
    case FiberStatus::running:
      return {kIs, "running"};
    case FiberStatus::ready:
      return {kIs, "about to resume"};
    case FiberStatus::sleeping:
      if (state.call.name == nullptr) return {kSleeps, "until " + kernbench::to_text(state.wake_time)};
      return {kIs, fmt::format("in {} until {}", to_text(state.call), kernbench::to_text(state.wake_time))};
    case FiberStatus::blocked:
      return {kWaits, named("for {}{}",
                            state.waiting_for != nullptr ? state.waiting_for->wait_name()
                                                         : Name("something that has been destroyed"),
                            state.call.name == nullptr ? "" : ", in " + to_text(state.call))};
    case FiberStatus::finished:
      return {kHas, state.error != nullptr ? "failed" : "finished"};
    case FiberStatus::abandoned:
      return {kHas, "died"};
  }
  return {};
}

std::string list_fibers(const std::vector<Fiber*>& fibers) {
  FoldedLines lines[1];
  for (const Fiber* fiber : fibers) {
    const std::string place = fiber->call().name == nullptr ? fiber->place() : "";  // a call says where it is itself
    const Fiber::Implementation& state = fiber->implementation();
    const bool polling = state.polls && state.poll_epoch == state.scheduler->poll_epoch;
    Name tail;
    if (polling) tail = "; it " + state.polls();
    if (!place.empty()) tail += " (last known at " + place + ")";
    Predicate what = doing(*fiber);
    lines[0].add({fiber->wait_name(), what.verb, std::move(what.rest), std::move(tail)});
  }
  return list(lines, kMostLines);
}

std::string describe_unfinished_run(const std::vector<Fiber*>& fibers, const std::vector<const WaitNode*>& unfinished) {
  const DeadlockGraph graph(fibers, unfinished);
  const auto causes = causes_so_far(graph);
  std::string text = causes.empty() ? "; " : "; until then, " + first_causes(causes) + "\n";
  const std::string calls = host_calls(graph);
  if (!calls.empty()) text += "calls then:" + calls + "\n";
  return text + "fibers then:" + list_fibers(fibers);
}

std::string describe_polling(const std::vector<Fiber*>& fibers, const std::vector<const WaitNode*>& unfinished) {
  const auto causes = causes_of_polling(DeadlockGraph(fibers, unfinished));
  return causes.empty() ? "" : first_causes(causes) + "\n";
}

DeadlockError explain_deadlock(Time now, const std::vector<Fiber*>& waiting,
                               const std::vector<const WaitNode*>& unfinished) {
  const DeadlockGraph graph(waiting, unfinished);
  Explanation all = explain(graph);
  const std::string message = head(now, causes_of(graph), waiting.size()) + list(all.folded, kMostLines);
  return DeadlockError(message, std::move(all.lines), cycles_of(graph));
}

}  // namespace kernbench::sim
