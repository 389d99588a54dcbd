// Bursts that nothing can overtake run on ahead of time; whoever comes from another side finds everything as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fabric_scenario.h"
#include "support/sanitizers.h"

namespace kernbench::hardware::testing {
namespace {

struct Shape {
  std::int64_t most_buffer = 0;  // bytes
  std::int64_t spread = 0;       // ps, in which transfers begin
};

/// A memory or a link from which links lead to everywhere, a tree: what begins at its root comes to each link from one
/// side. A few transfers begin within the tree or beside it, and end in it.
Scenario tree_with_sides(std::mt19937_64& random, const Shape& shape) {
  Scenario scenario;
  const auto add_link = [&](std::int64_t most_latency) {
    return scenario.add(server_spec(per_byte(pick(random, 1, 4)), ps(pick(random, 1, most_latency)),
                                    pick(random, 1, shape.most_buffer)));
  };
  const auto memory = static_cast<std::uint16_t>(pick(random, 0, 1) == 0 ? 0 : pick(random, 2, 4));
  for (std::uint16_t i = 0; i < memory; ++i) {
    scenario.add(server_spec(per_byte(2), ps(pick(random, 1, 30)), pick(random, 4, 64), Bytes(2)));
  }
  const std::uint32_t root = add_link(9);
  std::vector<std::uint32_t> before{root};  // by link, the one that leads there
  for (std::int64_t links = pick(random, 2, 9); links > 0; --links) {
    before.push_back(root + static_cast<std::uint32_t>(pick(random, 0, static_cast<std::int64_t>(before.size()) - 1)));
    add_link(20);
  }
  const std::uint32_t side = add_link(9);
  const auto last = static_cast<std::int64_t>(before.size()) - 1;
  const bool two_classes = pick(random, 0, 2) == 0;
  for (std::int64_t count = pick(random, 2, 14); count > 0; --count) {
    std::vector<Stage> route;
    const auto from = static_cast<std::uint32_t>(pick(random, 0, 4) == 0 ? pick(random, 0, last) : 0);
    std::uint32_t at = root + static_cast<std::uint32_t>(pick(random, 0, last));
    for (; at != root && at != root + from; at = before[at - root]) route.insert(route.begin(), stage(at));
    route.insert(route.begin(), stage(at));
    if (pick(random, 0, 5) == 0) {
      route.insert(route.begin(), stage(side));
    } else if (at == root && memory > 0) {
      route.insert(route.begin(), stage(0, memory));
    }
    if (two_classes && pick(random, 0, 1) == 0) {
      for (Stage& each : route) each.traffic.network = VirtualNetwork::response;
    }
    const std::int64_t burst = pick(random, 1, 8);
    const std::size_t index =
        scenario.send(std::move(route), pick(random, 1, 60), burst, ps(pick(random, 0, shape.spread)));
    PlannedTransfer& planned = scenario.transfers[index];
    if (pick(random, 0, 2) == 0) planned.request.ranges = {{0, pick(random, 1, 6), Bytes(pick(random, 1, 9)), 11}};
    if (index == 0 || pick(random, 0, 3) > 0) continue;
    planned.after = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(index) - 1));
    planned.start = ps(pick(random, 0, 9));
  }
  return scenario;
}

/// A memory that is read through one to three ports, some with a link behind them, by transfers that follow each other
/// closely, or begin when another one has been delivered. In some scenarios others come to a port from the side, or
/// write to the memory.
Scenario reads(std::mt19937_64& random, const Shape& shape) {
  Scenario scenario;
  const auto members = static_cast<std::uint16_t>(pick(random, 2, 5));
  for (std::uint16_t i = 0; i < members; ++i) {
    scenario.add(server_spec(per_byte(pick(random, 1, 6)), ps(pick(random, 1, 60)), pick(random, 4, shape.most_buffer),
                             Bytes(pick(random, 0, 3))));
    scenario.servers.back().queue = Bytes(pick(random, 1, 40));
  }
  const auto add_link = [&] {
    return scenario.add(
        server_spec(per_byte(pick(random, 1, 3)), ps(pick(random, 1, 9)), pick(random, 4, shape.most_buffer)));
  };
  const std::int64_t ports = pick(random, 1, 3);
  const std::uint32_t first = add_link();
  for (std::int64_t i = 1; i < ports; ++i) add_link();
  const std::uint32_t beyond = add_link(), side = add_link();
  const std::int64_t others = pick(random, 0, 2) == 0 ? pick(random, 3, 9) : 1000;  // each so many-th
  for (std::int64_t count = pick(random, 2, 12); count > 0; --count) {
    const std::uint32_t port = first + static_cast<std::uint32_t>(pick(random, 0, ports - 1));
    std::vector<Stage> route{stage(0, members), stage(port)};
    if (pick(random, 0, 2) == 0) route.push_back(stage(beyond));
    if (pick(random, 0, others) == 0) route[0] = stage(side);
    if (pick(random, 0, others) == 0) route = {stage(side), stage(0, members)};
    const std::int64_t granule = pick(random, 2, 6), burst = granule * pick(random, 1, 3);
    const std::size_t index =
        scenario.send(std::move(route), granule * pick(random, 1, 30), burst, ps(pick(random, 0, shape.spread)));
    PlannedRequest& request = scenario.transfers[index].request;
    request.granule = Bytes(granule);
    request.ranges[0].address = static_cast<std::uint64_t>(granule * pick(random, 0, 9));
    if (pick(random, 0, 2) == 0) request.ranges = {{7, pick(random, 1, 12), Bytes(pick(random, 1, 9)), 11}};
    if (index > 0 && pick(random, 0, 1) == 0) {
      scenario.transfers[index].after = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(index) - 1));
      scenario.transfers[index].start = ps(pick(random, 0, 3));
    }
  }
  return scenario;
}

