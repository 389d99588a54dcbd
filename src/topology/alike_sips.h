// Systems whose SIPs all stand alike: each sees of the others what SIP 0 sees.
#pragma once

#include <cstdint>
#include <string>

#include "kernbench/coordinates.h"
#include "topology/spec.h"
#include "topology/system_graph.h"

namespace kernbench::topology {

/// Why the SIPs of a machine do not stand alike, as a sentence's end; empty when they do. They do in a ring, a torus, a
/// fully connected or a switched system without overrides of single parts.
std::string why_not_alike(const Topology& topology);

/// The shifts of such a system, each of which takes every SIP to another one and links to links.
class AlikeSips {
 public:
  /// REQUIRES: the SIPs stand alike.
  explicit AlikeSips(const SystemSpec& system);

  /// Which SIP stands to SIP 0 as `to` does to `from`.
  SipId seen_from(SipId from, SipId to) const;
  /// The hop of SIP 0, or to it from the switch, that is like this one. Its channel is the same.
  SipHop like(const SipHop& hop) const;
  /// Whether the ways from a SIP to the one that stands to it as `to` does to SIP 0 are alike. Of those half way round
  /// a ring they are not: packets go up from places of even number and down from odd ones (see SystemGraph).
  bool ways_are_alike(SipId to) const;
  /// Whether a SIP stands to SIP 0 in one row or column as its neighbour.
  bool is_neighbour(SipId sip) const;
  /// Whether SIPs that follow each other by number stand to each other alike: not where they stand in several rows.
  bool are_in_order() const { return extent_.height == 1; }

 private:
  SystemTopology kind_;
  MeshExtent extent_;
};

}  // namespace kernbench::topology
