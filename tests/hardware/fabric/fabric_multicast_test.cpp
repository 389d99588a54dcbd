// Multicasts: trees of stages, whose forks hand a burst to several servers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "fabric_scenario.h"
#include "hardware/fabric/tree.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::hardware::testing {
namespace {

/// Both modes, which must agree.
Outcome multicast_outcome(const Scenario& scenario, const std::string& name = {}) {
  std::vector<Time> sample_at;
  for (int i = 0; i < 8; ++i) sample_at.push_back(ps(37 * i + 5));
  const Outcome exact = simulate(scenario, {.exact = true, .sample_at = sample_at});
  const Outcome fast = simulate(scenario, {.exact = false, .sample_at = sample_at});
  const Outcome reversed = simulate(scenario, {.exact = false, .reversed_order = true, .sample_at = sample_at});
  EXPECT_EQ(fast.times, exact.times) << name;
  EXPECT_EQ(fast.received, exact.received) << name;
  EXPECT_EQ(fast.counters, exact.counters) << name;
  EXPECT_EQ(fast.samples, exact.samples) << name;
  EXPECT_EQ(fast.logs, exact.logs) << name;
  EXPECT_EQ(reversed.received, exact.received) << name;
  EXPECT_EQ(reversed.times, exact.times) << name;
  EXPECT_TRUE(exact.idle && fast.idle) << name;
  EXPECT_EQ(exact.in_flight + fast.in_flight, 0u) << name;
  return fast;
}

/// A leads to slow B and fast C.
Scenario slow_and_fast_branch(std::int64_t buffer) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5), buffer));  // A: 10 ps a burst
  scenario.add(server_spec(per_byte(10), ps(5), 40));     // B: 100 ps
  scenario.add(server_spec(per_byte(1), ps(5), 40));      // C: 10 ps
  return scenario;
}

TEST(FabricMulticast, BurstsForkAndEachBranchGoesOnAsItCan) {
  Scenario scenario = slow_and_fast_branch(40);
  scenario.multicast({{stage(0), stage(1)}, {stage(0), stage(2)}}, 20, 10);
  const Outcome outcome = multicast_outcome(scenario);
  // A starts the bursts at 0 and 10. B serves them from 5 to 105 and to 205, C from 5 and 15, each 10 ps.
  EXPECT_EQ(outcome.times[0].departed, ps(20 + 5));
  EXPECT_EQ(outcome.received[0], (std::vector<Time>{ps(205 + 5), ps(25 + 5)}));
  // Each server moves each byte once.
  for (const ServerCounters& counters : outcome.counters) EXPECT_EQ(counters.bytes, Bytes(20));
}

TEST(FabricMulticast, TheNextBurstBecomesTheHeadWhenTheLastBranchHasStarted) {
  Scenario scenario = slow_and_fast_branch(40);
  scenario.multicast({{stage(0), stage(1)}, {stage(0), stage(2)}}, 30, 10);
  const Outcome outcome = multicast_outcome(scenario);
  // The third burst is there at 25, but B starts the second one at 105.
  EXPECT_EQ(outcome.received[0], (std::vector<Time>{ps(305 + 5), ps(115 + 5)}));
}

TEST(FabricMulticast, TheSlotBeforeAForkIsFreeWhenTheLastBranchHasLeft) {
  Scenario scenario = slow_and_fast_branch(10);  // one burst behind A
  scenario.multicast({{stage(0), stage(1)}, {stage(0), stage(2)}}, 20, 10);
  const Outcome outcome = multicast_outcome(scenario);
  // B has the first burst by 105, its room is home 5 ps later: A starts the second one at 110.
  EXPECT_EQ(outcome.times[0].departed, ps(120 + 5));
  EXPECT_EQ(outcome.received[0], (std::vector<Time>{ps(215 + 5), ps(125 + 5)}));
}

TEST(FabricMulticast, ABranchWaitsForItsOwnBufferOnly) {
  Scenario scenario = slow_and_fast_branch(80);
  scenario.add(server_spec(per_byte(100), ps(5), 40));  // D behind B: 1000 ps a burst, B's buffer holds 4
  scenario.multicast({{stage(0), stage(1), stage(3)}, {stage(0), stage(2)}}, 10, 10);
  scenario.send({stage(0), stage(2)}, 10, 10, ps(1));
  const Outcome outcome = multicast_outcome(scenario);
  EXPECT_EQ(outcome.received[0], (std::vector<Time>{ps(1010 + 5), ps(15 + 5)}));
  EXPECT_EQ(outcome.times[1].delivered, ps(15 + 10 + 5));  // A starts it at 10, and C at 15
}