using MakeScenario = Scenario (*)(std::mt19937_64&, const Shape&);

void expect_equal_in_both_modes(std::uint64_t seed, const Shape& shape, int rounds,
                                MakeScenario make = tree_with_sides) {
  std::mt19937_64 random(seed);
  for (int round = 0; round < (kSanitized ? rounds / 5 : rounds); ++round) {
    const Scenario scenario = make(random, shape);
    std::vector<Time> sample_at;
    for (int i = 0; i < 8; ++i) sample_at.push_back(ps(pick(random, 0, 2 * shape.spread)));
    std::sort(sample_at.begin(), sample_at.end());
    const Outcome exact = simulate(scenario, {.exact = true, .sample_at = sample_at});
    const Outcome fast = simulate(scenario, {.exact = false, .sample_at = sample_at});
    ASSERT_EQ(fast.times, exact.times) << "seed " << seed << " round " << round;
    ASSERT_EQ(fast.received, exact.received) << "seed " << seed << " round " << round;
    ASSERT_EQ(fast.samples, exact.samples) << "seed " << seed << " round " << round;
    ASSERT_EQ(fast.counters, exact.counters) << "seed " << seed << " round " << round;
    ASSERT_EQ(fast.logs, exact.logs) << "seed " << seed << " round " << round;
    ASSERT_TRUE(fast.idle && exact.idle) << "seed " << seed << " round " << round;
  }
}

TEST(FabricRunningOn, EqualsTurnsThroughRoomyBuffers) {
  expect_equal_in_both_modes(71, {.most_buffer = 200, .spread = 250}, 4000);
}

TEST(FabricRunningOn, EqualsTurnsThroughBuffersOfAFewBursts) {
  expect_equal_in_both_modes(72, {.most_buffer = 20, .spread = 250}, 4000);
}

TEST(FabricRunningOn, EqualsTurnsWhereManyBeginAtOnce) {
  expect_equal_in_both_modes(73, {.most_buffer = 60, .spread = 25}, 4000);
}

TEST(FabricRunningOn, ReadsEqualTurnsThroughRoomyBuffers) {
  expect_equal_in_both_modes(74, {.most_buffer = 300, .spread = 300}, 4000, reads);
}

TEST(FabricRunningOn, ReadsEqualTurnsThroughBuffersOfAFewBursts) {
  expect_equal_in_both_modes(75, {.most_buffer = 20, .spread = 150}, 4000, reads);
}

/// By hand: two bursts of 10 bytes run on from link 0 over link 1 (start at 1010 and 1020). At 1015 another transfer
/// comes to link 1 from the side: the second burst must wait for its turn behind it.
TEST(FabricRunningOn, ANewcomerFromAnotherSideHasItsTurn) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(1000), 1000));
  scenario.add(server_spec(per_byte(1), ps(1000), 1000));
  for (int i = 0; i < 2; ++i) scenario.send({stage(0), stage(1)}, 10, 10);  // two, so that neither is alone
  scenario.send({stage(1)}, 30, 30, ps(1005));
  const Outcome outcome = simulate(scenario);
  EXPECT_EQ(outcome.times[0].delivered, ps(1000 + 10 + 1000));
  EXPECT_EQ(outcome.times[2].delivered, ps(1010 + 30 + 1000));
  EXPECT_EQ(outcome.times[1].delivered, ps(1040 + 10 + 1000));
}

}  // namespace
}  // namespace kernbench::hardware::testing
