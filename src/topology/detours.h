// Paths between SIPs around failed links.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernbench/coordinates.h"

namespace kernbench::topology {

struct SipHop;

/// One shortest legal path between any two SIPs of a graph from which links were taken away, in both directions.
///
/// Each component of what is left has an order of its nodes: by distance from its root (the switch, else its first
/// node), then by number. A hop to an earlier node is up, to a later one down. On either channel a path goes up, then
/// down: a link waits for one further up, or, from the turn on, further down, so no cycle of links can wait for itself
/// (up*/down* routing: Schroeder et al., Autonet, IEEE JSAC 1991). A path begins on channel 0 and may go over to
/// channel 1 once, where it would have to go up after going down. So legal paths are up, down, up, down; of the
/// shortest ones, the one whose next node has the lowest number is taken, hop by hop.
class Detours {
 public:
  using Links = std::vector<std::pair<std::int32_t, std::int32_t>>;
  /// Tables grow with the square of the number of SIPs.
  static constexpr std::int32_t kMostSips = 1024;

  /// Nodes 0 .. sips-1 are SIPs, one more is the switch. `failed` has both directions of each link that is down.
  Detours(std::vector<std::vector<std::int32_t>> neighbours, std::int32_t sips, const Links& failed);

  /// Whether a SIP reaches a node.
  bool reaches(SipId from, std::int32_t node) const { return arrival_[index(from.value, node)] != kNone; }
  /// Requires reaches().
  std::vector<SipHop> path(SipId from, SipId to) const;

 private:
  // Directions taken so far: 0 up, 1 up down, 2 up down up, 3 up down up down.
  static constexpr std::int32_t kPhases = 4;
  static constexpr std::int16_t kNone = -1;
  struct Step {  // how a node was reached in a phase
    std::int16_t before = kNone;
    std::int8_t phase_before = 0;
  };
  void order(std::int32_t sips);
  void search(std::int32_t from);
  bool is_up(std::int32_t from, std::int32_t to) const {
    return place_[static_cast<std::size_t>(to)] < place_[static_cast<std::size_t>(from)];
  }
  std::size_t index(std::int32_t from, std::int32_t to) const {
    return static_cast<std::size_t>(from) * neighbours_.size() + static_cast<std::size_t>(to);
  }

  std::vector<std::vector<std::int32_t>> neighbours_;
  std::vector<std::int32_t> place_;   // by node: its number in the order
  std::vector<std::int8_t> arrival_;  // by source and node: the phase in which it is reached first; kNone: never
  std::vector<Step> steps_;           // by source, node and phase
};

}  // namespace kernbench::topology
