#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace kernbench {
namespace {

TEST(TextTest, TimeUsesTheUnitThatKeepsItBelowAThousand) {
  EXPECT_EQ(to_text(Time::zero()), "0 ps");
  EXPECT_EQ(to_text(Time::picoseconds(17)), "17 ps");
  EXPECT_EQ(to_text(Time::picoseconds(999)), "999 ps");
  EXPECT_EQ(to_text(Time::picoseconds(1'000)), "1 ns");
  EXPECT_EQ(to_text(Time::picoseconds(1'234'000)), "1.234 us");
  EXPECT_EQ(to_text(Time::microseconds(2'500)), "2.5 ms");
  EXPECT_EQ(to_text(Time::picoseconds(1'050)), "1.05 ns");
  EXPECT_EQ(to_text(Time::seconds(12'345)), "12345 s");
  EXPECT_EQ(to_text(Time::nanoseconds(-3)), "-3 ns");
}

TEST(TextTest, RoundingThatReachesAThousandMovesToTheNextUnit) {
  EXPECT_EQ(to_text(Time::picoseconds(999'999'400)), "999.999 us");
  EXPECT_EQ(to_text(Time::picoseconds(999'999'500)), "1 ms");
}

TEST(TextTest, ExtremeTimesArePrinted) {
  EXPECT_EQ(to_text(Time::max()), "9223372.037 s");
  EXPECT_EQ(to_text(Time::picoseconds(INT64_MIN)), "-9223372.037 s");
}

TEST(TextTest, BytesAreBinary) {
  EXPECT_EQ(to_text(Bytes(17)), "17 B");
  EXPECT_EQ(to_text(Bytes(1023)), "1023 B");
  EXPECT_EQ(to_text(Bytes(1536)), "1.5 KiB");
  EXPECT_EQ(to_text(Bytes(4 << 20)), "4 MiB");
  EXPECT_EQ(to_text(Bytes(std::int64_t{36} << 30)), "36 GiB");
}

TEST(TextTest, BandwidthIsDecimal) {
  EXPECT_EQ(to_text(Bandwidth::gigabytes_per_second(150)), "150 GB/s");
  EXPECT_EQ(to_text(Bandwidth::gigabytes_per_second(1200)), "1.2 TB/s");
  EXPECT_EQ(to_text(Bandwidth::bytes_per_second(5)), "5 B/s");
}

TEST(TextTest, PartNamesFollowOneGrammar) {
  EXPECT_EQ(to_text(SipId{3}), "sip3");
  EXPECT_EQ(to_text(CubeCoordinate{SipId{0}, CubeId{2}}), "sip0.cube2");
  EXPECT_EQ(to_text(PeCoordinate{SipId{0}, CubeId{2}, PeId{5}}), "sip0.cube2.pe5");
}

TEST(TextTest, NearestFindsTyposAndNothingElse) {
  static constexpr std::array<std::string_view, 4> keys{"bandwidth", "latency", "capacity", "channels"};
  EXPECT_EQ(nearest("bandwidht", keys), "bandwidth");
  EXPECT_EQ(nearest("latncy", keys), "latency");
  EXPECT_EQ(nearest("capacities", keys), "capacity");
  EXPECT_EQ(nearest("colour", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest("bandwidth", keys), "bandwidth");
}

TEST(TextTest, NearestPrefersTheFirstOfEquals) {
  static constexpr std::array<std::string_view, 2> keys{"abcx", "abcy"};
  EXPECT_EQ(nearest("abcz", keys), "abcx");
}

TEST(TextTest, NaturalOrderTakesNumbersByValue) {
  const std::vector<std::string> ordered{"",  "0",  "00",  "01",  "1",    "2",    "10",
                                         "a", "a2", "a2b", "a10", "a10b", "b1c9", "b1c10"};
  const NaturalLess less;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      EXPECT_EQ(less(ordered[i], ordered[j]), i < j) << ordered[i] << " and " << ordered[j];
    }
  }
}

}  // namespace
}  // namespace kernbench
