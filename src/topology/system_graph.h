// The graph of SIPs of a system, and the one path from each SIP to each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/detours.h"
#include "topology/spec.h"

namespace kernbench::topology {

/// A link between the IO chiplets of two SIPs, or between one and the switch, and the virtual channel used on it.
struct SipHop {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::uint8_t channel = 0;
  constexpr auto operator<=>(const SipHop&) const = default;
};

/// The graph of SIPs for each kind of system. Nodes are 0 .. sips-1; a switched system has one more, the switch.
///
/// ring_1d: both directions, the shortest way; half way round, upwards from places of even number, downwards from odd
/// ones. torus_2d: first x, then y, each the shortest way round its ring. mesh_2d: first x, then y. fully_connected:
/// one hop. switched: up to the switch and down.
///
/// Rings have a dateline between their last and their first node: in each dimension a packet uses channel 0 until it
/// takes the wrap-around link, and channel 1 on that link and after it, so the channels of a ring form two chains
/// instead of a cycle. A torus starts its second dimension on channel 0 again: links of x only ever wait for links of
/// y, never the other way round, so each dimension may use both channels for itself.
class SystemGraph {
 public:
  explicit SystemGraph(const SystemSpec& spec);

  /// SIPs and, if there is one, the switch.
  std::int32_t node_count() const { return static_cast<std::int32_t>(neighbours_.size()); }
  bool is_switch(std::int32_t node) const { return node >= sips_; }
  /// Extent of a torus or a mesh of SIPs; of a ring: {sips, 1}.
  MeshExtent extent() const { return extent_; }
  /// Takes links down; a link of which one direction is down carries nothing in the other, either. All paths are then
  /// those of Detours. Requires at most Detours::kMostSips SIPs, and hops between neighbours.
  void fail(const Detours::Links& links);
  /// Whether there is a path from a SIP to a node; only failed links can prevent it.
  bool reaches(SipId from, std::int32_t node) const { return !detours_ || detours_->reaches(from, node); }
  /// The nodes that `node` has a link to, failed or not, in increasing order.
  const std::vector<std::int32_t>& neighbours(std::int32_t node) const {
    return neighbours_[static_cast<std::size_t>(node)];
  }
  /// The hops from one SIP to another; empty when they are the same. Requires reaches().
  std::vector<SipHop> path(SipId from, SipId to) const;

 private:
  void connect_grid(bool wrap);
  void walk(std::int32_t position, std::int32_t target, std::int32_t length, std::int32_t first, std::int32_t stride,
            std::vector<SipHop>& hops) const;

  SystemTopology kind_;
  std::int32_t sips_;
  MeshExtent extent_;
  std::vector<std::vector<std::int32_t>> neighbours_;
  std::optional<Detours> detours_;  // when links have failed
};

/// The factorisation width * height == count with width >= height that is nearest to a square. Requires count >= 1.
MeshExtent most_square(std::int32_t count);

}  // namespace kernbench::topology
