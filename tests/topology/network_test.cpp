#include "topology/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <queue>
#include <set>

#include "base/text.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "topology/load.h"

namespace kernbench::topology::network_test {
namespace {

// What a link connects, read from its name alone: an independent account of the wiring.
struct Ends {
  std::string from;
  std::string to;
  auto operator<=>(const Ends&) const = default;
};

struct Shape {
  std::int32_t sips = 1;
  SystemTopology kind = SystemTopology::ring_1d;
  MeshExtent cubes;
  MeshExtent pes;
  std::optional<MeshExtent> mesh = std::nullopt;
  IoAttachment io = IoAttachment::corner;
  SramPorts ports = SramPorts::first_router;
};

Topology make(const Shape& shape) {
  Topology topology = load_topology("tiny");
  topology.system.sips = shape.sips;
  topology.system.topology = shape.kind;
  topology.system.mesh = shape.mesh;
  topology.sip.cubes = shape.cubes;
  topology.cube.pes = shape.pes;
  topology.sip.io.attachment = shape.io;
  topology.cube.sram.ports = shape.ports;
  return topology;
}

std::string router(const Topology& t, SipId sip, std::int32_t x, std::int32_t y) {
  const MeshExtent pes = t.cube.pes;
  const std::int32_t cube = y / pes.height * t.sip.cubes.width + x / pes.width;
  const std::int32_t pe = y % pes.height * pes.width + x % pes.width;
  return to_text(Endpoint::pe_port({sip, CubeId{cube}, PeId{pe}})) + ".router";
}

// Every link that should exist, with its ends and figures, in a plain enumeration of the geometry.
std::map<std::string, std::pair<Ends, LinkSpec>> expected_links(const Topology& t) {
  std::map<std::string, std::pair<Ends, LinkSpec>> links;
  const auto add = [&](const std::string& name, Ends ends, const LinkSpec& spec) {
    EXPECT_TRUE(links.emplace(name, std::pair{std::move(ends), spec}).second) << name << " twice";
  };
  const std::int32_t width = t.sip.cubes.width * t.cube.pes.width;
  const std::int32_t height = t.sip.cubes.height * t.cube.pes.height;
  for (std::int32_t s = 0; s < t.system.sips; ++s) {
    const SipId sip{s};
    const std::string name = "sip" + std::to_string(s);
    const std::string io = name + ".io";
    add("host.to_" + name, {"host", io}, t.host.link);
    add(io + ".to_host", {io, "host"}, t.host.link);
    if (t.sip.io.attachment == IoAttachment::corner) {
      add(io + ".to_mesh", {io, router(t, sip, 0, 0)}, t.sip.link);
      add(io + ".from_mesh", {router(t, sip, 0, 0), io}, t.sip.link);
    }
    for (std::int32_t y = 0; y < height; ++y) {
      if (t.sip.io.attachment == IoAttachment::west_edge) {
        LinkSpec lane = t.sip.link;
        lane.bandwidth = Bandwidth::bytes_per_second(lane.bandwidth.count() / t.cube.pes.height);
        const std::string row = io + ".row" + std::to_string(y);
        add(row + ".to_mesh", {io, router(t, sip, 0, y)}, lane);
        add(row + ".from_mesh", {router(t, sip, 0, y), io}, lane);
      }
      for (std::int32_t x = 0; x < width; ++x) {
        const std::string here = router(t, sip, x, y);
        const auto link = [&](const char* direction, std::int32_t to_x, std::int32_t to_y) {
          if (to_x < 0 || to_y < 0 || to_x >= width || to_y >= height) return;
          const bool same_cube =
              x / t.cube.pes.width == to_x / t.cube.pes.width && y / t.cube.pes.height == to_y / t.cube.pes.height;
          LinkSpec spec = same_cube ? t.cube.noc.link : t.sip.link;
          const std::int64_t lanes = to_y == y ? t.cube.pes.height : t.cube.pes.width;
          if (!same_cube) spec.bandwidth = Bandwidth::bytes_per_second(spec.bandwidth.count() / lanes);
          add(here + direction, {here, router(t, sip, to_x, to_y)}, spec);
        };
        link(".east", x + 1, y);
        link(".west", x - 1, y);
        link(".north", x, y - 1);
        link(".south", x, y + 1);
        const std::string pe = here.substr(0, here.size() - std::string(".router").size());
        add(pe + ".inject", {pe, here}, t.cube.noc.link);
        add(pe + ".eject", {here, pe}, t.cube.noc.link);
        add(pe + ".hbm.out", {pe + ".hbm", here}, t.cube.noc.link);
        add(pe + ".hbm.in", {here, pe + ".hbm"}, t.cube.noc.link);
        if (pe.ends_with(".pe0")) {
          const std::string m_cpu = pe.substr(0, pe.size() - 4) + ".m_cpu";
          add(m_cpu + ".inject", {m_cpu, here}, t.cube.noc.link);
          add(m_cpu + ".eject", {here, m_cpu}, t.cube.noc.link);
        }
        const bool everywhere = t.cube.sram.ports == SramPorts::every_router;
        if (everywhere || pe.ends_with(".pe0")) {
          const std::string cube = pe.substr(0, pe.find(".pe"));
          const std::string port = (everywhere ? pe : cube) + ".sram";
          const std::string sram = (pe.ends_with(".pe0") ? cube : pe) + ".sram";
          LinkSpec wide = t.cube.noc.link;
          wide.bandwidth = t.cube.sram.bandwidth;
          add(port + ".out", {sram, here}, wide);
          add(port + ".in", {here, sram}, wide);
        }
      }
    }
  }
  const std::int32_t n = t.system.sips;
  const MeshExtent mesh = t.system.mesh ? *t.system.mesh : most_square(n);
  const auto around = [](std::int32_t a, std::int32_t b, std::int32_t length, bool wrap) {
    const std::int32_t apart = std::abs(a - b);
    return wrap ? std::min(apart, length - apart) : apart;
  };
  for (std::int32_t a = 0; a < n; ++a) {
    const std::string from = "sip" + std::to_string(a) + ".io";
    if (t.system.topology == SystemTopology::switched && n > 1) {
      add(from + ".to_switch", {from, "switch"}, t.system.link);
      add("switch.to_sip" + std::to_string(a), {"switch", from}, t.system.link);
      continue;
    }
    for (std::int32_t b = 0; b < n; ++b) {
      bool adjacent = a != b;
      const bool wrap = t.system.topology != SystemTopology::mesh_2d;
      if (t.system.topology == SystemTopology::ring_1d) {
        adjacent = around(a, b, n, true) == 1;
      } else if (t.system.topology != SystemTopology::fully_connected) {
        adjacent = around(a % mesh.width, b % mesh.width, mesh.width, wrap) +
                       around(a / mesh.width, b / mesh.width, mesh.height, wrap) ==
                   1;
      }
      const std::string to = "sip" + std::to_string(b);
      if (adjacent) add(from + ".to_" + to, {from, to + ".io"}, t.system.link);
    }
  }
  return links;
}

class Graph {
 public:
  explicit Graph(const Topology& topology) : network(topology), expected(expected_links(topology)) {
    for (const auto& [name, link] : expected) next_[link.first.from].push_back(link.first.to);
  }

