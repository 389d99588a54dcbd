// All that waits in a deadlock, directly or not, and the cycles in it. Every cost is linear in the edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/wait_graph.h"

namespace kernbench::sim {

class Fiber;

/// Numbered in order of discovery: depth first, fibers by agent. Pointers only find a node again; their order means
/// nothing.
class DeadlockGraph {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  struct Node {
    const WaitNode* node;
    std::vector<WaitEdge> edges;
    std::vector<std::size_t> targets;  // of each edge; kNone: it has none
    std::size_t component = 0;
    bool on_device = false;  // kernels wait for it, not only hosts
  };

  /// Of all that `fibers` wait for, and then of all that `unfinished` does.
  DeadlockGraph(const std::vector<Fiber*>& fibers, const std::vector<const WaitNode*>& unfinished);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& operator[](std::size_t number) const { return nodes_[number]; }
  Name name(std::size_t number) const { return nodes_[number].node->wait_name(); }
  WaitRole role(std::size_t number) const { return nodes_[number].node->wait_role(); }

  /// True when the edge from node `from` to node `to` is part of a cycle.
  bool on_cycle(std::size_t from, std::size_t to) const { return nodes_[from].component == nodes_[to].component; }
  /// The members of each group of nodes that wait for each other, in order.
  std::vector<std::vector<std::size_t>> groups_in_cycles() const;
  /// A cycle through `start` that stays in its group; starts and ends with it. Empty when there is none.
  std::vector<std::size_t> cycle_through(std::size_t start) const;
  /// The programs that wait for one of `nodes`, through no other program, in order.
  std::vector<std::size_t> waiting_for(const std::vector<std::size_t>& nodes) const;

  /// What a text says of a node: what it waits for, with those commands of streams left out that belong to a call.
  struct Told {
    Name reason;
    std::size_t target = kNone;
    const WaitEdge* edge = nullptr;  // the last one on the way
  };
  std::vector<Told> told(std::size_t number) const;

 private:
  void append_told(std::size_t number, const Name& first_reason, std::size_t from, std::set<std::size_t>& seen,
                   std::vector<Told>& told) const;
  bool is_between(std::size_t from, std::size_t number) const;
  void explore(const WaitNode* root, bool on_device);
  void number_targets();
  void find_components();
  void find_commands_of_calls();

  std::vector<Node> nodes_;
  std::vector<std::vector<std::size_t>> sources_;  // of each node: who waits for it
  std::unordered_map<const WaitNode*, std::size_t> numbers_;
  std::vector<bool> leads_to_call_;  // of each command of a stream
};

}  // namespace kernbench::sim
