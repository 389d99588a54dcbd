// Coalesced and exact runs, and runs in another order, are the same run.
#include <gtest/gtest.h>

#include <algorithm>

#include "fabric_scenario.h"
#include "support/all_cases.h"

namespace kernbench::hardware::testing {
namespace {

std::vector<Time> sample_times(std::mt19937_64& random) {
  std::vector<Time> times;
  for (int i = 0; i < 6; ++i) times.push_back(ps(pick(random, 0, 300)));
  std::sort(times.begin(), times.end());
  return times;
}

TEST(FabricModes, CoalescedEqualsExactInRandomPatterns) {
  std::mt19937_64 random(42);
  std::uint64_t exact_events = 0;
  std::uint64_t coalesced_events = 0;
  for (int round = 0; round < number_of_cases(1500, 1500, 250); ++round) {
    const Scenario scenario = random_scenario(random, 1 + random() % 12);
    const std::vector<Time> sample_at = sample_times(random);
    const Outcome exact = simulate(scenario, {.exact = true, .sample_at = sample_at});
    const Outcome coalesced = simulate(scenario, {.exact = false, .sample_at = sample_at});
    ASSERT_EQ(coalesced.times, exact.times) << "round " << round;
    ASSERT_EQ(coalesced.counters, exact.counters) << "round " << round;
    ASSERT_EQ(coalesced.samples, exact.samples) << "round " << round;
    ASSERT_EQ(coalesced.logs, exact.logs) << "round " << round;
    ASSERT_TRUE(exact.idle && coalesced.idle) << "round " << round;
    exact_events += exact.events;
    coalesced_events += coalesced.events;
  }
  EXPECT_LT(coalesced_events, exact_events);
}

TEST(FabricModes, CoalescedEqualsExactInHeavyAndInSparseTraffic) {
  std::mt19937_64 random(44);
  for (const Time spread : {Time::microseconds(2), Time::microseconds(30), Time::microseconds(300)}) {
    for (int round = 0; round < 8; ++round) {
      const Scenario scenario = random_traffic(random, spread);
      const Outcome exact = simulate(scenario, {.exact = true});
      const Outcome coalesced = simulate(scenario);
      ASSERT_EQ(coalesced.times, exact.times) << "round " << round;
      ASSERT_EQ(coalesced.counters, exact.counters) << "round " << round;
    }
  }
}

TEST(FabricModes, TransfersOnDisjointServersStayCoalesced) {
  Scenario scenario;
  for (int i = 0; i < 4; ++i) scenario.add(server_spec(per_byte(1), ps(10)));
  scenario.send({stage(0), stage(1)}, 1000, 10);
  scenario.send({stage(2), stage(3)}, 1000, 10, ps(50));
  // Two events to begin them, and a departure and a delivery for each.
  EXPECT_EQ(simulate(scenario).events, 6u);
  EXPECT_EQ(simulate(scenario, {.exact = true}).events, 6u + 4 * 100);
}

TEST(FabricModes, OrderOfCreationChangesNothing) {
  std::mt19937_64 random(43);
  for (int round = 0; round < number_of_cases(1000, 1000, 150); ++round) {
    const Scenario scenario = random_scenario(random, 2 + random() % 10);
    for (const bool exact : {false, true}) {
      const Outcome forward = simulate(scenario, {.exact = exact});
      const Outcome backward = simulate(scenario, {.exact = exact, .reversed_order = true});
      ASSERT_EQ(backward.times, forward.times) << "round " << round;
      ASSERT_EQ(backward.counters, forward.counters) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace kernbench::hardware::testing
