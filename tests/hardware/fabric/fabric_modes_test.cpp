// Coalesced and exact runs, and runs in another order, are the same run.
#include <gtest/gtest.h>

#include "fabric_scenario.h"

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
  for (int round = 0; round < 3000; ++round) {
    const Scenario scenario = random_scenario(random, 1 + random() % 12);
    const std::vector<Time> sample_at = sample_times(random);
    const Outcome exact = simulate(scenario, {.exact = true, .sample_at = sample_at});
    const Outcome coalesced = simulate(scenario, {.exact = false, .sample_at = sample_at});
    ASSERT_EQ(coalesced.times, exact.times) << "round " << round;
    ASSERT_EQ(coalesced.counters, exact.counters) << "round " << round;
    ASSERT_EQ(coalesced.samples, exact.samples) << "round " << round;
    ASSERT_TRUE(exact.idle && coalesced.idle) << "round " << round;
    exact_events += exact.events;
    coalesced_events += coalesced.events;
  }
  EXPECT_LT(coalesced_events, exact_events);
}

TEST(FabricModes, OrderOfCreationChangesNothing) {
  std::mt19937_64 random(43);
  for (int round = 0; round < 1000; ++round) {
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
