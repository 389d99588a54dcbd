// The part of a nominal rate that is left.
#include "topology/efficiency.h"

#include <gtest/gtest.h>

#include <string>

#include "kernbench/error.h"

namespace kernbench::topology {
namespace {

TEST(Efficiency, IsReadAndPrintedToAMillionth) {
  for (const auto& [text, millionths] :
       {std::pair{"0.92", 920'000}, {"1", 1'000'000}, {"0.000001", 1}, {"0.123456", 123'456}}) {
    EXPECT_EQ(parse_efficiency(text), millionths) << text;
    EXPECT_EQ(print_efficiency(millionths), text);
  }
  EXPECT_EQ(parse_efficiency("1.0"), 1'000'000);
  EXPECT_EQ(parse_efficiency("0.50"), 500'000);
}

TEST(Efficiency, RefusesWhatIsNoPartOfOne) {
  for (const char* text : {"", ".", "0.", ".5", "-0.5", "0,5", "2", "92%", "0.1234567", "1e-1", "00.5", "nan"}) {
    EXPECT_THROW(parse_efficiency(text), ConfigurationError) << text;
  }
}

TEST(Efficiency, LeavesLessOfARateAndStretchesCycles) {
  const Efficiency most = Efficiency::millionths(950'000);
  EXPECT_EQ(most.of(Bandwidth::bytes_per_second(1001)).count(), 950);
  EXPECT_EQ(most.stretched(0), 0);
  EXPECT_EQ(most.stretched(19), 20);
  EXPECT_EQ(most.stretched(20), 22);  // 21.05, rounded up
  EXPECT_EQ(Efficiency().stretched(12'345), 12'345);
  EXPECT_EQ(Efficiency().of(Bandwidth::gigabytes_per_second(1200)), Bandwidth::gigabytes_per_second(1200));
  // Cycles of the largest command: no product overflows.
  EXPECT_EQ(Efficiency::millionths(500'000).stretched(std::int64_t{1} << 60), std::int64_t{1} << 61);
}

}  // namespace
}  // namespace kernbench::topology
