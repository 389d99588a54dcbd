#include "sim/deadlock_graph.h"

#include <algorithm>

#include "sim/fiber_state.h"

namespace kernbench::sim {

DeadlockGraph::DeadlockGraph(const std::vector<Fiber*>& fibers, const std::vector<const WaitNode*>& unfinished) {
  const auto is_kernel = [](Fiber* fiber) { return fiber->local(Fiber::Slot::kernel) != nullptr; };
  for (Fiber* fiber : fibers) explore(fiber, is_kernel(fiber));
  for (const WaitNode* node : unfinished) explore(node, false);
  number_targets();
  find_components();
  find_commands_of_calls();
}

// Without recursion: a chain of waits may be as long as there are fibers.
void DeadlockGraph::explore(const WaitNode* root, bool on_device) {
  std::vector<const WaitNode*> pending{root};
  while (!pending.empty()) {
    const WaitNode* node = pending.back();
    pending.pop_back();
    if (!numbers_.emplace(node, nodes_.size()).second) continue;
    nodes_.push_back({node, {}, {}, 0, on_device});
    node->waits_for(nodes_.back().edges);
    const auto& edges = nodes_.back().edges;
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
      if (edge->target != nullptr) pending.push_back(edge->target);
    }
  }
}

void DeadlockGraph::number_targets() {
  sources_.resize(nodes_.size());
  for (std::size_t number = 0; number < nodes_.size(); ++number) {
    for (const WaitEdge& edge : nodes_[number].edges) {
      const std::size_t target = edge.target == nullptr ? kNone : numbers_.at(edge.target);
      nodes_[number].targets.push_back(target);
      if (target != kNone) sources_[target].push_back(number);
    }
  }
}

// Tarjan's strongly connected components, with an explicit stack.
void DeadlockGraph::find_components() {
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
        if (target == kNone) continue;
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

std::vector<std::vector<std::size_t>> DeadlockGraph::groups_in_cycles() const {
  std::vector<std::size_t> place(nodes_.size(), kNone);  // by component
  std::vector<std::vector<std::size_t>> groups;
  std::vector<bool> has_cycle;
  for (std::size_t number = 0; number < nodes_.size(); ++number) {
    const Node& node = nodes_[number];
    std::size_t& group = place[node.component];
    if (group == kNone) {
      group = groups.size();
      groups.emplace_back();
      has_cycle.push_back(false);
    }
    groups[group].push_back(number);
    const auto stays = [&](std::size_t target) { return target != kNone && on_cycle(number, target); };
    if (std::ranges::any_of(node.targets, stays)) has_cycle[group] = true;
  }
  std::vector<std::vector<std::size_t>> result;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (has_cycle[group]) result.push_back(std::move(groups[group]));
  }
  return result;
}

// Breadth first, so that it is a shortest one.
std::vector<std::size_t> DeadlockGraph::cycle_through(std::size_t start) const {
  std::unordered_map<std::size_t, std::size_t> reached_from;
  std::vector<std::size_t> frontier{start};
  for (std::size_t next = 0; next < frontier.size(); ++next) {
    const std::size_t node = frontier[next];
    for (const std::size_t target : nodes_[node].targets) {
      if (target == kNone || !on_cycle(node, target)) continue;
      if (target != start) {
        if (reached_from.emplace(target, node).second) frontier.push_back(target);
        continue;
      }
      std::vector<std::size_t> cycle{start};
      for (std::size_t step = node; step != start; step = reached_from.at(step)) cycle.push_back(step);
      cycle.push_back(start);
      std::ranges::reverse(cycle);
      return cycle;
    }
  }
  return {};
}

// A command waits for one thing: the one before it, or what it does.
void DeadlockGraph::find_commands_of_calls() {
  leads_to_call_.resize(nodes_.size());
  std::vector<bool> known(nodes_.size());
  for (std::size_t number = 0; number < nodes_.size(); ++number) {
    std::vector<std::size_t> path;
    std::size_t at = number;
    while (at != kNone && role(at) == WaitRole::command && !known[at]) {
      known[at] = true;
      path.push_back(at);
      at = nodes_[at].targets.empty() ? kNone : nodes_[at].targets.front();
    }
    const bool leads = at != kNone && (role(at) == WaitRole::call || leads_to_call_[at]);
    for (const std::size_t each : path) leads_to_call_[each] = leads;
  }
}

// A call and the node of its kernels have one name.
bool DeadlockGraph::is_between(std::size_t from, std::size_t number) const {
  if (role(number) == WaitRole::command) return role(from) == WaitRole::call || leads_to_call_[number];
  return role(from) == WaitRole::call && role(number) == WaitRole::call && name(from) == name(number);
}

// A program is told with the call that it is in, which its first edge says; a call with what it comes to.
void DeadlockGraph::append_told(std::size_t number, const Name& first_reason, std::size_t from,
                                std::set<std::size_t>& seen, std::vector<Told>& told) const {
  const Node& node = nodes_[number];
  for (std::size_t i = 0; i < node.edges.size(); ++i) {
    const WaitEdge& edge = node.edges[i];
    const std::size_t target = node.targets[i];
    const Name& reason = number == from ? edge.reason : first_reason;
    if (target == kNone || !is_between(from, target)) {
      told.push_back({role(from) == WaitRole::party ? reason : edge.reason, target, &edge});
    } else if (seen.insert(target).second) {
      append_told(target, reason, from, seen, told);
    }
  }
}

std::vector<DeadlockGraph::Told> DeadlockGraph::told(std::size_t number) const {
  std::set<std::size_t> seen;
  std::vector<Told> told;
  append_told(number, "", number, seen, told);
  return told;
}

std::vector<std::size_t> DeadlockGraph::waiting_for(const std::vector<std::size_t>& nodes) const {
  std::vector<bool> seen(nodes_.size());
  std::vector<std::size_t> frontier, found;
  const auto visit = [&](std::size_t number) {
    if (seen[number]) return;
    seen[number] = true;
    (role(number) == WaitRole::party ? found : frontier).push_back(number);
  };
  for (const std::size_t number : nodes) {
    if (nodes_[number].edges.empty()) {
      frontier.push_back(number);  // it waits for nothing itself
    } else {
      visit(number);
    }
  }
  while (!frontier.empty()) {
    const std::size_t number = frontier.back();
    frontier.pop_back();
    for (const std::size_t source : sources_[number]) visit(source);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace kernbench::sim
