// Routes around failed links, on networks with random failures.
#include "topology/detours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "base/text.h"
#include "kernbench/error.h"
#include "support/sanitizers.h"
#include "topology/load.h"
#include "topology/network.h"

namespace kernbench::topology {
namespace {

using ::testing::HasSubstr;

constexpr SystemTopology kKinds[]{SystemTopology::ring_1d, SystemTopology::torus_2d, SystemTopology::mesh_2d,
                                  SystemTopology::fully_connected, SystemTopology::switched};

Topology machine(SystemTopology kind, std::int32_t sips) {
  Topology topology = load_topology("tiny");
  topology.system.topology = kind;
  topology.system.sips = sips;
  return topology;
}

PartOverride failed(const std::string& part) {
  PartOverride change;
  change.part = part;
  change.failed = true;
  return change;
}

// The links between SIPs as pairs of nodes, lower one first, without those that are down in one direction at least.
using Edges = std::set<std::pair<std::int32_t, std::int32_t>>;
Edges remaining(const Network& network) {
  Edges edges, down;
  for (std::uint32_t id = 0; id < network.links().size(); ++id) {
    const auto hop = network.between_sips(LinkId{id});
    if (!hop) continue;
    const std::pair<std::int32_t, std::int32_t> edge = std::minmax(hop->from, hop->to);
    edges.insert(edge);
    if (network.link(LinkId{id}).failed) down.insert(edge);
  }
  for (const auto& edge : down) edges.erase(edge);
  return edges;
}

// Hops on the shortest way over the edges, by relaxation; none: there is no way.
std::optional<std::size_t> distance(const Edges& edges, std::int32_t from, std::int32_t to) {
  std::map<std::int32_t, std::size_t> at{{from, 0}};
  for (bool changed = true; changed;) {
    changed = false;
    const auto relax = [&](std::int32_t a, std::int32_t b) {
      if (!at.contains(a)) return;
      const std::size_t hops = at.at(a) + 1;
      if (const auto found = at.find(b); found != at.end() && found->second <= hops) return;
      at[b] = hops;
      changed = true;
    };
    for (const auto& [a, b] : edges) {
      relax(a, b);
      relax(b, a);
    }
  }
  const auto found = at.find(to);
  return found == at.end() ? std::nullopt : std::optional(found->second);
}

bool has_cycle(const std::map<RouteHop, std::set<RouteHop>>& waits_for) {
  std::map<RouteHop, std::size_t> waiters;
  for (const auto& [hop, nexts] : waits_for) {
    waiters.emplace(hop, 0);
    for (const RouteHop& next : nexts) ++waiters[next];
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
    const auto found = waits_for.find(hop);
    if (found == waits_for.end()) continue;
    for (const RouteHop& next : found->second) {
      if (--waiters[next] == 0) free.push_back(next);
    }
  }
  return removed != waiters.size();
}

// Holds all routes of a network to the links that are left. Returns by how many hops they exceed the shortest ways.
std::size_t expect_sound_routes(const Network& network) {
  const Edges edges = remaining(network);
  std::map<RouteHop, std::set<RouteHop>> waits_for;
  std::size_t excess = 0;
  for (const Endpoint from : network.endpoints()) {
    for (const Endpoint to : network.endpoints()) {
      const auto route = network.route(from, to);
      std::int32_t at = from.sip.value;
      std::size_t hops = 0;
      for (std::size_t i = 0; i < route.size(); ++i) {
        EXPECT_LE(route[i].channel, 1);
        EXPECT_FALSE(network.link(route[i].link).failed) << network.link(route[i].link).name;
        if (i > 0) waits_for[route[i - 1]].insert(route[i]);
        const auto hop = network.between_sips(route[i].link);
        if (!hop) continue;
        EXPECT_EQ(hop->from, at);
        const std::pair<std::int32_t, std::int32_t> edge = std::minmax(hop->from, hop->to);
        EXPECT_TRUE(edges.contains(edge));
        at = hop->to;
        ++hops;
      }
      const bool between = from.kind != Endpoint::Kind::host && to.kind != Endpoint::Kind::host;
      if (!between) continue;
      EXPECT_EQ(at, to.sip.value);
      const auto shortest = distance(edges, from.sip.value, to.sip.value);
      EXPECT_TRUE(shortest.has_value());
      if (shortest) excess += hops - *shortest;
    }
  }
  EXPECT_FALSE(has_cycle(waits_for));
  return excess;
}

// The condition of Dally and Seitz holds whatever fails, and routes go where links are left.
TEST(Detours, RandomFailuresLeaveSoundRoutesWithoutCyclesOrAnErrorThatNamesAPair) {
  std::mt19937_64 random(7);
  std::size_t built = 0, refused = 0, excess = 0;
  for (const SystemTopology kind : kKinds) {
    for (std::int32_t sips = 2; sips <= 9; ++sips) {
      const Topology plain = machine(kind, sips);
      const Network whole(plain);
      std::vector<std::string> names;
      for (std::uint32_t id = 0; id < whole.links().size(); ++id) {
        if (whole.between_sips(LinkId{id})) names.push_back(whole.link(LinkId{id}).name);
      }
      for (int attempt = 0; attempt < (kSanitized ? 1 : 6); ++attempt) {
        Topology topology = plain;
        std::ranges::shuffle(names, random);
        const std::size_t most = kind == SystemTopology::fully_connected ? names.size() / 2 : 3;
        for (std::size_t i = 0; i < std::min(names.size(), 1 + random() % most); ++i) {
          topology.overrides.push_back(failed(names[i]));
        }
        try {
          const Network network(topology);
          excess += expect_sound_routes(network);
          ++built;
        } catch (const ConfigurationError& error) {
          EXPECT_THAT(error.what(), HasSubstr("cannot reach"));
          ++refused;
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(built, kSanitized ? 12u : 75u);
  EXPECT_GT(refused, kSanitized ? 4u : 25u);
  EXPECT_EQ(excess, 0u);
}

// Whether a system is refused is a matter of connection alone, found here by an independent search.
TEST(Detours, ASystemIsRefusedExactlyWhenSomeSipsAreCutOff) {
  std::mt19937_64 random(11);
  for (const SystemTopology kind : kKinds) {
    for (std::int32_t sips = 2; sips <= 9; ++sips) {
      const Topology plain = machine(kind, sips);
      const Network whole(plain);
      for (int attempt = 0; attempt < 20; ++attempt) {
        Topology topology = plain;
        Edges left = remaining(whole);
        for (std::uint32_t id = 0; id < whole.links().size(); ++id) {
          const auto hop = whole.between_sips(LinkId{id});
          if (!hop || random() % 5 != 0) continue;
          topology.overrides.push_back(failed(whole.link(LinkId{id}).name));
          left.erase(std::minmax(hop->from, hop->to));
        }
        bool connected = true;
        for (std::int32_t sip = 1; sip < sips; ++sip) connected = connected && distance(left, 0, sip);
        if (connected) {
          EXPECT_NO_THROW(Network{topology});
        } else {
          EXPECT_THROW(Network{topology}, ConfigurationError);
        }
      }
    }
  }
}

TEST(Detours, ARingWithoutOneLinkIsALine) {
  Topology topology = machine(SystemTopology::ring_1d, 5);
  topology.overrides.push_back(failed("sip2.io.to_sip3"));
  const Network network(topology);
  EXPECT_EQ(network.system().path(SipId{2}, SipId{3}),
            (std::vector<SipHop>{{2, 1, 0}, {1, 0, 0}, {0, 4, 0}, {4, 3, 0}}));
  EXPECT_EQ(network.system().path(SipId{3}, SipId{2}),
            (std::vector<SipHop>{{3, 4, 0}, {4, 0, 0}, {0, 1, 0}, {1, 2, 0}}));
  EXPECT_EQ(network.system().path(SipId{0}, SipId{1}), (std::vector<SipHop>{{0, 1, 0}}));
}

TEST(Detours, NeighboursKeepTheirLinkAndOthersTakeTheLowestSipBetweenThem) {
  Topology topology = machine(SystemTopology::fully_connected, 6);
  topology.overrides = {failed("sip3.io.to_sip5"), failed("sip3.io.to_sip0")};
  const SystemGraph system = Network(topology).system();
  EXPECT_EQ(system.path(SipId{3}, SipId{5}), (std::vector<SipHop>{{3, 1, 0}, {1, 5, 0}}));
  EXPECT_EQ(system.path(SipId{5}, SipId{3}), (std::vector<SipHop>{{5, 1, 0}, {1, 3, 0}}));
  EXPECT_EQ(system.path(SipId{0}, SipId{3}), (std::vector<SipHop>{{0, 1, 0}, {1, 3, 0}}));
  EXPECT_EQ(system.path(SipId{4}, SipId{2}), (std::vector<SipHop>{{4, 2, 0}}));
}

TEST(Detours, AreFoundInLargeSystems) {
  Topology topology = machine(SystemTopology::torus_2d, 1024);
  topology.overrides.push_back(failed("sip5.io.to_sip6"));
  const SystemGraph system = Network(topology).system();
  EXPECT_EQ(system.path(SipId{5}, SipId{6}).size(), 3u);

  topology.system.sips = 1025;
  try {
    const Network network(topology);
    ADD_FAILURE() << "expected an error";
  } catch (const ConfigurationError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the system has 1025 SIPs; routes around failed links are possible among at "
                                        "most 1024"));
  }
}

}  // namespace
}  // namespace kernbench::topology
