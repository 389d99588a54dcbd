// The algorithm that is chosen for each all-reduce: what algorithms cost by the formula, and what groups use.
#include "distributed/cost/automatic_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/pieces.h"
#include "distributed/cost/algorithm_cost.h"
#include "distributed/tuning.h"
#include "kernbench/kernbench.h"
#include "ranks.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"
#include "topology/load.h"
#include "topology/network.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using namespace distributed;
using ::testing::Each;
using ::testing::IsEmpty;
using topology::Endpoint;

topology::Topology machine(int sips, const std::string& wiring) {
  return topology::load_topology(source_tree::path("topologies/ahbm-2sip.yaml"),
                                 {"system.sips.count=" + std::to_string(sips), "system.sips.topology=" + wiring});
}

std::vector<int> all(int ranks) {
  std::vector<int> numbers;
  for (int rank = 0; rank < ranks; ++rank) numbers.push_back(rank);
  return numbers;
}

AlgorithmSpec automatic() {
  AlgorithmSpec spec;
  spec.module = std::string(kAutomatic);
  return spec;
}

std::string chosen(const topology::Topology& topology, int ranks, std::int64_t bytes,
                   const AlgorithmSpec& spec = automatic(),
                   CollectiveOperation operation = CollectiveOperation::all_reduce) {
  const topology::Network network(topology);
  return std::string(AutomaticChoice(operation, {ranks, false, spec, topology}, all(ranks), network).of(bytes).name);
}

AlgorithmCost cost(const char* name, const topology::Network& network,
                   CollectiveOperation operation = CollectiveOperation::all_reduce) {
  std::vector<PeCoordinate> first_pes;
  for (int sip = 0; sip < network.topology().system.sips; ++sip) first_pes.push_back({SipId{sip}, CubeId{0}, PeId{0}});
  return cost_of(find_collective_algorithm(operation, name), static_cast<int>(first_pes.size()), first_pes, false,
                 way_ns_per_byte(network), AlgorithmSpec(), network);
}

/// What passes from 8 lanes to 3 links: with h = 8/3 heads of lanes for each, rho + (1 - 1/8) rho^2 / (2 (1 - rho)) =
/// h.
double from_lanes() {
  const double h = 8.0 / 3, a = 1 - 7.0 / 16;
  return (1 + h - std::sqrt((1 + h) * (1 + h) - 4 * a * h)) / (2 * a);
}

constexpr double kShared = 0.75;  // of two ways, table I of Karol, Hluchyj and Morgan

TEST(AlgorithmCost, FollowsTheFormula) {
  const auto ring = machine(4, "ring_1d"), full = machine(4, "fully_connected");
  const topology::Network on_ring(ring), on_full(full);
  const double rate = static_cast<double>(ring.system.link.payload_rate().count()) * 1e-9;  // B/ns
  const auto ns = [](Time time) { return static_cast<double>(time.count()) * 1e-3; };
  const auto& pe = ring.pe;
  const double each = 3 * ns(pe.control.issue) + ns(pe.ipcq.meta_latency);
  const double memory = 2 * (ns(pe.dma.setup) + ns(ring.cube.hbm.latency));
  const auto way = [&](const topology::Network& network, int from, int to) {
    const PeCoordinate a{SipId{from}, CubeId{0}, PeId{0}}, b{SipId{to}, CubeId{0}, PeId{0}};
    return ns(network.latency(network.route(Endpoint::pe_port(a), Endpoint::pe_port(b))));
  };
  const double one = way(on_ring, 0, 1), two = way(on_ring, 0, 2), link = way(on_full, 0, 2);
  ASSERT_GT(two, one + 400);

  const auto expect = [](const AlgorithmCost& found, double latency, double per_byte) {
    EXPECT_NEAR(found.latency_ns(), latency, 1e-6) << found.algorithm->name;
    EXPECT_NEAR(found.ns_per_byte(), per_byte, 1e-12) << found.algorithm->name;
  };
  expect(cost("ring_allreduce", on_ring), 6 * (one + each), 6 * 0.25 / rate);
  expect(cost("ring_allreduce", on_full), 6 * (link + each), 6 * 0.25 / rate);
  const double lanes = from_lanes();
  EXPECT_NEAR(lanes + 7.0 / 8 * lanes * lanes / (2 * (1 - lanes)), 8.0 / 3, 1e-9);
  expect(cost("direct_allreduce", on_full), 2 * (link + each), 2 * 0.25 / rate / lanes);
  // Six rings of eight lanes: four lanes have messages of two rings.
  expect(cost("multi_ring_allreduce", on_full), 6 * (link + each), 6 * 0.25 / 3 / rate / (1 - (1 - kShared) * 4 / 8));
  // Of each link's messages some go on and some do not: those to the next rank, and to and from the one after. The
  // chunks in turn, the results as they come.
  const AlgorithmCost direct = cost("direct_allreduce", on_ring);
  EXPECT_NEAR(direct.latency_ns(), 2 * (two + each), 1e-6);
  const double met = direct.ns_per_byte() * rate / (0.25 * (1 + 1 / kShared));
  EXPECT_NEAR(met, std::round(met), 1e-9);
  // While the last PEs send a half over one link, others exchange quarters over another one.
  expect(cost("halving_doubling_allreduce", on_full), 4 * (link + each) + 3 * memory, 2 * 0.5 / rate);
  expect(cost("grid_ring_allreduce", on_full), 4 * (link + each) + 3 * memory, 2 * 0.5 / rate);
  // Up one tree and down; a root stores and loads. With more than 2 KiB of a PE two trees go at one time.
  const AlgorithmCost trees = cost("double_tree_allreduce", on_full);
  EXPECT_NEAR(trees.latency_ns(), 4 * (link + each) + memory, 1e-6);
  double both = 0;
  for (const AlgorithmCost::Step& step : trees.steps) both += step.latency_ns + step.memory_ns;
  EXPECT_NEAR(both, 4 * (link + each) + memory, 1e-6);
  expect(cost("bidirectional_ring_allreduce", on_ring), 6 * (one + each), 3 * 0.25 / rate);
  // Two ranks make a line of two, over one link in both directions of the line: half of the bytes, as two of four ways.
  expect(cost("bidirectional_grid_allreduce", on_full), 4 * (link + each) + 3 * memory, (0.5 + 0.25) / rate);

  // A full line among those of two others, to three ways: each is full to two thirds, or has something for two of them.
  const auto switched = machine(4, "switched");
  const topology::Network on_switch(switched);
  for (const auto operation : {CollectiveOperation::broadcast, CollectiveOperation::reduce}) {
    const double use = 1 - (1 - 0.6825) * 2 / 3;
    EXPECT_NEAR(cost(("direct_" + std::string(name(operation))).c_str(), on_switch, operation).ns_per_byte(),
                1 / (use * rate), 1e-12);
  }
  // All lines are full, and each has as much for every way.
  EXPECT_NEAR(cost("direct_allreduce", on_switch).ns_per_byte(), 3 * 0.25 * (1 + 1 / 0.6825) / rate, 1e-12);

  for (const auto operation : {CollectiveOperation::all_gather, CollectiveOperation::reduce_scatter}) {
    const std::string of(name(operation));
    expect(cost(("ring_" + of).c_str(), on_ring, operation), 3 * (one + each), 3 * 0.25 / rate);
    expect(cost(("bidirectional_ring_" + of).c_str(), on_ring, operation), 3 * (one + each), 1.5 * 0.25 / rate);
    expect(cost(("direct_" + of).c_str(), on_full, operation), link + each, 0.25 / rate / lanes);
  }
  for (const auto operation : {CollectiveOperation::broadcast, CollectiveOperation::reduce}) {
    const std::string of(name(operation));
    expect(cost(("ring_" + of).c_str(), on_ring, operation), 3 * (one + each), 1 / rate);
    expect(cost(("bidirectional_ring_" + of).c_str(), on_ring, operation), 3 * (one + each), 0.5 / rate);
    expect(cost(("direct_" + of).c_str(), on_full, operation), 2 * (link + each), 1 / rate / 3 / lanes);
  }
}