TEST(FabricMulticast, SharesServersWithOthersByTurns) {
  Scenario scenario;
  for (int i = 0; i < 3; ++i) scenario.add(server_spec(per_byte(1), ps(5), 100));
  scenario.multicast({{stage(0), stage(1)}, {stage(0), stage(2)}}, 40, 10);
  scenario.send({stage(2)}, 40, 10);
  const Outcome outcome = multicast_outcome(scenario);
  // Link 2 serves the other one's bursts at 0, 20, 40 and 60 and this one's at 10, 30, 50 and 70, so that the fork
  // keeps burst k + 1 from link 1 until burst k has begun on link 2.
  EXPECT_EQ(outcome.times[1].delivered, ps(70 + 5));
  EXPECT_EQ(outcome.received[0], (std::vector<Time>{ps(60 + 5), ps(80 + 5)}));
}

/// Memory, a tree of links below it, and ports behind each link. By link: the way from the memory.
struct RandomTree {
  Scenario scenario;
  std::vector<std::vector<Stage>> ways;
  std::vector<std::uint32_t> ports;
  std::uint16_t channels = 0;
  std::uint32_t side = 0;
};

RandomTree random_tree(std::mt19937_64& random, std::int64_t most_buffer) {
  RandomTree tree;
  const auto add = [&](std::int64_t most_latency) {
    return tree.scenario.add(
        server_spec(per_byte(pick(random, 1, 4)), ps(pick(random, 1, most_latency)), pick(random, 4, most_buffer)));
  };
  tree.channels = static_cast<std::uint16_t>(pick(random, 2, 4));
  for (std::uint16_t i = 0; i < tree.channels; ++i) {
    tree.scenario.add(server_spec(per_byte(2), ps(pick(random, 1, 30)), pick(random, 4, 64), Bytes(2)));
  }
  tree.ways.push_back({stage(0, tree.channels)});
  tree.ports.push_back(add(4));  // directly behind the memory
  for (std::int64_t links = pick(random, 2, 8); links > 0; --links) {
    std::vector<Stage> way = tree.ways[static_cast<std::size_t>(pick(random, 0, std::ssize(tree.ways) - 1))];
    way.push_back(stage(add(20)));
    tree.ways.push_back(std::move(way));
    tree.ports.push_back(add(4));
  }
  tree.side = add(9);
  return tree;
}

std::vector<Stage> path_to(const RandomTree& tree, std::size_t place) {
  std::vector<Stage> path = tree.ways[place];
  path.push_back(stage(tree.ports[place]));
  return path;
}

/// Different places, in random order.
std::vector<std::size_t> random_places(const RandomTree& tree, std::mt19937_64& random) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tree.ways.size(); ++i) places.push_back(i);
  std::ranges::shuffle(places, random);
  places.resize(static_cast<std::size_t>(pick(random, 1, std::ssize(places))));
  return places;
}

void set_ranges(PlannedRequest& request, std::mt19937_64& random) {
  request.granule = Bytes(pick(random, 2, 5));
  request.burst = request.granule * pick(random, 1, 4);
  request.ranges = {{static_cast<std::uint64_t>(pick(random, 0, 64)), pick(random, 1, 6), Bytes(pick(random, 1, 12)),
                     pick(random, 12, 20)}};
}

std::int64_t bytes_of_request(const PlannedRequest& request) {
  return request.ranges.front().total().count();
}

TEST(FabricMulticast, AloneEachReceiverHasAllWhenAUnicastWouldHave) {
  std::mt19937_64 random(91);
  for (int round = 0; round < 300; ++round) {
    RandomTree tree = random_tree(random, 64);
    for (ServerSpec& spec : tree.scenario.servers) spec.buffer = Bytes(4096);  // enough for all
    const std::vector<std::size_t> places = random_places(tree, random);
    std::vector<std::vector<Stage>> paths;
    for (const std::size_t place : places) paths.push_back(path_to(tree, place));
    tree.scenario.multicast(paths, 0, 1, ps(17));
    PlannedRequest& request = tree.scenario.transfers[0].request;
    request.ranges.clear();
    set_ranges(request, random);
    // Equal rates, so that no branch holds up another one's head.
    for (ServerSpec& spec : tree.scenario.servers) spec.bandwidth = per_byte(3);
    const Outcome outcome = multicast_outcome(tree.scenario, std::to_string(round));
    for (std::size_t i = 0; i < paths.size(); ++i) {
      TransferRequest alone = request.view();
      alone.route = paths[i];
      const TransferTimes times = uncontended(tree.scenario.servers, alone, ps(17));
      ASSERT_EQ(outcome.received[0][i], times.delivered) << "round " << round << " receiver " << i;
      ASSERT_EQ(outcome.times[0].departed, times.departed) << "round " << round;
    }
    // Each server of the tree once, however many receivers are behind it.
    std::map<std::uint32_t, bool> used;
    for (const auto& path : paths) {
      for (std::size_t i = 1; i < path.size(); ++i) used[path[i].server.value] = true;
    }
    for (std::uint32_t server = tree.channels; server < tree.scenario.servers.size(); ++server) {
      ASSERT_EQ(outcome.counters[server].bytes, Bytes(used.contains(server) ? bytes_of_request(request) : 0));
    }
  }
}

