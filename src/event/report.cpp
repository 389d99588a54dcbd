#include "event/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "event/fiber_state.h"
#include "event/scheduler_state.h"
#include "event/wait_graph.h"

namespace kernbench::event {
namespace {

constexpr std::size_t kMaxLines = 64;  // of one text; DeadlockError::lines() has all

// All that waits, directly or not, numbered in order of discovery: depth first, fibers by agent. Pointers only find a
// node again; their order means nothing.
class WaitGraph {
 public:
  struct Node {
    const WaitNode* node;
    std::vector<WaitEdge> edges;
    std::vector<std::size_t> targets;  // of the edges that have one
    std::size_t component = 0;
  };

  explicit WaitGraph(const std::vector<Fiber*>& roots) {
    for (const Fiber* root : roots) explore(root);
    number_targets();
    find_components();
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  std::size_t number_of(const WaitNode* node) const { return numbers_.at(node); }

  /// True when the edge from node `from` to node `to` is part of a cycle.
  bool on_cycle(std::size_t from, std::size_t to) const { return nodes_[from].component == nodes_[to].component; }

  /// One cycle through each group of nodes that wait for each other; starts and ends with the same node.
  std::vector<std::vector<std::size_t>> cycles() const {
    std::vector<std::vector<std::size_t>> result;
    std::vector<bool> seen(nodes_.size() + 1);
    for (std::size_t start = 0; start < nodes_.size(); ++start) {
      if (seen[nodes_[start].component]) continue;
      seen[nodes_[start].component] = true;
      if (next_on_cycle(start) != kNone) result.push_back(cycle_from(start));
    }
    return result;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  // Without recursion: a chain of waits may be as long as there are fibers.
  void explore(const WaitNode* root) {
    std::vector<const WaitNode*> pending{root};
    while (!pending.empty()) {
      const WaitNode* node = pending.back();
      pending.pop_back();
      if (!numbers_.emplace(node, nodes_.size()).second) continue;
      nodes_.push_back({node, {}, {}});
      node->waits_for(nodes_.back().edges);
      const auto& edges = nodes_.back().edges;
      for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
        if (edge->target != nullptr) pending.push_back(edge->target);
      }
    }
  }

  void number_targets() {
    for (Node& node : nodes_) {
      for (const WaitEdge& edge : node.edges) {
        if (edge.target != nullptr) node.targets.push_back(numbers_.at(edge.target));
      }
    }
  }

  // Tarjan's strongly connected components, with an explicit stack.
  void find_components() {
    struct Visit {
      std::size_t node;
      std::size_t next_target = 0;
    };
    std::vector<std::size_t> index(nodes_.size(), kNone), low(nodes_.size()), open;
    std::vector<bool> is_open(nodes_.size());
    std::size_t next_index = 0, next_component = 0;
    for (std::size_t root = 0; root < nodes_.size(); ++root) {
      if (index[root] != kNone) continue;
      std::vector<Visit> visits{{root}};
      while (!visits.empty()) {
        Visit& visit = visits.back();
        const std::size_t node = visit.node;
        if (visit.next_target == 0 && index[node] == kNone) {
          index[node] = low[node] = next_index++;
          open.push_back(node);
          is_open[node] = true;
        }
        if (visit.next_target < nodes_[node].targets.size()) {
          const std::size_t target = nodes_[node].targets[visit.next_target++];
          if (index[target] == kNone) {
            visits.push_back({target});
          } else if (is_open[target]) {
            low[node] = std::min(low[node], index[target]);
          }
          continue;
        }
        visits.pop_back();
        if (!visits.empty()) low[visits.back().node] = std::min(low[visits.back().node], low[node]);
        if (low[node] != index[node]) continue;
        std::size_t member = kNone;
        while (member != node) {
          member = open.back();
          open.pop_back();
          is_open[member] = false;
          nodes_[member].component = next_component;
        }
        ++next_component;
      }
    }
  }

  std::size_t next_on_cycle(std::size_t node) const {
    for (const std::size_t target : nodes_[node].targets) {
      if (on_cycle(node, target)) return target;
    }
    return kNone;
  }

  std::vector<std::size_t> cycle_from(std::size_t start) const {
    std::vector<std::size_t> path;
    std::unordered_map<std::size_t, std::size_t> place;
    std::size_t node = start;
    for (; place.emplace(node, path.size()).second; node = next_on_cycle(node)) path.push_back(node);
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(place.at(node)));
    path.push_back(node);
    return path;
  }