/// Little data take all latencies and the longest service, much data all services and one latency; between them a PE
/// waits, besides, for the other PEs of the lanes.
TEST(AlgorithmCost, PesUseTheLinksWhileOthersWait) {
  AlgorithmCost cost{.steps = {{.latency_ns = 1000, .times = 3, .share = 0.25, .ns_per_byte = 0.004}},
                     .lanes = 2,
                     .pes_of_lane = 8,
                     .slot = 1 << 20};
  const auto service = [](double bytes) { return 0.25 * bytes * 0.004; };
  EXPECT_NEAR(cost.of(4096), 3 * 1000 + service(4096) * (1 + 2 / 8.0), 1e-9);
  const double much = 1 << 22, first = service(much) / 8;
  EXPECT_NEAR(cost.of(1 << 22), 3 * service(much) + 1000, 1e-6) << "the links have no pause";
  EXPECT_LT(first + 1000, service(much));
  // Tile by tile: it is held up by a slot of each lane, of however many bytes.
  cost.slot = 1024;
  EXPECT_NEAR(cost.of(1 << 19), 3 * 1000 + service(1 << 19) + 2 * 1024 * 2 * 0.004, 1e-6);
  cost.pes_of_lane = cost.lanes = 1;
  cost.slot = 1 << 20;
  EXPECT_NEAR(cost.of(4096), 3 * (1000 + service(4096)), 1e-9) << "of one PE there is nobody else";
}

/// Of three messages in a row around a torus of 2 x 2 two go over two links at most.
TEST(AlgorithmCost, CountsLatenciesAlongChainsOfMessages) {
  const auto torus = machine(4, "torus_2d");
  const topology::Network network(torus);
  const auto pe = [](int sip) { return Endpoint::pe_port({SipId{sip}, CubeId{0}, PeId{0}}); };
  const auto ns = [&](int from, int to) {
    return static_cast<double>(network.latency(network.route(pe(from), pe(to))).count()) * 1e-3;
  };
  const double each = 3 * 4 + 4;
  ASSERT_GT(ns(1, 2), ns(0, 1) + 400);
  EXPECT_NEAR(cost("ring_all_gather", network, CollectiveOperation::all_gather).latency_ns(),
              2 * ns(1, 2) + ns(0, 1) + 3 * each, 1e-6);
}

/// All eight PEs of a SIP reach the IO chiplet at the corner of the mesh through one router: six of them over its link
/// of 128 GB/s to the east. Two links between SIPs are of no use behind that.
TEST(AutomaticChoice, KnowsTheWayBetweenPesAndIoChiplet) {
  const auto tiny = [](const std::string& noc) {
    return topology::load_topology(source_tree::path("topologies/tiny.yaml"),
                                   {"system.sips.count=4", "sip.cubes.mesh=[2, 2]", "cube.noc.link.bandwidth=" + noc});
  };
  const auto narrow = tiny("128GB/s");
  EXPECT_EQ(chosen(narrow, 4, std::int64_t{1} << 19), "ring_allreduce");
  const topology::Network network(narrow);
  const double way = way_ns_per_byte(network);
  EXPECT_GT(way, 1 / 200.0) << "narrower than a link between SIPs";
  EXPECT_NEAR(cost("bidirectional_ring_allreduce", network).ns_per_byte(), 6 * 0.25 * way, 1e-12);
  EXPECT_NEAR(cost("ring_allreduce", network).ns_per_byte(), 6 * 0.25 * way, 1e-12);
  EXPECT_LT(way_ns_per_byte(topology::Network(machine(4, "ring_1d"))), 1 / 400.0)
      << "the edge of a shipped machine is wide";
}

TEST(AutomaticChoice, TakesFewStepsForLittleAndFewBytesForMuch) {
  const std::int64_t little = 1024, much = std::int64_t{64} << 20;
  for (const char* wiring : {"ring_1d", "fully_connected", "switched"}) {
    EXPECT_EQ(chosen(machine(4, wiring), 4, little), "direct_allreduce") << wiring;
    EXPECT_EQ(chosen(machine(8, wiring), 8, little), "direct_allreduce") << wiring;
  }
  EXPECT_EQ(chosen(machine(4, "ring_1d"), 4, much), "bidirectional_ring_allreduce");
  EXPECT_EQ(chosen(machine(16, "ring_1d"), 16, much), "bidirectional_ring_allreduce");
  EXPECT_EQ(chosen(machine(4, "switched"), 4, much), "ring_allreduce");
  EXPECT_EQ(chosen(machine(4, "fully_connected"), 4, 1 << 20), "direct_allreduce");
  EXPECT_EQ(chosen(machine(4, "fully_connected"), 4, 2 << 20), "multi_ring_allreduce");
  EXPECT_EQ(chosen(machine(4, "fully_connected"), 4, much), "multi_ring_allreduce");
  EXPECT_EQ(chosen(machine(5, "fully_connected"), 5, much), "multi_ring_allreduce");
  EXPECT_EQ(chosen(machine(6, "fully_connected"), 6, much), "direct_allreduce");
  EXPECT_EQ(chosen(machine(16, "torus_2d"), 16, much), "bidirectional_grid_allreduce");
  EXPECT_EQ(chosen(machine(2, "ring_1d"), 2, little), "ring_allreduce") << "as good as all others, and the first";
  // 15 channels to other ranks do not fit into a PE's tables.
  EXPECT_NE(chosen(machine(16, "fully_connected"), 16, little), "direct_allreduce");
}

TEST(AutomaticChoice, IsThatOfTheOperation) {
  const std::int64_t little = 1024, much = std::int64_t{64} << 20;
  const auto of = [](const char* wiring, std::int64_t bytes, CollectiveOperation operation) {
    return chosen(machine(4, wiring), 4, bytes, automatic(), operation);
  };
  for (const auto operation : {CollectiveOperation::all_gather, CollectiveOperation::reduce_scatter,
                               CollectiveOperation::broadcast, CollectiveOperation::reduce}) {
    const std::string ending = "_" + std::string(name(operation));
    EXPECT_EQ(of("ring_1d", much, operation), "bidirectional_ring" + ending);
    EXPECT_EQ(of("switched", much, operation), "ring" + ending);
    EXPECT_EQ(of("switched", little, operation), "direct" + ending);
    EXPECT_EQ(of("switched", 1 << 19, operation), "direct" + ending) << "where broadcast and reduce lose less";
    EXPECT_EQ(of("fully_connected", little, operation), "direct" + ending);
    EXPECT_EQ(of("fully_connected", much, operation), "direct" + ending);
  }
}

