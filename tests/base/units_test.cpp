#include "kernbench/units.h"

#include <gtest/gtest.h>

#include <random>

namespace kernbench {
namespace {

TEST(UnitsTest, TransferTimeRoundsUpToAWholePicosecond) {
  EXPECT_EQ(transfer_time(Bytes(0), Bandwidth::bytes_per_second(1)), Time::zero());
  EXPECT_EQ(transfer_time(Bytes(1), Bandwidth::gigabytes_per_second(1)), Time::nanoseconds(1));
  EXPECT_EQ(transfer_time(Bytes(1), Bandwidth::gigabytes_per_second(3)), Time::picoseconds(334));
  EXPECT_EQ(transfer_time(Bytes(3), Bandwidth::gigabytes_per_second(3)), Time::nanoseconds(1));
}

TEST(UnitsTest, TransferTimeOfHugeAmountsDoesNotOverflow) {
  const Bytes terabyte(1'000'000'000'000);
  EXPECT_EQ(transfer_time(terabyte, Bandwidth::gigabytes_per_second(1000)), Time::seconds(1));
}

TEST(UnitsTest, ClockEdgesDoNotDrift) {
  const Clock clock(Frequency::hertz(1'500'000'000));
  EXPECT_EQ(clock.edge(0), Time::zero());
  EXPECT_EQ(clock.edge(1), Time::picoseconds(667));
  EXPECT_EQ(clock.edge(2), Time::picoseconds(1334));
  EXPECT_EQ(clock.edge(3), Time::nanoseconds(2));
  EXPECT_EQ(clock.edge(1'500'000'000), Time::seconds(1));
}

TEST(UnitsTest, CycleAtOrAfterIsTheFirstEdgeNotBeforeTheTime) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    const Clock clock(Frequency::hertz(1 + static_cast<std::int64_t>(random() % 5'000'000'000)));
    const Time time = Time::picoseconds(static_cast<std::int64_t>(random() % 1'000'000'000'000));
    const std::int64_t cycle = clock.cycle_at_or_after(time);
    ASSERT_GE(clock.edge(cycle), time);
    if (cycle > 0) {
      ASSERT_LT(clock.edge(cycle - 1), time);
    }
  }
}

TEST(UnitsTest, AfterCountsEdgesFromTheNextEdge) {
  const Clock clock(Frequency::gigahertz(1));
  EXPECT_EQ(clock.after(Time::picoseconds(1), 2), Time::nanoseconds(3));
  EXPECT_EQ(clock.after(Time::nanoseconds(1), 2), Time::nanoseconds(3));
}

TEST(UnitsTest, QuantitiesAddAndCompare) {
  EXPECT_EQ(Time::nanoseconds(1) + Time::picoseconds(5) - Time::picoseconds(1005), Time::zero());
  EXPECT_LT(Time::microseconds(1), Time::milliseconds(1));
  EXPECT_EQ(Bytes(3) * 4, Bytes(12));
  EXPECT_DOUBLE_EQ(Time::milliseconds(5).in_seconds(), 0.005);
}

}  // namespace
}  // namespace kernbench
