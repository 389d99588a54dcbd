// More bandwidth: never slower alone; under contention scheduling anomalies exist, and are counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "fabric_scenario.h"

namespace kernbench::hardware::testing {
namespace {

Bandwidth doubled(Bandwidth bandwidth) {
  return Bandwidth::bytes_per_second(bandwidth.count() * 2);
}

TEST(FabricMonotone, MoreBandwidthIsNeverSlowerAlone) {
  std::mt19937_64 random(51);
  for (int round = 0; round < 1000; ++round) {
    Scenario scenario = random_scenario(random, 1);
    const TransferRequest request = scenario.transfers[0].request.view();
    const TransferTimes before = uncontended(scenario.servers, request, ps(0));
    for (ServerSpec& spec : scenario.servers) {
      const Bandwidth original = spec.bandwidth;
      spec.bandwidth = doubled(original);
      const TransferTimes after = uncontended(scenario.servers, request, ps(0));
      ASSERT_LE(after.delivered, before.delivered) << "round " << round;
      ASSERT_LE(after.departed, before.departed) << "round " << round;
      spec.bandwidth = original;
    }
  }
}

Time makespan(const Outcome& outcome) {
  Time last;
  for (const TransferTimes& times : outcome.times) last = std::max(last, times.delivered);
  return last;
}

/// Round robin over bursts can let a long transfer end later when others get faster: the end of all is later by more
/// than 1 % in about 3 % of these cases, and by 11 % at worst (3,200 cases).
TEST(FabricMonotone, AnomaliesUnderSaturationStayWithinTheMeasuredBounds) {
  std::mt19937_64 random(52);
  int cases = 0;
  int slower = 0;
  int slower_by_one_percent = 0;
  double worst = 0;
  for (int round = 0; round < 40; ++round) {
    Scenario scenario = random_traffic(random);
    const Time before = makespan(simulate(scenario));
    for (ServerSpec& spec : scenario.servers) {
      const Bandwidth original = spec.bandwidth;
      spec.bandwidth = doubled(original);
      const Time after = makespan(simulate(scenario));
      spec.bandwidth = original;
      const double change = after.in_seconds() / before.in_seconds() - 1;
      ++cases;
      if (change > 0) ++slower;
      if (change > 0.01) ++slower_by_one_percent;
      worst = std::max(worst, change);
    }
  }
  RecordProperty("slower", slower);
  RecordProperty("slower_by_one_percent", slower_by_one_percent);
  RecordProperty("worst_percent", std::to_string(worst * 100));
  EXPECT_EQ(cases, 320);
  EXPECT_LE(slower_by_one_percent, cases * 5 / 100);
  EXPECT_LE(worst, 0.12);
}

}  // namespace
}  // namespace kernbench::hardware::testing