/// Of 15 channels to other ranks eight find room: pairs take two launches, and have channels written twice, in each
/// call. Measured on 16 fully connected SIPs, 1 MiB take 28.3 us by pairs, 15.9 by Bruck's algorithm.
TEST(AutomaticChoice, CountsLaunchesAndInstallationsOfRounds) {
  const auto topology = machine(16, "fully_connected");
  const topology::Network network(topology);
  const AlgorithmSpec spec = automatic();
  const AutomaticChoice choice(CollectiveOperation::all_to_all, {16, false, spec, topology}, all(16), network);
  const auto pairs = std::ranges::find(choice.costs(), "pairwise_all_to_all",
                                       [](const AlgorithmCost& cost) { return cost.algorithm->name; });
  ASSERT_NE(pairs, choice.costs().end());
  const auto latency = [&](Endpoint from, Endpoint to) {
    return static_cast<double>(network.latency(network.route(from, to)).count()) * 1e-3;
  };
  const SipId sip{0};
  const CubeCoordinate cube{sip, CubeId{15}};
  const Endpoint host = Endpoint::host(), io = Endpoint::io_cpu(sip), m_cpu = Endpoint::m_cpu(cube),
                 pe = Endpoint::pe_port({sip, CubeId{15}, PeId{7}});
  const double path = latency(host, io) + latency(io, m_cpu) + latency(m_cpu, pe) + latency(pe, m_cpu) +
                      latency(m_cpu, io) + latency(io, host) + 2 * (200 + 100) + 2 + 2;
  const double rows = 128 * 2 * 15 * 64,
               host_rate = static_cast<double>(topology.host.link.payload_rate().count()) * 1e-9;
  EXPECT_NEAR(pairs->rounds_ns, (path + 50) + 2 * path + rows / host_rate, 1e-6);
  AlgorithmCost once = *pairs;
  once.rounds_ns = 0;  // the same steps in one round
  EXPECT_NEAR(pairs->of(4096), once.of(4096) + pairs->rounds_ns, 1e-6);
  EXPECT_EQ(choice.of(std::int64_t{2} << 20).name, "bruck_all_to_all") << "23.9 us, and 29.4 by pairs";
  EXPECT_EQ(choice.of(std::int64_t{4} << 20).name, "pairwise_all_to_all") << "34.7 us, and 39.5 by the other one";
  const auto eight = machine(8, "fully_connected");
  const topology::Network small(eight);
  const AutomaticChoice one_round(CollectiveOperation::all_to_all, {8, false, spec, eight}, all(8), small);
  for (const AlgorithmCost& cost : one_round.costs()) EXPECT_EQ(cost.rounds_ns, 0) << cost.algorithm->name;
}

/// Behind each other go messages of one way only: those of two directions are of different PEs.
TEST(AlgorithmCost, WaysDoNotWaitForEachOther) {
  const auto torus = machine(16, "torus_2d");
  const topology::Network network(torus);
  for (const auto operation : {CollectiveOperation::broadcast, CollectiveOperation::all_gather}) {
    const std::string of(name(operation));
    EXPECT_EQ(cost(("bidirectional_ring_" + of).c_str(), network, operation).latency_ns(),
              cost(("ring_" + of).c_str(), network, operation).latency_ns());
  }
}

/// A PE's share of a block lies anywhere in its SIP.
TEST(AlgorithmCost, BlocksOfAnAllToAllAreLoadedFromAcrossTheSip) {
  const auto full = machine(4, "fully_connected");
  const topology::Network network(full);
  const auto ns = [](Time time) { return static_cast<double>(time.count()) * 1e-3; };
  const Endpoint near = Endpoint::pe_port({SipId{0}, CubeId{0}, PeId{0}}),
                 far = Endpoint::pe_port({SipId{0}, CubeId{15}, PeId{7}});
  const double across = ns(network.latency(network.route(near, far))) + ns(network.latency(network.route(far, near)));
  ASSERT_GT(across, 100);
  const double load = ns(full.pe.dma.setup) + ns(full.cube.hbm.latency) + across;
  const auto memory = [&](const char* name) {
    return cost(name, network, CollectiveOperation::all_to_all).steps.back().memory_ns;
  };
  EXPECT_NEAR(memory("pairwise_all_to_all"), load, 1e-6);
  EXPECT_NEAR(memory("bruck_all_to_all"), 2 * load, 1e-6) << "stored there, and loaded";
}

TEST(AutomaticChoice, KeepsToItsCandidates) {
  const auto full = machine(4, "fully_connected");
  AlgorithmSpec spec = automatic();
  spec.candidates = {"ring_allreduce", "grid_ring_allreduce"};
  EXPECT_EQ(chosen(full, 4, 64, spec), "grid_ring_allreduce");
  spec.candidates = {"halving_doubling_allreduce"};
  EXPECT_EQ(chosen(full, 4, 64, spec), "halving_doubling_allreduce");
  spec.candidates = {"halving_doubling_allreduce", "ring_all_gather"};
  EXPECT_EQ(chosen(full, 4, 64, spec, CollectiveOperation::all_gather), "ring_all_gather");
  EXPECT_EQ(chosen(full, 4, 64, spec, CollectiveOperation::broadcast), "direct_broadcast") << "none of it is named";
}

/// What a byte more costs where there are many.
double slope(const AlgorithmCost& of) {
  constexpr std::int64_t kMany = std::int64_t{1} << 30;
  const double found = (of.of(2 * kMany) - of.of(kMany)) / kMany;
  EXPECT_NEAR(of.ns_per_byte(), found, 1e-3 * found);
  return found;
}

TEST(AlgorithmCost, StepsThatGoOtherWaysOverOneLinkHoldEachOtherUp) {
  const auto switched = machine(16, "switched"), full = machine(16, "fully_connected");
  const topology::Network on_switch(switched), on_full(full);
  const double rate = static_cast<double>(switched.system.link.payload_rate().count()) * 1e-9;
  const double all = 2 * 15.0 / 16 / rate;
  EXPECT_NEAR(slope(cost("ring_allreduce", on_switch)), all, 1e-3 * all) << "one way in all steps";
  EXPECT_NEAR(slope(cost("halving_doubling_allreduce", on_switch)), all / kShared, 1e-3 * all) << "another in each";
  // Four rows and columns: the last step along a row meets the first one along a column, and on the way back.
  const double at_corners = 2 * (1.0 / 4 + 1.0 / 16) / rate;
  EXPECT_NEAR(slope(cost("grid_ring_allreduce", on_switch)), all + (1 / kShared - 1) * at_corners, 1e-3 * all);
  // Each way has a link of its own: of rows 2 x 3/4, and the first sixteenth along a column meets none of them.
  EXPECT_NEAR(slope(cost("grid_ring_allreduce", on_full)), (2 * 0.75 + 1.0 / 16) / rate, 1e-3 * all);
  // Not where a step is one message of a PE: of 128 PEs below 4 MiB.
  EXPECT_EQ(chosen(switched, 16, 1 << 20), "halving_doubling_allreduce") << "measured: 19.7 us, by a grid 21.9";
  EXPECT_EQ(chosen(switched, 16, 2 << 20), "halving_doubling_allreduce") << "28.2 us, by a grid 29.5";
  EXPECT_EQ(chosen(switched, 16, 16 << 20), "ring_allreduce");
}