  const Ends& ends(LinkId id) const { return expected.at(network.link(id).name).first; }

  // Links on the shortest way from each node to `from`'s reach, by breadth-first search.
  std::map<std::string, std::size_t> distances(const std::string& from) const {
    std::map<std::string, std::size_t> distance{{from, 0}};
    std::queue<std::string> open({from});
    const std::string sip = from.substr(0, from.find('.'));
    while (!open.empty()) {
      const std::string at = open.front();
      open.pop();
      // Hosts only end routes, and no IO chiplet is a way within the mesh from which a packet comes.
      if (at == "host" && at != from) continue;
      const bool left_mesh = at == sip + ".io" && at != from;
      if (const auto next = next_.find(at); next != next_.end()) {
        for (const std::string& to : next->second) {
          if (left_mesh && to.starts_with(sip + ".cube")) continue;
          if (distance.emplace(to, distance.at(at) + 1).second) open.push(to);
        }
      }
    }
    return distance;
  }

  Network network;
  std::map<std::string, std::pair<Ends, LinkSpec>> expected;

 private:
  std::map<std::string, std::vector<std::string>> next_;
};

const std::vector<SystemTopology> kKinds{SystemTopology::ring_1d, SystemTopology::torus_2d, SystemTopology::mesh_2d,
                                         SystemTopology::fully_connected, SystemTopology::switched};

std::vector<Shape> shapes() {
  std::vector<Shape> all{{1, SystemTopology::ring_1d, {3, 2}, {2, 3}},
                         {1, SystemTopology::ring_1d, {1, 3}, {1, 1}},
                         {2, SystemTopology::ring_1d, {2, 2}, {2, 1}},
                         {8, SystemTopology::torus_2d, {1, 1}, {2, 1}, MeshExtent{2, 4}},
                         {6, SystemTopology::torus_2d, {1, 1}, {1, 1}, MeshExtent{1, 6}},
                         {16, SystemTopology::torus_2d, {1, 1}, {1, 1}},
                         {25, SystemTopology::torus_2d, {1, 1}, {1, 1}},
                         {6, SystemTopology::mesh_2d, {1, 1}, {2, 1}, MeshExtent{2, 3}}};
  for (const SystemTopology kind : kKinds) {
    for (std::int32_t sips = 1; sips <= 9; ++sips) all.push_back({sips, kind, {2, 1}, {1, 2}});
  }
  if (kSanitized) std::erase_if(all, [](const Shape& shape) { return shape.sips > 5; });  // routes by the million
  const std::size_t corners = all.size();
  for (std::size_t i = 0; i < corners; ++i) {
    all.push_back(all[i]);
    all.back().io = IoAttachment::west_edge;
    if (i % 2 == 0) all.back().ports = SramPorts::every_router;
  }
  return all;
}

bool wired_directly(Endpoint a, Endpoint b) {
  const auto pe_or_slice = [](Endpoint e) {
    return e.kind == Endpoint::Kind::pe || e.kind == Endpoint::Kind::hbm_slice;
  };
  return pe_or_slice(a) && pe_or_slice(b) && a.sip == b.sip && a.cube == b.cube && a.pe == b.pe;
}

TEST(Network, HasExactlyTheLinksOfTheGeometryWithTheirFigures) {
  for (const Shape& shape : shapes()) {
    const Topology topology = make(shape);
    const Network network(topology);
    const auto expected = expected_links(topology);
    ASSERT_EQ(network.links().size(), expected.size());
    std::set<std::string> names;
    for (const Link& link : network.links()) {
      const auto found = expected.find(link.name);
      ASSERT_NE(found, expected.end()) << link.name;
      EXPECT_TRUE(link.spec == found->second.second) << link.name;
      EXPECT_TRUE(names.insert(link.name).second) << link.name << " twice";
    }
  }
}

TEST(Network, EveryRouteIsAConnectedShortestWayBetweenItsEnds) {
  std::size_t turn = 0;
  for (const Shape& shape : shapes()) {
    const Graph graph(make(shape));
    const auto endpoints = graph.network.endpoints();
    for (const Endpoint from : endpoints) {
      if (turn++ % one_case_in(2, 7) != 0) continue;
      const auto distance = graph.distances(to_text(from));
      for (const Endpoint to : endpoints) {
        const auto route = graph.network.route(from, to);
        if (from == to || wired_directly(from, to)) {
          EXPECT_TRUE(route.empty());
          continue;
        }
        ASSERT_FALSE(route.empty());
        EXPECT_EQ(graph.ends(route.front().link).from, to_text(from));
        EXPECT_EQ(graph.ends(route.back().link).to, to_text(to));
        for (std::size_t i = 1; i < route.size(); ++i) {
          ASSERT_EQ(graph.ends(route[i - 1].link).to, graph.ends(route[i].link).from);
        }
        ASSERT_EQ(route.size(), distance.at(to_text(to))) << to_text(from) << " to " << to_text(to);
      }
    }
  }
}

// The condition of Dally and Seitz: no cycle of (link, channel) where one waits for the next.
TEST(Network, ChannelDependenciesAreAcyclicOnEverySystem) {
  std::size_t turn = 0;
  for (const Shape& shape : shapes()) {
    if (turn++ % one_case_in(1, 3) != 0) continue;
    const Network network(make(shape));
    const auto endpoints = network.endpoints();
    std::map<RouteHop, std::set<RouteHop>> waits_for;
    std::map<RouteHop, std::size_t> waiters;
    for (const Endpoint from : endpoints) {
      for (const Endpoint to : endpoints) {
        const auto route = network.route(from, to);
        for (std::size_t i = 0; i < route.size(); ++i) {
          ASSERT_LE(route[i].channel, 1);
          waiters.emplace(route[i], 0);
          if (i > 0 && waits_for[route[i - 1]].insert(route[i]).second) ++waiters[route[i]];
        }
      }
    }
    std::vector<RouteHop> free;
    for (const auto& [hop, count] : waiters) {
      if (count == 0) free.push_back(hop);
    }
    std::size_t removed = 0;
    while (!free.empty()) {
      const RouteHop hop = free.back();
      free.pop_back();
      ++removed;
      for (const RouteHop next : waits_for[hop]) {
        if (--waiters[next] == 0) free.push_back(next);
      }
    }
    EXPECT_EQ(removed, waiters.size()) << "a cycle among the channels of system kind " << static_cast<int>(shape.kind)
                                       << " with " << shape.sips << " SIPs";
  }
}

TEST(Network, WithoutDatelinesRingsWouldHaveCycles) {
  // Guards the test above: the same routes on one channel must be found cyclic.
  const SystemGraph ring({.sips = 5, .topology = SystemTopology::ring_1d, .mesh = {}, .link = {}});
  std::map<std::int32_t, std::int32_t> up_after;
  for (std::int32_t from = 0; from < 5; ++from) {
    const auto path = ring.path(SipId{from}, SipId{(from + 2) % 5});
    ASSERT_EQ(path.size(), 2u);
    up_after[path[0].from] = path[1].from;
  }
  std::int32_t at = 0;
  for (int i = 0; i < 5; ++i) at = up_after.at(at);
  EXPECT_EQ(at, 0);
}

TEST(Network, UsesChannelOneOnlyAfterALinkBetweenSips) {
  for (const Shape& shape : shapes()) {
    const Network network(make(shape));
    const auto endpoints = network.endpoints();
    for (const Endpoint from : endpoints) {
      for (const Endpoint to : endpoints) {
        const bool between_sips =
            from.kind != Endpoint::Kind::host && to.kind != Endpoint::Kind::host && from.sip != to.sip;
        bool crossed = false;
        for (const RouteHop& hop : network.route(from, to)) {
          const std::string& name = network.link(hop.link).name;
          const bool between = name.find(".io.to_sip") != std::string::npos || name.ends_with("to_switch") ||
                               name.starts_with("switch.");
          EXPECT_TRUE(between || hop.channel == (crossed ? 1 : 0)) << name;
          crossed = crossed || between;
        }
        EXPECT_EQ(crossed, between_sips);
      }
    }
  }
}

// So nothing that leaves or enters a SIP needs a link between rows: the rows share what goes between SIPs.
TEST(Network, PacketsLeaveAndEnterAMeshWithAWideIoChipletInTheirRows) {
  const Topology topology = make({2, SystemTopology::ring_1d, {2, 2}, {2, 2}, std::nullopt, IoAttachment::west_edge});
  const Network network(topology);
  const auto row_of = [](Endpoint e) { return e.cube.value / 2 * 2 + e.pe.value / 2; };
  for (const Endpoint from : network.endpoints()) {
    for (const Endpoint to : network.endpoints()) {
      const bool in_mesh = from.kind != Endpoint::Kind::host && from.kind != Endpoint::Kind::io_cpu &&
                           to.kind != Endpoint::Kind::host && to.kind != Endpoint::Kind::io_cpu;
      if (!in_mesh || from.sip == to.sip) continue;
      std::vector<std::string> io;
      for (const RouteHop& hop : network.route(from, to)) {
        const std::string& name = network.link(hop.link).name;
        EXPECT_FALSE(name.ends_with(".north") || name.ends_with(".south")) << name;
        if (name.find(".io.row") != std::string::npos) io.push_back(name);
      }
      const std::vector<std::string> expected{
          kernbench::to_text(from.sip) + ".io.row" + std::to_string(row_of(from)) + ".from_mesh",
          kernbench::to_text(to.sip) + ".io.row" + std::to_string(row_of(to)) + ".to_mesh"};
      EXPECT_EQ(io, expected);
    }
  }
}

TEST(Network, LanesShareTheEdgeOfACubeEqually) {
  Topology topology = make({1, SystemTopology::ring_1d, {2, 2}, {4, 2}});
  topology.sip.link.bandwidth = Bandwidth::bytes_per_second(1003);
  const Network network(topology);
  std::map<std::string, std::int64_t> bandwidth;
  for (const Link& link : network.links()) bandwidth[link.name] = link.spec.bandwidth.count();
  EXPECT_EQ(bandwidth.at("sip0.cube0.pe3.router.east"), 501);
  EXPECT_EQ(bandwidth.at("sip0.cube1.pe4.router.west"), 501);
  EXPECT_EQ(bandwidth.at("sip0.cube0.pe6.router.south"), 250);
  EXPECT_EQ(bandwidth.at("sip0.cube2.pe1.router.north"), 250);
  EXPECT_EQ(bandwidth.at("sip0.cube0.pe0.router.east"), topology.cube.noc.link.bandwidth.count());
  EXPECT_EQ(bandwidth.at("sip0.io.to_mesh"), 1003);
  topology.sip.io.attachment = IoAttachment::west_edge;
  const Network wide(topology);
  for (const Link& link : wide.links()) bandwidth[link.name] = link.spec.bandwidth.count();
  for (const char* row : {"row0", "row1", "row2", "row3"}) {
    EXPECT_EQ(bandwidth.at("sip0.io." + std::string(row) + ".to_mesh"), 501);
    EXPECT_EQ(bandwidth.at("sip0.io." + std::string(row) + ".from_mesh"), 501);
  }

  topology.sip.link.bandwidth = Bandwidth::bytes_per_second(1);
  const Network narrow(topology);
  for (const Link& link : narrow.links()) EXPECT_GE(link.spec.bandwidth.count(), 1) << link.name;
}

TEST(Network, DistanceGrowsFromOwnSliceToAnotherSip) {
  const Network network(load_topology("ahbm-2sip"));
  const auto slice = [](int sip, int cube, int pe) {
    return Endpoint::hbm_slice({SipId{sip}, CubeId{cube}, PeId{pe}});
  };
  const Endpoint pe = Endpoint::pe_port({SipId{0}, CubeId{0}, PeId{0}});
  const Time own = network.latency(network.route(pe, slice(0, 0, 0)));
  const Time same_cube = network.latency(network.route(pe, slice(0, 0, 7)));
  const Time other_cube = network.latency(network.route(pe, slice(0, 15, 7)));
  const Time other_sip = network.latency(network.route(pe, slice(1, 0, 0)));
  EXPECT_EQ(own, Time::zero());
  EXPECT_EQ(same_cube, Time::nanoseconds(2 + 4 * 2 + 2));                      // inject, 3 east and 1 south, slice
  EXPECT_EQ(other_cube, Time::nanoseconds(2 + 6 * 8 + (15 + 7 - 6) * 2 + 2));  // 6 of the 22 hops cross cubes
  EXPECT_EQ(other_sip, Time::nanoseconds(2 + 8 + 500 + 8 + 2));
  EXPECT_LT(own, same_cube);
  EXPECT_LT(same_cube, other_cube);
  EXPECT_LT(other_cube, other_sip);
}

TEST(Network, LinksAreInStructuralOrderAndEqualForEachSip) {
  const Network network(load_topology("ahbm-2sip"));
  std::vector<std::string> of[2];
  for (const Link& link : network.links()) {
    for (int sip = 0; sip < 2; ++sip) {
      const std::string prefix = "sip" + std::to_string(sip) + ".";
      const bool between = link.name.find("to_sip") != std::string::npos;
      if (link.name.starts_with(prefix) && !between) of[sip].push_back(link.name.substr(prefix.size()));
    }
  }
  EXPECT_EQ(of[0], of[1]);
  EXPECT_EQ(of[0].size(), 1057u);
  const Network again(load_topology("ahbm-2sip"));
  for (std::size_t i = 0; i < network.links().size(); ++i) EXPECT_EQ(network.links()[i].name, again.links()[i].name);
}

TEST(Network, ShippedTopologiesTakeAnyNumberOfSipsInAnyWiring) {
  for (const std::string& name : topology_names()) {
    for (const char* kind : {"ring_1d", "torus_2d", "mesh_2d", "fully_connected", "switched"}) {
      for (const std::int32_t sips : {1, 2, 3, 4, 8, 16}) {
        const Network network(load_topology(
            name, {"system.sips.count=" + std::to_string(sips), "system.sips.topology=" + std::string(kind)}));
        const Endpoint first = Endpoint::io_cpu(SipId{0}), last = Endpoint::io_cpu(SipId{sips - 1});
        EXPECT_EQ(network.route(first, last).empty(), sips == 1);
      }
    }
  }
}

TEST(Network, KnowsWhichEndpointsExist) {
  const Network network(make({2, SystemTopology::ring_1d, {2, 1}, {2, 1}}));
  for (const Endpoint endpoint : network.endpoints()) EXPECT_TRUE(network.contains(endpoint)) << to_text(endpoint);
  EXPECT_EQ(network.endpoints().size(), 1u + 2 * (1 + 2 * (2 + 2 * 2)));
  EXPECT_FALSE(network.contains(Endpoint::io_cpu(SipId{2})));
  EXPECT_FALSE(network.contains(Endpoint::io_cpu(SipId{-1})));
  EXPECT_FALSE(network.contains(Endpoint::m_cpu({SipId{0}, CubeId{2}})));
  EXPECT_FALSE(network.contains(Endpoint::pe_port({SipId{0}, CubeId{0}, PeId{2}})));
}

TEST(SystemGraph, MostSquareIsTheNearestFactorisation) {
  for (std::int32_t count = 1; count <= 200; ++count) {
    const MeshExtent extent = most_square(count);
    EXPECT_EQ(extent.count(), count);
    EXPECT_GE(extent.width, extent.height);
    for (std::int32_t height = extent.height + 1; height * height <= count; ++height) EXPECT_NE(count % height, 0);
  }
}

TEST(SystemGraph, WaysHalfRoundARingGoUpwardsFromEvenPlacesAndDownwardsFromOddOnes) {
  const SystemGraph ring({.sips = 4, .topology = SystemTopology::ring_1d, .mesh = {}, .link = {}});
  EXPECT_EQ(ring.path(SipId{0}, SipId{2}), (std::vector<SipHop>{{0, 1, 0}, {1, 2, 0}}));
  EXPECT_EQ(ring.path(SipId{2}, SipId{0}), (std::vector<SipHop>{{2, 3, 0}, {3, 0, 1}}));
  EXPECT_EQ(ring.path(SipId{3}, SipId{1}), (std::vector<SipHop>{{3, 2, 0}, {2, 1, 0}}));
  EXPECT_EQ(ring.path(SipId{1}, SipId{3}), (std::vector<SipHop>{{1, 0, 0}, {0, 3, 1}}));
  EXPECT_EQ(ring.path(SipId{0}, SipId{3}), (std::vector<SipHop>{{0, 3, 1}}));
  EXPECT_EQ(ring.path(SipId{2}, SipId{1}), (std::vector<SipHop>{{2, 1, 0}}));
}

/// With all pairs of a ring, or of a torus of rings of four, each link carries as much as any other, as long as half of
/// a ring is an even number of links.
TEST(SystemGraph, AllPairsTogetherLoadTheLinksOfARingAlike) {
  for (const auto& [kind, sips] : std::initializer_list<std::pair<SystemTopology, std::int32_t>>{
           {SystemTopology::ring_1d, 4}, {SystemTopology::ring_1d, 8}, {SystemTopology::torus_2d, 16}}) {
    const SystemGraph graph({.sips = sips, .topology = kind, .mesh = {}, .link = {}});
    std::map<std::pair<std::int32_t, std::int32_t>, int> load;
    for (std::int32_t from = 0; from < sips; ++from) {
      for (std::int32_t to = 0; to < sips; ++to) {
        for (const SipHop& hop : graph.path(SipId{from}, SipId{to})) ++load[{hop.from, hop.to}];
      }
    }
    const auto [least, most] = std::ranges::minmax_element(load, {}, [](const auto& each) { return each.second; });
    EXPECT_EQ(least->second, most->second) << sips;
  }
}

TEST(SystemGraph, TorusResetsTheChannelForItsSecondDimension) {
  const SystemGraph torus({.sips = 9, .topology = SystemTopology::torus_2d, .mesh = {}, .link = {}});
  EXPECT_EQ(torus.path(SipId{2}, SipId{3}), (std::vector<SipHop>{{2, 0, 1}, {0, 3, 0}}));
  EXPECT_EQ(torus.path(SipId{8}, SipId{0}), (std::vector<SipHop>{{8, 6, 1}, {6, 0, 1}}));
}

}  // namespace
}  // namespace kernbench::topology::network_test
