// Systems whose SIPs all stand alike, and their network as SIP 0 sees it.
#include "topology/alike_sips.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "topology/load.h"
#include "topology/network.h"

namespace kernbench::topology::alike_sips_test {
namespace {

struct Wiring {
  SystemTopology kind;
  std::int32_t sips;
  std::optional<MeshExtent> mesh = {};
};

const std::vector<Wiring> kWirings{
    {SystemTopology::ring_1d, 1},         {SystemTopology::ring_1d, 2},
    {SystemTopology::ring_1d, 3},         {SystemTopology::ring_1d, 6},
    {SystemTopology::torus_2d, 4},        {SystemTopology::torus_2d, 9},
    {SystemTopology::torus_2d, 12},       {SystemTopology::torus_2d, 6, MeshExtent{2, 3}},
    {SystemTopology::fully_connected, 2}, {SystemTopology::fully_connected, 5},
    {SystemTopology::switched, 2},        {SystemTopology::switched, 5},
};

Topology make(const Wiring& wiring) {
  Topology topology = load_topology("tiny");
  topology.system.topology = wiring.kind;
  topology.system.sips = wiring.sips;
  topology.system.mesh = wiring.mesh;
  return topology;
}

TEST(AlikeSips, EachShiftTakesEverySipToAnotherAndNeighboursToNeighbours) {
  for (const Wiring& wiring : kWirings) {
    const Topology topology = make(wiring);
    const AlikeSips alike(topology.system);
    const SystemGraph graph(topology.system);
    for (SipId from{0}; from.value < wiring.sips; ++from.value) {
      std::set<SipId> seen;
      for (SipId to{0}; to.value < wiring.sips; ++to.value) seen.insert(alike.seen_from(from, to));
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(wiring.sips));
      EXPECT_EQ(alike.seen_from(from, from), SipId{0});
      std::set<SipHop> hops, expected;
      for (const std::int32_t to : graph.neighbours(from.value)) hops.insert(alike.like({from.value, to, 0}));
      for (const std::int32_t to : graph.neighbours(0)) expected.insert({0, to, 0});
      EXPECT_EQ(hops, expected);
    }
  }
}

/// What each link of a route is: of which kind, and between routers at which places of their SIPs.
std::vector<std::string> places(const Network& network, Endpoint from, Endpoint to) {
  std::vector<std::string> places;
  for (const RouteHop& hop : network.route(from, to)) {
    const Link& link = network.link(hop.link);
    PeCoordinate begin = link.from.at, end = link.to.at;
    begin.sip = end.sip = SipId{0};
    places.push_back(std::to_string(static_cast<int>(link.kind)) + " " +
                     std::to_string(static_cast<int>(link.from.kind)) + to_text(begin) + " " +
                     std::to_string(static_cast<int>(link.to.kind)) + to_text(end) + " " +
                     std::to_string(link.spec.bandwidth.count()));
  }
  return places;
}

TEST(AlikeSips, EachRouteOfTheNetworkOfSipZeroGoesOverLinksLikeItsOwn) {
  for (const Wiring& wiring : kWirings) {
    const Topology topology = make(wiring);
    const AlikeSips alike(topology.system);
    const Network whole(topology), first(topology, alike);
    EXPECT_LE(first.links().size(), whole.links().size());
    for (const Endpoint from : whole.endpoints()) {
      for (const Endpoint to : whole.endpoints()) {
        if (from.kind == Endpoint::Kind::host && to.kind == Endpoint::Kind::host) continue;
        EXPECT_EQ(places(whole, from, to), places(first, from, to)) << to_text(from) << " to " << to_text(to);
      }
    }
  }
}

TEST(AlikeSips, WhatAllSendAsFarAsEachOtherGoesOverOneLinkOfSipZeroForEachOfTheWay) {
  for (const Wiring& wiring : kWirings) {
    const Topology topology = make(wiring);
    const AlikeSips alike(topology.system);
    const Network whole(topology), first(topology, alike);
    for (SipId to{1}; to.value < wiring.sips; ++to.value) {
      if (!alike.ways_are_alike(to)) continue;
      const auto of_zero = first.route(Endpoint::io_cpu(SipId{0}), Endpoint::io_cpu(to));
      for (SipId from{0}; from.value < wiring.sips; ++from.value) {
        for (SipId other{0}; other.value < wiring.sips; ++other.value) {
          if (alike.seen_from(from, other) != to) continue;
          const auto way = first.route(Endpoint::io_cpu(from), Endpoint::io_cpu(other));
          ASSERT_EQ(way.size(), of_zero.size());
          for (std::size_t i = 0; i < way.size(); ++i) EXPECT_EQ(way[i].link, of_zero[i].link);
        }
      }
    }
  }
}

TEST(AlikeSips, WaysHalfWayRoundARingAreNotAlike) {
  const AlikeSips ring(make({SystemTopology::ring_1d, 6}).system), odd(make({SystemTopology::ring_1d, 5}).system);
  for (SipId to{0}; to.value < 6; ++to.value) EXPECT_EQ(ring.ways_are_alike(to), to.value != 3);
  for (SipId to{0}; to.value < 5; ++to.value) EXPECT_TRUE(odd.ways_are_alike(to));
  const AlikeSips torus(make({SystemTopology::torus_2d, 12}).system);  // 4 x 3
  for (SipId to{0}; to.value < 12; ++to.value) EXPECT_EQ(torus.ways_are_alike(to), to.value % 4 != 2);
}

TEST(AlikeSips, AMeshAndPartsOfTheirOwnAreNotAlike) {
  EXPECT_EQ(why_not_alike(make({SystemTopology::ring_1d, 4})), "");
  EXPECT_NE(why_not_alike(make({SystemTopology::mesh_2d, 4})), "");
  Topology degraded = make({SystemTopology::ring_1d, 4});
  degraded.overrides.emplace_back();
  EXPECT_NE(why_not_alike(degraded), "");
}

}  // namespace
}  // namespace kernbench::topology::alike_sips_test