TEST(AlgorithmCost, StepsOverLinksOfTheirOwnDoNotWaitForEachOther) {
  using enum CollectiveOperation;
  AlgorithmCost cost{.steps = {{.share = 0.5, .ns_per_byte = 1}, {.share = 0.5, .ns_per_byte = 1}},
                     .lanes = 2,
                     .pes_of_lane = 8,
                     .slot = 1};
  EXPECT_NEAR(cost.of(1 << 20), 1 << 20, 100);
  cost.steps[1].apart = {0};
  EXPECT_NEAR(cost.of(1 << 20), 1 << 19, 100);
  cost.steps.push_back({.share = 0.5, .ns_per_byte = 1, .apart = {1}});  // over those of the first one
  EXPECT_NEAR(cost.of(1 << 20), 1 << 20, 100);

  const auto full = machine(16, "fully_connected"), switched = machine(16, "switched");
  EXPECT_EQ(chosen(full, 16, 2 << 20, automatic(), all_gather), "pat_all_gather")
      << "measured: 11.9 us, of a ring 16.6";
  EXPECT_EQ(chosen(full, 16, 2 << 20, automatic(), reduce_scatter), "pat_reduce_scatter") << "15.8 us, 17.9";
  EXPECT_EQ(chosen(full, 16, 16 << 20), "bidirectional_grid_allreduce") << "53 us, by halving and doubling 104";
  EXPECT_EQ(chosen(full, 16, 4 << 20, automatic(), all_to_all), "pairwise_all_to_all") << "34.5 us, by Bruck's 43.5";
  EXPECT_EQ(chosen(switched, 16, 2 << 20, automatic(), all_gather), "pat_all_gather") << "19.7 us, by Bruck's 21.4";
}

/// A block of sixteen lies on the eight PEs of one cube, in two rows of the mesh.
TEST(AlgorithmCost, OfBlocksFewPesHaveMessages) {
  using enum CollectiveOperation;
  const auto full = machine(16, "fully_connected");
  const topology::Network network(full);
  const AlgorithmCost ring = cost("ring_all_gather", network, all_gather),
                      pat = cost("pat_all_gather", network, all_gather);
  ASSERT_EQ(ring.steps.size(), 1u);
  EXPECT_EQ(ring.steps[0].part, 1.0 / 16);
  EXPECT_EQ(ring.steps[0].lanes, 2);
  ASSERT_EQ(pat.steps.size(), 4u);
  EXPECT_EQ(pat.steps[3].part, 0.5);
  EXPECT_EQ(pat.steps[3].lanes, 2) << "of one block that waits for the last step";
  EXPECT_EQ(pat.steps[3].apart, (std::vector<std::size_t>{0, 1, 2}));
  // Each of the 15 times the first PE waits for its 2 KiB, beside those of another row.
  const double before = ring.of(0), more = ring.of(256 << 10) - before;
  const double rate = static_cast<double>(full.system.link.payload_rate().count()) * 1e-9;
  EXPECT_NEAR(more, (15 * 2 * 2048 + (16384 - 2 * 2048)) / rate + 2048 / 138.0, 1e-6) << "a slice loads them first";
  EXPECT_EQ(cost("ring_allreduce", network).steps[0].part, 1);
}

/// Of 16 ranks' blocks one, two, four and eight move in a step, of which one has moved in each step before.
TEST(AlgorithmCost, BlocksThatHaveComeBeforeDoNotWaitForTheLastStep) {
  using enum CollectiveOperation;
  const AlgorithmCost two{.steps = {{.latency_ns = 1000, .share = 0.5, .ns_per_byte = 1},
                                    {.latency_ns = 1000, .share = 0.5, .ns_per_byte = 1, .fresh = 0.25}},
                          .lanes = 1,
                          .pes_of_lane = 8,
                          .slot = 1e9};
  // 64 ns of the links and 8 of a PE: the last one is through after 56 + 1008; of the other step 48 go before it comes.
  EXPECT_EQ(two.of(128), 56 + 1008 + 1008);
  // 4096 and 512: the last PE comes at 3584 + 1512, the links are free of what goes at once after 4096 + 3072.
  EXPECT_EQ(two.of(8192), 4096 + 3072 + 1024 - 512 + 1512);

  const auto ring = machine(16, "ring_1d");
  const topology::Network network(ring);
  const AlgorithmCost pat = cost("pat_all_gather", network, all_gather);
  ASSERT_EQ(pat.steps.size(), 4u);
  for (std::size_t step = 0; step < 4; ++step) EXPECT_EQ(pat.steps[step].fresh, 1.0 / (1 << step)) << step;
  for (const AlgorithmCost::Step& step : cost("pat_reduce_scatter", network, reduce_scatter).steps)
    EXPECT_EQ(step.fresh, 1);
  EXPECT_EQ(chosen(ring, 16, 512 << 10, automatic(), all_gather), "pat_all_gather") << "13.6 us, by two rings 14.3";
}

/// Behind a switch the two ways of a chain share the ranks' links, at other times but in the middle.
TEST(AlgorithmCost, WaysOfAChainAreAtOneRankAtDifferentTimes) {
  using enum CollectiveOperation;
  const auto switched = machine(16, "switched");
  const topology::Network network(switched);
  const double rate = static_cast<double>(switched.system.link.payload_rate().count()) * 1e-9;
  const AlgorithmCost::Step one = cost("ring_broadcast", network, broadcast).steps.at(0),
                            two = cost("bidirectional_ring_broadcast", network, broadcast).steps.at(0);
  EXPECT_NEAR(one.ns_per_byte * rate, 1, 1e-9);
  EXPECT_NEAR(one.own_ns_per_byte * rate, 1, 1e-9);
  EXPECT_NEAR(two.ns_per_byte * rate, 1 / (1 - (1 - kShared) / 2), 1e-9) << "of two lines that meet the root's is full";
  EXPECT_NEAR(two.own_ns_per_byte * rate, 0.5, 1e-9);
  const AlgorithmCost::Step around = cost("bidirectional_ring_all_gather", network, all_gather).steps.at(0);
  EXPECT_NEAR(around.ns_per_byte * rate, 1 / kShared, 1e-9) << "all ranks send at all times";
  EXPECT_EQ(around.own_ns_per_byte, around.ns_per_byte);
  EXPECT_EQ(chosen(switched, 16, 256 << 10, automatic(), broadcast), "bidirectional_ring_broadcast")
      << "measured: 23.3 us, one way 23.9";
  EXPECT_EQ(chosen(switched, 16, 256 << 10, automatic(), reduce), "bidirectional_ring_reduce") << "22.9 us, 24.0";
  EXPECT_EQ(chosen(switched, 16, 8 << 20, automatic(), broadcast), "ring_broadcast") << "69.2 us, two ways 73.1";
}

/// A rank passes a piece on when it has all of it: a 32nd of a PE's bytes, 2 KiB at least and 16 KiB at most. The root
/// loads as many as a channel has slots at one time.
TEST(AlgorithmCost, OfAChainEachRankAddsThePassageOfAPiece) {
  const auto around = machine(4, "ring_1d");
  const topology::Network network(around);
  const double rate = static_cast<double>(around.system.link.payload_rate().count()) * 1e-9, pes = 128, lanes = 8;
  const AlgorithmCost chain = cost("ring_broadcast", network, CollectiveOperation::broadcast);
  for (const auto& [of_a_pe, piece] :
       {std::pair{1000, 1000}, {5000, 2048}, {65536, 2048}, {65540, 3072}, {200000, 7168}, {1 << 20, 16384}}) {
    const double bytes = pes * of_a_pe;
    EXPECT_NEAR(chain.of(static_cast<std::int64_t>(bytes)),
                chain.latency_ns() + bytes / rate + 2 * piece * lanes / rate + std::min(of_a_pe, 8 * piece) / 138.0, 1)
        << of_a_pe;
  }
}

