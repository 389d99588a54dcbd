// The kind and the ends that each link is made with: counted against the geometry, and held against the routes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/part.h"
#include "topology/load.h"
#include "topology/network.h"

namespace kernbench::topology {
namespace {

struct Machine {
  const char* name;
  std::vector<std::string> overrides;
  std::int64_t between_sips;  // links, each direction counted
};

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all{
      {"tiny", {}, 0},
      {"ahbm-1sip", {}, 0},
      {"ahbm-2sip", {}, 2},
      {"tiny", {"cube.pes.mesh=[1, 1]", "cube.hbm.channels=4"}, 0},
      {"tiny", {"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[1, 1]", "cube.hbm.channels=4"}, 0},
      {"tiny", {"sip.cubes.mesh=[3, 2]", "cube.pes.mesh=[2, 3]", "cube.hbm.channels=24"}, 0},
      {"tiny", {"sip.cubes.mesh=[1, 4]", "cube.pes.mesh=[4, 1]", "sip.io.attachment=west_edge"}, 0},
      {"tiny", {"system.sips.count=3", "sip.cubes.mesh=[1, 2]"}, 6},
      {"tiny", {"system.sips.count=2", "sip.cubes.mesh=[2, 3]", "sip.io.attachment=west_edge"}, 2},
      {"tiny", {"system.sips.count=4", "system.sips.topology=switched"}, 8},
      {"tiny", {"system.sips.count=5", "system.sips.topology=fully_connected"}, 20},
      {"tiny", {"system.sips.count=12", "system.sips.topology=torus_2d"}, 48},
      {"tiny", {"system.sips.count=12", "system.sips.topology=mesh_2d"}, 34},
      {"tiny", {"system.sips.count=6", "overrides.sip0.io.to_sip1.failed=true"}, 12},
      {"tiny",
       {"system.sips.count=4", "system.sips.topology=fully_connected", "overrides.sip0.io.to_sip1.failed=true",
        "overrides.sip2.io.to_sip3.failed=true"},
       12},
  };
  return all;
}

std::map<LinkKind, std::int64_t> counts_of(const Network& network) {
  std::map<LinkKind, std::int64_t> counts;
  for (const Link& link : network.links()) ++counts[link.kind];
  return counts;
}

TEST(LinkKinds, AreAsManyAsTheGeometrySays) {
  for (const Machine& machine : machines()) {
    const Topology topology = load_topology(machine.name, machine.overrides);
    auto counts = counts_of(Network(topology));
    const std::int64_t sips = topology.system.sips;
    const auto [cubes_wide, cubes_high] = topology.sip.cubes;
    const auto [wide, high] = topology.cube.pes;
    const std::int64_t cubes = sips * cubes_wide * cubes_high;
    const std::int64_t rows = topology.sip.io.attachment == IoAttachment::west_edge ? cubes_high * high : 1;
    SCOPED_TRACE(testing::PrintToString(machine.overrides));
    EXPECT_EQ(counts[LinkKind::host], 2 * sips);
    EXPECT_EQ(counts[LinkKind::sip], machine.between_sips);
    EXPECT_EQ(counts[LinkKind::io], 2 * sips * rows);
    EXPECT_EQ(counts[LinkKind::cube],
              2 * sips * ((cubes_wide - 1) * cubes_high * high + cubes_wide * (cubes_high - 1) * wide));
    EXPECT_EQ(counts[LinkKind::noc], 2 * cubes * ((wide - 1) * high + wide * (high - 1)));
    EXPECT_EQ(counts[LinkKind::endpoint], cubes * (4 + 4 * wide * high));
  }
}

/// Routes go from end to end: a link begins where the one before it ends.
TEST(LinkEnds, MeetOnEveryRoute) {
  for (const Machine& machine : machines()) {
    const Topology topology = load_topology(machine.name, machine.overrides);
    const Network network(topology);
    std::vector<Endpoint> some = network.endpoints();
    for (std::size_t i = 0; some.size() > 48; i = (i + 7) % some.size()) some.erase(some.begin() + std::ptrdiff_t(i));
    for (const Endpoint from : some) {
      for (const Endpoint to : some) {
        const auto route = network.route(from, to);
        for (std::size_t i = 1; i < route.size(); ++i) {
          const Link &before = network.link(route[i - 1].link), &link = network.link(route[i].link);
          EXPECT_EQ(before.to, link.from) << before.name << " and then " << link.name;
        }
        if (route.empty()) continue;
        EXPECT_EQ(network.link(route.front().link).from.at.sip, from.sip);
        EXPECT_EQ(network.link(route.back().link).to.at, (PeCoordinate{to.sip, to.cube, to.pe}));
      }
    }
  }
}

TEST(LinkEnds, OfAKindAreTheSamePlaces) {
  using Kind = LinkEnd::Kind;
  for (const Machine& machine : machines()) {
    const Network network(load_topology(machine.name, machine.overrides));
    for (const Link& link : network.links()) {
      const bool routers = link.from.kind == Kind::router && link.to.kind == Kind::router;
      const CubeCoordinate from{link.from.at.sip, link.from.at.cube}, to{link.to.at.sip, link.to.at.cube};
      EXPECT_EQ(routers, link.kind == LinkKind::noc || link.kind == LinkKind::cube) << link.name;
      if (routers) {
        EXPECT_EQ(from == to, link.kind == LinkKind::noc) << link.name;
      }
      EXPECT_EQ(link.from.kind == Kind::host || link.to.kind == Kind::host, link.kind == LinkKind::host) << link.name;
      EXPECT_EQ(to_text(link.part), link.name);
      EXPECT_EQ(part_kind(link.name), link.part.kind) << link.name;
    }
  }
}

}  // namespace
}  // namespace kernbench::topology