/// Multicasts and unicasts from the memory and from the side, in turn and at once.
RandomTree random_mixture(std::mt19937_64& random, std::int64_t most_buffer, std::int64_t spread) {
  RandomTree tree = random_tree(random, most_buffer);
  for (std::int64_t count = pick(random, 2, 12); count > 0; --count) {
    const Time start = ps(pick(random, 0, spread));
    std::vector<std::vector<Stage>> paths;
    for (const std::size_t place : random_places(tree, random)) paths.push_back(path_to(tree, place));
    const std::int64_t kind = pick(random, 0, 3);
    std::size_t index = 0;
    if (kind == 0) {
      index = tree.scenario.send(paths.front(), 1, 1, start);
    } else if (kind == 1) {
      paths.front().front() = stage(tree.side);
      index = tree.scenario.send(paths.front(), 1, 1, start);
    } else {
      index = tree.scenario.multicast(std::move(paths), 1, 1, start);
    }
    PlannedTransfer& planned = tree.scenario.transfers[index];
    planned.request.agent.value = static_cast<std::uint32_t>(2000 + pick(random, 0, 3));
    planned.request.operation = index;
    set_ranges(planned.request, random);
    if (index == 0 || pick(random, 0, 2) > 0) continue;
    planned.after = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(index) - 1));
    planned.start = ps(pick(random, 1, 12));
  }
  return tree;
}

TEST(FabricMulticast, ExactAndFastRunsAgreeOnRandomMixtures) {
  std::mt19937_64 random(92);
  for (int round = 0; round < (kSanitized ? 300 : 3000); ++round) {
    const RandomTree tree = random_mixture(random, round % 2 == 0 ? 20 : 200, round % 3 == 0 ? 20 : 250);
    const Outcome outcome = multicast_outcome(tree.scenario, std::to_string(round));
    if (HasFailure()) FAIL() << "round " << round;
    // What a receiver gets has left its port.
    std::map<std::uint32_t, std::int64_t> expected;
    for (const PlannedTransfer& planned : tree.scenario.transfers) {
      std::map<std::uint32_t, bool> used;
      for (const Stage& at : planned.request.route) used[at.server.value] = true;
      for (const auto& path : planned.request.paths) {
        for (const Stage& at : path) used[at.server.value] = true;
      }
      for (const auto& [server, yes] : used) expected[server] += bytes_of_request(planned.request);
    }
    for (std::uint32_t server = tree.channels; server < tree.scenario.servers.size(); ++server) {
      ASSERT_EQ(outcome.counters[server].bytes, Bytes(expected[server])) << "round " << round;
    }
  }
}

TEST(FabricMulticast, ToOneReceiverIsAUnicastWhateverIsBesideIt) {
  std::mt19937_64 random(93);
  for (int round = 0; round < number_of_cases(500, 500, 100); ++round) {
    RandomTree tree = random_mixture(random, 40, 200);
    for (PlannedTransfer& planned : tree.scenario.transfers) {
      if (!planned.request.paths.empty()) planned.request.paths.resize(1);
    }
    Scenario unicasts = tree.scenario;
    for (PlannedTransfer& planned : unicasts.transfers) {
      if (planned.request.paths.empty()) continue;
      planned.request.route = planned.request.paths.front();
      planned.request.paths.clear();
    }
    // One thing differs: who comes first where a delivery starts something, since receivers have names of their own.
    for (Scenario* each : {&tree.scenario, &unicasts}) {
      for (PlannedTransfer& planned : each->transfers) planned.after.reset();
    }
    ASSERT_EQ(multicast_outcome(tree.scenario).times, multicast_outcome(unicasts).times) << "round " << round;
  }
}

TEST(FabricMulticast, ATreeHasEachStageOfItsPathsOnce) {
  const std::vector<std::vector<Stage>> paths{{stage(9), stage(1), stage(2), stage(3)},
                                              {stage(9), stage(4)},
                                              {stage(9), stage(1), stage(5)},
                                              {stage(9), stage(1), stage(2), stage(6)}};
  const Tree tree = tree_of_paths(paths);
  std::vector<std::uint32_t> servers;
  for (const Stage& at : tree.stages) servers.push_back(at.server.value);
  EXPECT_EQ(servers, (std::vector<std::uint32_t>{9, 1, 2, 3, 6, 5, 4}));
  EXPECT_EQ(tree.paths[3], (std::vector<std::uint16_t>{0, 1, 2, 4}));
  EXPECT_EQ(tree.places[1].next_branch, 6);
  EXPECT_EQ(tree.places[2].next_branch, 5);
  EXPECT_EQ(tree.places[3].next_branch, 4);
  EXPECT_EQ(tree.places[4].next_branch, 0);
  EXPECT_EQ(tree.places[6].receiver, 1);
}

}  // namespace
}  // namespace kernbench::hardware::testing