topology::Topology few_pes(int sips, const std::string& wiring) {
  return topology::load_topology(source_tree::path("topologies/tiny.yaml"),
                                 {"system.sips.count=" + std::to_string(sips), "system.sips.topology=" + wiring});
}

double ns_between(const topology::Network& network, int from, int to) {
  const auto pe = [](int sip) { return Endpoint::pe_port({SipId{sip}, CubeId{0}, PeId{0}}); };
  return static_cast<double>(network.latency(network.route(pe(from), pe(to))).count()) * 1e-3;
}

/// A window of slots is loaded at one time, and the first message is there when all of it is nearly.
double loaded(double window) {
  return window / 150;
}

/// Two PEs with 150 GB/s of HBM and a port of 128 GB/s each.
TEST(AlgorithmCost, OfFewPesTheirMemoryAndTheirPortsBound) {
  using enum CollectiveOperation;
  const auto tiny = few_pes(4, "fully_connected");
  const topology::Network network(tiny);
  const AlgorithmCost ring = cost("bidirectional_ring_allreduce", network),
                      halving = cost("halving_doubling_allreduce", network);
  const double pe = 8.0 / 6 / 150 / 2;  // eight chunks loaded or stored in six steps
  EXPECT_NEAR(ring.steps.at(0).pe_ns_per_byte, pe, 1e-12);
  EXPECT_NEAR(halving.steps.at(0).pe_ns_per_byte, 3.0 / 150 / 2, 1e-12) << "one loaded and sent, one added to";
  EXPECT_NEAR(halving.steps.back().pe_ns_per_byte, 2.0 / 150 / 2, 1e-12) << "one stored, one loaded and sent";
  const double block = cost("ring_all_gather", network, all_gather).steps.at(0).pe_ns_per_byte;
  EXPECT_NEAR(block, 2.0 / 3 / 128, 1e-12) << "a block lies on one PE, which has messages in two of three steps";
  EXPECT_NEAR(cost("bruck_all_gather", network, all_gather).steps.at(0).pe_ns_per_byte, 2.0 / 150, 1e-12);
  EXPECT_NEAR(cost("ring_broadcast", network, broadcast).steps.at(0).pe_ns_per_byte, 1.0 / 128 / 2, 1e-12);
  EXPECT_NEAR(cost("ring_reduce", network, reduce).steps.at(0).pe_ns_per_byte, 2.0 / 150 / 2, 1e-12);

  // A chunk of a PE fills the eight slots of 16 KiB once, or twice: each time credits come back before the next step.
  // Half of the steps add what is loaded meanwhile; and a part ends when all of it is there.
  const double link = ns_between(network, 0, 1), added = 30 + 90, slot = 1.0 / 128 + 1.0 / 512;
  const auto credit = [&](double message) { return 2 * link + 20 + added / 2 + message * slot; };
  for (const int parts : {1, 2, 4}) {
    const std::int64_t bytes = std::int64_t{parts} << 20;
    const double moved = pe * static_cast<double>(bytes) / 4, drained = parts > 1 ? parts * 131072 * slot : 0;
    ASSERT_LT(moved, parts * credit(16384));
    const double last = moved + ring.steps.at(0).latency_ns;
    ASSERT_GT(last, parts * credit(16384));
    EXPECT_NEAR(ring.of(bytes), loaded(131072) + 5 * parts * credit(16384) + drained + last, 1e-3) << parts;
  }
  // Of small slots many parts.
  AlgorithmSpec small;
  small.slot_size = Bytes(1024);
  const std::vector<PeCoordinate> pes{{SipId{0}, {}, {}}, {SipId{1}, {}, {}}, {SipId{2}, {}, {}}, {SipId{3}, {}, {}}};
  const AlgorithmCost in_parts = cost_of(find_collective_algorithm(all_reduce, "ring_allreduce"), 4, pes, false,
                                         way_ns_per_byte(network), small, network);
  EXPECT_NEAR(in_parts.of(1 << 20), loaded(8 * 1024) + 6 * 16 * credit(1024) + 131072 * slot, 1e-3);
}

/// As many bytes of a PE as four times the slots of a channel: three times credits come back while others are under
/// way.
TEST(AlgorithmCost, OfAChainAsMuchAsTheSlotsHoldGoesUntilCreditsAreBack) {
  using enum CollectiveOperation;
  const auto tiny = few_pes(2, "switched");
  const topology::Network network(tiny);
  const AlgorithmCost chain = cost("ring_broadcast", network, broadcast);
  const double slot = 1.0 / 128 + 1.0 / 512, way = ns_between(network, 0, 1), window = 8 * 16384 / 128.0,
               credit = 2 * way + 20 + 16384 * slot;
  ASSERT_GT(credit, window) << "the port of the PE waits";
  EXPECT_NEAR(chain.of(1 << 20), loaded(131072) + 3 * credit + window + chain.steps.at(0).latency_ns, 1e-3);
  const double more = chain.of(4 << 20) - chain.of(2 << 20);
  EXPECT_NEAR(more, 8 * credit, 1e-3) << "measured: 18.02 us";
}

/// Each rank of a chain that reduces adds before it passes on: the vector engine reads two tiles and writes one,
/// through the port of the TCM of 512 GB/s. Below a window of slots a broadcast is the same without that, but for the
/// memory.
TEST(AlgorithmCost, OfAChainThatReducesEachRankAddsAPieceBeforeItPassesItOn) {
  using enum CollectiveOperation;
  const auto ring = few_pes(8, "ring_1d");
  const topology::Network network(ring);
  for (const char* way : {"", "bidirectional_"}) {
    const AlgorithmCost sum = cost((way + std::string("ring_reduce")).c_str(), network, reduce),
                        copies = cost((way + std::string("ring_broadcast")).c_str(), network, broadcast);
    for (const std::int64_t of_a_pe : {64, 4096, 16384}) {
      const double message = static_cast<double>(of_a_pe), folds = 7 * 3 * message / 512;
      const auto moved = [&](const AlgorithmCost& chain) {  // until the last PE's message has passed a link
        const AlgorithmCost::Step& step = chain.steps.at(0);
        return std::max(2 * message * std::max(step.ns_per_byte, step.pe_ns_per_byte),
                        message * chain.slot_ns_per_byte);
      };
      EXPECT_NEAR(sum.of(2 * of_a_pe) - moved(sum), copies.of(2 * of_a_pe) - moved(copies) + folds, 1e-3)
          << way << of_a_pe;
    }
  }
  EXPECT_EQ(chosen(ring, 8, 128 << 10, automatic(), reduce), "direct_reduce") << "9.5 us, around the ring 11.1";
  EXPECT_EQ(chosen(ring, 8, 1 << 20, automatic(), reduce), "ring_reduce") << "17.7 us, directly 26.5";
}

/// In a direct broadcast the root's messages go first, and the last ones of a direct reduce to the root.
TEST(AlgorithmCost, ChainsOfMessagesBeginOrEndAtTheRoot) {
  using enum CollectiveOperation;
  const auto ring = few_pes(8, "ring_1d");
  const topology::Network network(ring);
  double most = 0;
  for (int middle = 1; middle < 8; ++middle) {
    for (int other = 1; other < 8; ++other) {
      if (other != middle) most = std::max(most, ns_between(network, 0, middle) + ns_between(network, middle, other));
    }
  }
  ASSERT_LT(most, 2 * ns_between(network, 0, 4)) << "not twice the longest way";
  for (const auto operation : {broadcast, reduce}) {
    const std::string of(name(operation));
    EXPECT_NEAR(cost(("direct_" + of).c_str(), network, operation).latency_ns(), most + 2 * (3 * 4 + 4), 1e-6);
    EXPECT_EQ(chosen(ring, 8, 8, automatic(), operation), "direct_" + of) << "measured: 6.7 us, around the ring 7.9";
  }
}