  std::vector<Node> nodes_;
  std::unordered_map<const WaitNode*, std::size_t> numbers_;
};

// What a node without edges is up to: it waits for nothing, so it is where the chain of waits ends.
std::string describe_idle(const WaitNode& node) {
  const auto* fiber = dynamic_cast<const Fiber*>(&node);
  return fiber != nullptr ? doing(*fiber) : "waits for nothing";
}

std::vector<DeadlockLine> make_lines(const WaitGraph& graph) {
  std::vector<DeadlockLine> lines;
  for (std::size_t number = 0; number < graph.nodes().size(); ++number) {
    const auto& node = graph.nodes()[number];
    const std::string name = node.node->wait_name();
    if (node.edges.empty()) lines.push_back({name, describe_idle(*node.node), "", false});
    for (const WaitEdge& edge : node.edges) {
      if (edge.target == nullptr) {
        lines.push_back({name, fmt::format("needs {}: nobody left that could provide it", edge.reason), "", false});
      } else {
        const bool in_cycle = graph.on_cycle(number, graph.number_of(edge.target));
        lines.push_back({name, edge.reason, edge.target->wait_name(), in_cycle});
      }
    }
  }
  return lines;
}

std::string to_text(const DeadlockLine& line) {
  if (line.target.empty()) return fmt::format("{} {}", line.name, line.reason);
  const std::string reason = line.reason.empty() ? "" : fmt::format(" ({})", line.reason);
  return fmt::format("{} waits for {}{}{}", line.name, line.target, reason, line.in_cycle ? " [cycle]" : "");
}

template <class Items, class ToText>
std::string list(const Items& items, ToText text) {
  std::string result;
  const std::size_t shown = std::min(items.size(), kMaxLines);
  for (std::size_t i = 0; i < shown; ++i) result += fmt::format("\n  {}", text(items[i]));
  if (shown < items.size()) result += fmt::format("\n  … and {} more", items.size() - shown);
  return result;
}

std::vector<std::vector<std::string>> named(const WaitGraph& graph) {
  std::vector<std::vector<std::string>> cycles;
  for (const auto& cycle : graph.cycles()) {
    auto& names = cycles.emplace_back();
    for (const std::size_t number : cycle) names.push_back(graph.nodes()[number].node->wait_name());
  }
  return cycles;
}

std::string cycle_text(const std::vector<std::string>& cycle) {
  const std::size_t shown = std::min(cycle.size(), kMaxLines);
  const std::string more = shown < cycle.size() ? fmt::format(" -> … ({} more)", cycle.size() - shown) : "";
  return fmt::format("cycle: {}{}",
                     fmt::join(cycle.begin(), cycle.begin() + static_cast<std::ptrdiff_t>(shown), " -> "), more);
}

}  // namespace

std::string doing(const Fiber& fiber) {
  const Fiber::Implementation& state = fiber.implementation();
  switch (state.status) {
    case FiberStatus::created:
      return "has not started";
    case FiberStatus::running:
      return "is running";
    case FiberStatus::ready:
      return "is about to resume";
    case FiberStatus::sleeping:
      return fmt::format("sleeps until {}", kernbench::to_text(state.wake_time));
    case FiberStatus::blocked:
      return fmt::format("waits for {}", state.waiting_for != nullptr ? state.waiting_for->wait_name()
                                                                      : "something that has been destroyed");
    case FiberStatus::finished:
      return state.error != nullptr ? "has failed" : "has finished";
    case FiberStatus::abandoned:
      return "has died";
  }
  return {};
}

std::string list_fibers(const std::vector<Fiber*>& fibers) {
  return list(fibers, [](const Fiber* fiber) {
    const std::string place = fiber->place();
    const Fiber::Implementation& state = fiber->implementation();
    const bool polling = state.polls && state.poll_epoch == state.scheduler->poll_epoch;
    return fmt::format("{}{} {}{}", fiber->name(), place.empty() ? "" : " (last known at " + place + ")", doing(*fiber),
                       polling ? "; it " + state.polls() : "");
  });
}

DeadlockError explain_deadlock(Time now, const std::vector<Fiber*>& waiting) {
  const WaitGraph graph(waiting);
  std::vector<DeadlockLine> lines = make_lines(graph);
  std::string message =
      fmt::format("deadlock at {}: {} and nothing is left that could wake {}:", kernbench::to_text(now),
                  waiting.size() == 1 ? "1 fiber waits" : fmt::format("{} fibers wait", waiting.size()),
                  waiting.size() == 1 ? "it" : "them");
  message += list(lines, [](const DeadlockLine& line) { return to_text(line); });
  auto cycles = named(graph);
  message += list(cycles, cycle_text);
  return DeadlockError(message, std::move(lines), std::move(cycles));
}

}  // namespace kernbench::event
