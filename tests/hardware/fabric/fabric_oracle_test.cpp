// The engine against an independent simulation of the same law.
#include <gtest/gtest.h>

#include "fabric_scenario.h"
#include "reference_fabric.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::hardware::testing {
namespace {

TEST(FabricOracle, ExactEngineKeepsTheLawInRandomContention) {
  std::mt19937_64 random(20240601);
  for (int round = 0; round < number_of_cases(150, 75, 2); ++round) {
    const Scenario scenario = random_scenario(random, 2 + random() % 5);
    const std::vector<TransferTimes> expected = reference_times(scenario);
    const Outcome exact = simulate(scenario, {.exact = true});
    ASSERT_EQ(exact.times, expected) << "round " << round;
    ASSERT_TRUE(exact.idle) << "round " << round;
  }
}

TEST(FabricOracle, CoalescingEngineKeepsTheLawInRandomContention) {
  std::mt19937_64 random(7);
  for (int round = 0; round < (kSanitized ? 12 : 150); ++round) {
    const Scenario scenario = random_scenario(random, 2 + random() % 3);
    ASSERT_EQ(simulate(scenario).times, reference_times(scenario)) << "round " << round;
  }
}

}  // namespace
}  // namespace kernbench::hardware::testing