/// Of a user's algorithm the step may say less: then as many messages follow each other as it says.
TEST(AlgorithmCost, OfFewerStepsThanTheWayFromTheRootAsManyCount) {
  const auto ring = few_pes(4, "ring_1d");
  const topology::Network network(ring);
  const std::vector<PeCoordinate> pes{{SipId{0}, {}, {}}, {SipId{1}, {}, {}}, {SipId{2}, {}, {}}, {SipId{3}, {}, {}}};
  for (const int latencies : {2, 3, 4}) {
    CollectiveAlgorithm chain = find_collective_algorithm(CollectiveOperation::broadcast, "ring_broadcast");
    chain.steps = [&](const GroupShape&) {
      return std::vector{CostStep{.messages = {{0, 1}, {1, 2}, {2, 3}}, .share = 1, .latencies = latencies}};
    };
    double way = 0;
    for (int from = 0; from < std::min(latencies, 3); ++from) way += ns_between(network, from, from + 1) + 3 * 4 + 4;
    EXPECT_NEAR(cost_of(chain, 4, pes, false, way_ns_per_byte(network), automatic(), network).latency_ns(), way, 1e-6)
        << latencies;
  }
}

/// The port of a PE is a line with messages to the ports of others.
TEST(AlgorithmCost, PortsOfPesAreLines) {
  using enum CollectiveOperation;
  const auto full = few_pes(4, "fully_connected");
  const topology::Network network(full);
  const AlgorithmCost direct = cost("direct_broadcast", network, broadcast);
  ASSERT_EQ(direct.steps.size(), 1u);
  EXPECT_NEAR(direct.steps[0].pe_ns_per_byte, 3 / 0.6825 / 128 / 2, 1e-12) << "the root's, to three ranks";
  EXPECT_NEAR(direct.steps[0].lead_ns_per_byte, 2.0 / 128, 1e-12)
      << "what the last rank passes on to two, when the others are through";
  EXPECT_NEAR(cost("direct_reduce", network, reduce).steps.at(0).lead_ns_per_byte, 2 * (1.0 / 128 + 3.0 / 512), 1e-12)
      << "and folds, when it has all of them";
  // Two of four ranks have their blocks on one PE: a line meets one other line.
  EXPECT_NEAR(cost("direct_all_gather", network, all_gather).steps.at(0).pe_ns_per_byte,
              3.0 / (1 - (1 - 0.6825) / 2) / 128, 1e-12);
  EXPECT_NEAR(cost("direct_reduce_scatter", network, reduce_scatter).steps.at(0).pe_ns_per_byte,
              3 / (1 - (1 - kShared) * 2 / 3) / 128, 1e-12)
      << "a PE has blocks of two ranks: its line is full to two thirds";
  EXPECT_NEAR(cost("ring_broadcast", network, broadcast).steps.at(0).pe_ns_per_byte, 1.0 / 128 / 2, 1e-12);
}

/// Of two windows of a PE three halves are sent when the results of the one before are on their way.
TEST(AlgorithmCost, ADirectAllReduceFoldsHalfAWindowBeforeItSendsTheNext) {
  const auto full = few_pes(4, "fully_connected");
  const topology::Network network(full);
  const AlgorithmCost direct = cost("direct_allreduce", network);
  const double port = 3 / 0.6825 / 128 / 2 * (512 << 10);
  EXPECT_NEAR(direct.of(2 << 20), loaded(131072) + 2 * port + 4 * direct.steps.at(1).latency_ns, 1e-3);
}

/// The IO CPU of the SIP starts ranks one after the other, 200 ns each, and takes their ends so. A chain goes on
/// meanwhile; each further launch of all pairs waits for all of it.
TEST(AutomaticChoice, RanksThatArePesOfOneSipBeginAndEndOneAfterTheOther) {
  using enum CollectiveOperation;
  const auto shipped = machine(2, "ring_1d");
  const topology::Network network(shipped);
  const AlgorithmSpec spec = automatic();
  const auto choice = [&](int ranks, CollectiveOperation operation) {
    return AutomaticChoice(operation, {ranks, true, spec, shipped}, all(ranks), network);
  };
  const auto cost = [](const AutomaticChoice& of, std::string_view name) {
    return *std::ranges::find(of.costs(), name, [](const AlgorithmCost& each) { return each.algorithm->name; });
  };
  for (const auto operation : {broadcast, reduce}) {
    const AutomaticChoice eight = choice(8, operation);
    const std::string of(name(operation));
    EXPECT_EQ(cost(eight, "ring_" + of).one_by_one_ns, 7 * 200);
    EXPECT_EQ(cost(eight, "direct_" + of).one_by_one_ns, 0);
    for (const std::int64_t bytes : {8, 4096, 32768}) EXPECT_EQ(eight.of(bytes).name, "ring_" + of) << bytes;
  }
  const auto rounds_of = [&](int ranks) { return cost(choice(ranks, all_to_all), "pairwise_all_to_all").rounds_ns; };
  const double rate = static_cast<double>(shipped.host.link.payload_rate().count()) * 1e-9;
  EXPECT_NEAR(rounds_of(16) - rounds_of(12), 2 * 4 * 200 + 64 * 2 * (16 * 15 - 12 * 11) / rate, 1e-6);
  EXPECT_EQ(choice(16, all_to_all).of(1 << 19).name, "bruck_all_to_all") << "measured: 24.4 us, by pairs 32.3";
  EXPECT_EQ(choice(8, all_to_all).of(1 << 18).name, "pairwise_all_to_all") << "11.6 us, by Bruck's 13.0";
}

/// So that the slots of a channel keep a PE's part of the links busy until credits are back.
TEST(PiecesOfAChain, AreLongWhereFewPesShareTheLinks) {
  const auto shipped = machine(4, "switched"), tiny = few_pes(4, "ring_1d"), behind_a_switch = few_pes(4, "switched");
  const auto piece = [](const topology::Topology& of, std::int64_t slots, bool rank_per_pe = false,
                        bool of_one_sip = false) {
    return least_piece({.rank_per_pe = rank_per_pe, .of_one_sip = of_one_sip, .window = slots}, of);
  };
  EXPECT_EQ(piece(shipped, 8), 2048) << "128 PEs";
  EXPECT_EQ(piece(tiny, 8), 16 << 10) << "128 GB/s for 1 us are 125 KiB";
  EXPECT_EQ(piece(tiny, 64), 2048);
  EXPECT_EQ(piece(tiny, 1), 125 << 10);
  EXPECT_EQ(piece(behind_a_switch, 8), 32 << 10) << "two links each way";
  EXPECT_EQ(piece(shipped, 8, true), 49 << 10) << "a PE alone on 200 GB/s for 2 us";
  EXPECT_EQ(piece(shipped, 8, true, true), 2048);
  EXPECT_EQ(piece_of(1 << 20, 2048, 16 << 10), 16 << 10);
  EXPECT_EQ(piece_of(65540, 2048, 16 << 10), 3 << 10);
  EXPECT_EQ(piece_of(65540, 8 << 10, 16 << 10), 8 << 10);
  EXPECT_EQ(piece_of(65540, 32 << 10, 16 << 10), 16 << 10) << "a slot at most";
}

