#include "sim/cycle_text.h"

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
void shorten(std::vector<Name>& parts, std::size_t most) {
  if (parts.size() <= most) return;
  const auto first_left_out = parts.begin() + static_cast<std::ptrdiff_t>(most) - 2;
  const auto left_out = static_cast<std::size_t>(parts.end() - 1 - first_left_out);
  parts.erase(first_left_out, parts.end() - 1);
  parts.insert(parts.end() - 1, named("… ({} more)", left_out));
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

/// Where the program is, without what it waits for, if anything.
Name begin_of_clause(const Name& program, const Name& reason) {
  return named("{} waits {}for ", program, reason.empty() ? Name() : reason + " ");
}

/// From one program to the next: what the first one waits for, and why that does not come.
Name clause(const DeadlockGraph& graph, const std::vector<std::size_t>& path) {
  const Name program = graph.name(path.front());
  const WaitEdge& last = edge_between(graph, path[path.size() - 2], path.back());
  std::vector<Name> calls;
  for (std::size_t i = 1; i + 1 < path.size(); ++i) {
    if (graph.role(path[i]) != WaitRole::call) continue;
    const Name name = graph.name(path[i]).seen_by(program);
    if (calls.empty() || calls.back() != name) calls.push_back(name);
  }
  if (last.unmet.empty()) {
    calls.push_back(path.size() == 2 || last.reason.empty() ? graph.name(path.back())
                                                            : named("{} ({})", graph.name(path.back()), last.reason));
  } else if (calls.empty()) {
    calls.push_back(last.unmet.seen_by(program));
  } else {
    calls.back() = last.unmet.seen_by(program);  // which names that call
  }
  return begin_of_clause(program, edge_between(graph, path[0], path[1]).reason) + join(calls, ", which waits for ");
}

Name clauses_text(const DeadlockGraph& graph, const std::vector<std::size_t>& cycle) {
  std::vector<Name> clauses;
  std::vector<std::size_t> path{cycle.front()};
  for (std::size_t i = 1; i < cycle.size(); ++i) {
    path.push_back(cycle[i]);
    if (!is_program_of(graph, cycle[i], false)) continue;
    clauses.push_back(clause(graph, path));
    path = {cycle[i]};
  }
  shorten(clauses, kMostClauses);
  return "cycle: " + join(clauses, "; ");
}

Name steps_text(const DeadlockGraph& graph, const std::vector<std::size_t>& cycle) {
  std::vector<Name> steps{graph.name(cycle.front())};
  Name last = steps.front(), need;
  for (std::size_t i = 1; i < cycle.size(); ++i) {
    const WaitEdge& edge = edge_between(graph, cycle[i - 1], cycle[i]);
    if (need.empty() || edge.host) need = edge.reason;
    const WaitRole role = graph.role(cycle[i]);
    if (role != WaitRole::party && role != WaitRole::call) continue;
    const Name name = graph.name(cycle[i]);
    if (name == last) continue;
    steps.push_back(need.empty() ? name : named("{} ({})", name, need));
    last = name;
    need = {};
  }
  shorten(steps, kMostSteps);
  return "cycle: " + join(steps, " -> ");
}

// Two are not a set, so that cycles of pairs are alike.
Name waiting_text(const DeadlockGraph& graph, const std::vector<std::size_t>& cycle) {
  std::vector<Name> names;
  for (const std::size_t number : graph.waiting_for(cycle)) names.push_back(graph.name(number));
  if (names.size() == 2) return named("{} and {} wait", names[0], names[1]);
  const FoldedNames folded = fold_names(names);
  return names.empty() ? Name() : named("{} {}", folded.text, kWaits.of(folded.plural));
}

}  // namespace

Name cycle_text(const DeadlockGraph& graph, std::vector<std::size_t> cycle) {
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
  const Name waiting = waiting_text(graph, cycle);
  return steps_text(graph, cycle) + (waiting.empty() ? Name() : ", for which " + waiting);
}

}  // namespace kernbench::sim