TEST(AlgorithmCost, LevelsOfATreeThatOneTileGoesThroughAreSteps) {
  for (const auto& [wiring, bytes, name] :
       {std::tuple{"ring_1d", 128 << 10, "double_tree_allreduce"}, std::tuple{"ring_1d", 512 << 10, "ring_allreduce"},
        std::tuple{"fully_connected", 256 << 10, "halving_doubling_allreduce"}})
    EXPECT_EQ(chosen(machine(16, wiring), 16, bytes), name) << wiring << ", " << bytes;
}

TEST(AutomaticChoice, SaysWhyItChose) {
  const auto full = machine(4, "fully_connected");
  const topology::Network network(full);
  AlgorithmSpec spec = automatic();
  const auto reason = [&] {
    const AutomaticChoice choice(CollectiveOperation::all_reduce, {4, false, spec, full}, all(4), network);
    return choice.reason(1024, choice.of(1024));
  };
  EXPECT_EQ(reason(), "least cost");
  spec.candidates = {"ring_allreduce", "grid_ring_allreduce"};
  EXPECT_EQ(reason(), "least cost");
  spec.candidates = {"ring_allreduce"};
  EXPECT_EQ(reason(), "only candidate");
}

TEST(AutomaticChoice, SaysOfAnAlgorithmInPlaceOfTheMeasuredOneThatItsCostIsLeast) {
  const auto full = machine(4, "fully_connected");
  const topology::Network network(full);
  AlgorithmSpec spec = automatic();
  spec.tuning = std::make_shared<const Tuning>("all_reduce: {4_sips: {0B: grid_ring_allreduce}}", "tuned.yaml",
                                               *shipped_algorithms());
  const AutomaticChoice choice(CollectiveOperation::all_reduce, {4, false, spec, full}, all(4), network);
  const CollectiveAlgorithm& measured = choice.of(1024);
  EXPECT_EQ(measured.name, "grid_ring_allreduce");
  EXPECT_EQ(choice.reason(1024, measured), "best by measurement in tuned.yaml");
  const auto* other = choice.of(1024, [&](const CollectiveAlgorithm& each) { return &each != &measured; });
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(choice.reason(1024, *other), "least cost");
}

TEST(AutomaticChoice, OfRanksThatArePesGoesByTheRoutesBetweenThem) {
  const auto one = machine(2, "ring_1d");
  const topology::Network network(one);
  const AlgorithmSpec spec = automatic();
  const AutomaticChoice choice(CollectiveOperation::all_reduce, {8, true, spec, one}, all(8), network);
  ASSERT_FALSE(choice.costs().empty());
  for (const AlgorithmCost& each : choice.costs()) {
    EXPECT_GT(each.latency_ns(), 0) << each.algorithm->name;
    EXPECT_LT(each.latency_ns(), 2000) << each.algorithm->name << ": no link between SIPs is on the way";
    EXPECT_GT(each.ns_per_byte(), 0) << each.algorithm->name;
  }
}

/// An all-reduce of each size, twice: what its programs are called, and what the second one takes.
struct Used {
  std::map<std::int64_t, std::string> algorithm;
  std::map<std::int64_t, double> us;
};

Used use(const std::string& algorithm, const SimulateOptions& options, int ranks,
         const std::vector<std::int64_t>& sizes) {
  const auto result = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    for (const std::int64_t elements : sizes) {
      auto x = torch::full({elements}, rank + 1, torch::dtype(torch::kFloat).device("ahbm"));
      dist::barrier();
      torch::ahbm::synchronize();
      for (int time = 0; time < 2; ++time) {
        if (time == 1) x.fill_(rank + 1);
        torch::ahbm::synchronize();
        dist::all_reduce(x);
        torch::ahbm::synchronize();
        if (options.data) {
          EXPECT_EQ(x.sum().item<float>(), static_cast<float>(elements * ranks * (ranks + 1) / 2));
        }
      }
    }
  });
  EXPECT_THAT(result.errors, Each(IsEmpty()));
  Used used;
  std::size_t seen = 0;
  for (const LaunchResult& launch : result.run.launches) {
    if (launch.device != 0 || launch.kernel.find("allreduce") == std::string::npos) continue;
    const std::int64_t elements = sizes.at(seen++ / 2);
    used.algorithm[elements] = launch.kernel;
    used.us[elements] = static_cast<double>((launch.end - launch.start).count()) * 1e-6;
  }
  return used;
}

TEST(AutomaticChoice, IsMadeForEachCallOfAGroup) {
  const Used used = use("auto", machine_of(4), 4, {64, 1 << 20, 64});
  EXPECT_EQ(used.algorithm.at(64), "direct_allreduce");
  EXPECT_EQ(used.algorithm.at(1 << 20), "ring_allreduce") << "both ways no faster: slots wait for their credits";
}

TEST(AutomaticChoice, TakesNoLongerThanTheSameAlgorithmByName) {
  NOT_UNDER_SANITIZERS("long");
  const Used automatic = use("auto", shipped(4, "fully_connected"), 4, {256, 1 << 18});
  const Used direct = use("direct_allreduce", shipped(4, "fully_connected"), 4, {256, 1 << 18});
  for (const auto& [elements, us] : automatic.us) {
    EXPECT_EQ(automatic.algorithm.at(elements), "direct_allreduce");
    EXPECT_LE(us, 1.001 * direct.us.at(elements)) << elements;
  }
}

/// Milliseconds of an all-reduce of so many bytes over ranks that are PEs, of the one that is through last.
double time_on_pes(const SimulateOptions& options, int ranks, const char* algorithm, std::int64_t bytes) {
  double most = 0;
  const auto result = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    const auto x = torch::empty({bytes / 4}, torch::dtype(torch::kFloat).device("ahbm"));
    dist::barrier();  // the channels are there
    torch::ahbm::synchronize();
    dist::monitored_barrier();
    torch::ahbm::Event begin, end;
    begin.record();
    dist::all_reduce(x);
    end.record();
    end.synchronize();
    most = std::max(most, begin.elapsed_time(end));
  });
  EXPECT_THAT(result.errors, Each(IsEmpty()));
  return most;
}

TEST(AutomaticChoice, OfFewPesIsNearTheBestBetweenAWindowOfSlotsAndTwo) {
  using enum CollectiveOperation;
  const auto choice = [](int sips, const char* wiring, CollectiveOperation operation, std::int64_t bytes) {
    return chosen(few_pes(sips, wiring), sips, bytes, automatic(), operation);
  };
  EXPECT_EQ(choice(4, "switched", broadcast, 256 << 10), "direct_broadcast") << "9.0 us, around the ring 9.8";
  EXPECT_EQ(choice(4, "torus_2d", broadcast, 1 << 20), "direct_broadcast") << "14.3 us, around the ring 15.7";
  EXPECT_EQ(choice(8, "ring_1d", reduce, 256 << 10), "direct_reduce") << "11.2 us, around the ring 12.4";
  EXPECT_EQ(choice(8, "torus_2d", reduce, 2 << 20), "ring_reduce") << "29.3 us, directly 36.7";
  EXPECT_EQ(choice(4, "switched", all_gather, 512 << 10), "direct_all_gather") << "9.2 us, around the ring 10.4";
  EXPECT_EQ(choice(8, "switched", all_gather, 1 << 20), "direct_all_gather") << "15.2 us, around the ring 17.4";
  EXPECT_EQ(choice(8, "fully_connected", all_gather, 512 << 10), "direct_all_gather") << "9.5 us, along trees 11.2";
  EXPECT_EQ(choice(4, "fully_connected", reduce_scatter, 256 << 10), "direct_reduce_scatter") << "7.5 us, 7.8";
  EXPECT_EQ(choice(4, "fully_connected", reduce_scatter, 2 << 20), "direct_reduce_scatter") << "19.6 us, 21.5";
  EXPECT_EQ(choice(8, "torus_2d", all_reduce, 512 << 10), "direct_allreduce") << "12.8 us, along the grid 13.8";
}

/// Four blocks are on two PEs, and a block fills the slots of a channel `windows` times. The PE of the first rank sends
/// its own block, and one that comes around, as soon as credits are back; from there they go on from rank to rank.
TEST(AlgorithmCost, OfBlocksAPeHasItsTurnsFirst) {
  using enum CollectiveOperation;
  const auto switched = few_pes(4, "switched");
  const topology::Network network(switched);
  const AlgorithmCost ring = cost("ring_all_gather", network, all_gather);
  const double slot = 1.0 / 128 + 1.0 / 512, way = ns_between(network, 0, 1) + 3 * 4 + 4,
               credit = 2 * ns_between(network, 0, 1) + 20 + 16384 * slot, passage = way + 16384 * slot,
               all_there = 131072 * slot;
  EXPECT_NEAR(ring.of(512 << 10), loaded(131072) + 2 * credit + passage, 1e-3);
  ASSERT_GT(3 * passage + all_there, 2 * credit);
  for (const int windows : {2, 4}) {
    EXPECT_NEAR(ring.of((windows * 512) << 10),
                ring.of(512 << 10) + (windows - 1) * (3 * passage + all_there) + all_there, 1e-3)
        << windows;
  }
  // Of 64 KiB for each rank a step of PAT has two blocks, and so fills the slots.
  const AlgorithmCost pat = cost("pat_all_gather", network, all_gather);
  EXPECT_NEAR(pat.of(512 << 10), pat.of(256 << 10) + 2 * passage + 2 * all_there, 1e-3);
}

/// Microseconds of a collective on ranks that are SIPs, of the one that is through last.
double time_on_sips(const SimulateOptions& options, int ranks, const char* algorithm, std::int64_t bytes,
                    const std::function<void(const torch::Tensor&)>& collective) {
  double most = 0;
  const auto result = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    const auto x = torch::empty({bytes / 4}, torch::dtype(torch::kFloat).device("ahbm"));
    dist::barrier();  // the channels are there
    torch::ahbm::synchronize();
    dist::monitored_barrier();
    torch::ahbm::Event begin, end;
    begin.record();
    collective(x);
    end.record();
    end.synchronize();
    most = std::max(most, begin.elapsed_time(end) * 1e3);
  });
  EXPECT_THAT(result.errors, Each(IsEmpty()));
  return most;
}

/// Eight lanes that all begin with the messages to one child would all go over to the other one at one time.
TEST(DoubleTreeAllreduce, SendsToBothChildrenAtOneTime) {
  SimulateOptions options = shipped(4, "fully_connected");
  options.overrides.emplace_back("sip.cubes.mesh=[2, 4]");
  const auto us = [&](std::int64_t bytes) {
    return time_on_sips(options, 4, "double_tree_allreduce", bytes,
                        [](const torch::Tensor& x) { dist::all_reduce(x); });
  };
  const double service = (128 << 10) / 188e3;
  EXPECT_LT(us(128 << 10) - us(8 << 10), 2 * service);
}

/// Half of the ranks have none of the four blocks that are on a PE; if all of these began with the first one, the ports
/// of the ranks would be in use one after the other.
TEST(DirectReduceScatter, BeginsWithOtherRanksOnEachRank) {
  SimulateOptions options = machine_of(8);
  options.data = false;
  options.overrides.emplace_back("system.sips.topology=switched");
  const auto us = [&](std::int64_t bytes) {
    return time_on_sips(options, 8, "direct_reduce_scatter", bytes, [&](const torch::Tensor& x) {
      dist::reduce_scatter_tensor(torch::empty({bytes / 4 / 8}, torch::dtype(torch::kFloat).device("ahbm")), x);
    });
  };
  const double port = 7 * (128 << 10) / 128e3;
  EXPECT_LT(us(1 << 20) - us(1 << 10), 2 * port);
}

/// A ring of all PEs has the fewest bytes on the links between SIPs, levels have the fewest steps.
TEST(AutomaticChoice, LevelsGiveWayToARingOfAllPesWithinASizeStepOfTheFormula) {
  NOT_UNDER_SANITIZERS("times only");
  const int sips = takes_all_cases() ? 16 : 4, ranks = 8 * sips;
  const std::int64_t step = takes_all_cases() ? 2 : 4;  // of few SIPs both take the same time longer
  SimulateOptions options = shipped(sips, "ring_1d");
  options.overrides.emplace_back("sip.cubes.mesh=[1, 1]");
  const auto topology = topology::load_topology(source_tree::path("topologies/ahbm-2sip.yaml"), options.overrides);
  const topology::Network network(topology);
  const AlgorithmSpec spec = automatic();
  const AutomaticChoice choice(CollectiveOperation::all_reduce, {ranks, true, spec, topology}, all(ranks), network);
  const auto cost = [&](std::string_view name, std::int64_t bytes) {
    return std::ranges::find(choice.costs(), name, [](const AlgorithmCost& each) { return each.algorithm->name; })
        ->of(bytes);
  };
  std::int64_t first = 1024;  // power of two at which the formula has the ring of all take less
  while (cost("ring_allreduce", first) > cost("hierarchical_allreduce", first)) first *= 2;
  EXPECT_GT(first, 64 * 1024);
  EXPECT_LT(first, 16 << 20);
  EXPECT_LT(time_on_pes(options, ranks, "hierarchical_allreduce", first / step),
            time_on_pes(options, ranks, "ring_allreduce", first / step));
  if (!takes_all_cases()) return;
  EXPECT_LT(time_on_pes(options, ranks, "ring_allreduce", first * step),
            time_on_pes(options, ranks, "hierarchical_allreduce", first * step));
}

TEST(AutomaticChoice, IsNearTheBestOnShippedMachines) {
  NOT_UNDER_SANITIZERS("32 sweeps of times only");
  if (!takes_all_cases()) GTEST_SKIP() << "half a minute: make test-full";
  std::vector<std::int64_t> all_sizes{256, 8 * 1024, 1 << 16};
  for (const char* wiring : {"ring_1d", "torus_2d", "fully_connected", "switched"}) {
    const Used automatic = use("auto", shipped(4, wiring), 4, all_sizes);
    std::map<std::int64_t, double> best;
    for (const char* name : {"ring_allreduce", "direct_allreduce", "grid_ring_allreduce", "halving_doubling_allreduce",
                             "double_tree_allreduce", "bidirectional_ring_allreduce", "bidirectional_grid_allreduce"}) {
      for (const auto& [elements, us] : use(name, shipped(4, wiring), 4, all_sizes).us) {
        const auto known = best.try_emplace(elements, us).first;
        known->second = std::min(known->second, us);
      }
    }
    for (const auto& [elements, us] : automatic.us)
      EXPECT_LE(us, 1.05 * best.at(elements)) << wiring << ", " << elements << ": " << automatic.algorithm.at(elements);
    all_sizes.back() /= 2;  // perf/collectives measures all sizes
  }
}

}  // namespace
}  // namespace kernbench::testing
