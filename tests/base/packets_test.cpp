// What packets add to the bytes of a link.
#include "base/packets.h"

#include <gtest/gtest.h>

namespace kernbench {
namespace {

TEST(Packets, EachAddsItsOverhead) {
  constexpr Packets kPackets{Bytes(256), Bytes(24)};
  EXPECT_EQ(kPackets.on_wire(Bytes(0)), Bytes(0));
  EXPECT_EQ(kPackets.on_wire(Bytes(1)), Bytes(25));
  EXPECT_EQ(kPackets.on_wire(Bytes(256)), Bytes(280));
  EXPECT_EQ(kPackets.on_wire(Bytes(257)), Bytes(257 + 48));
  EXPECT_EQ(kPackets.on_wire(Bytes(1024)), Bytes(4 * 280));
}

TEST(Packets, WithoutAPayloadNothingIsAdded) {
  EXPECT_EQ(Packets{}.on_wire(Bytes(1000)), Bytes(1000));
  EXPECT_EQ(Packets{}.payload_rate(Bandwidth::gigabytes_per_second(64)), Bandwidth::gigabytes_per_second(64));
}

TEST(Packets, FullOnesCarryTheirShareOfTheRateRoundedDown) {
  constexpr Packets kPackets{Bytes(256), Bytes(24)};
  EXPECT_EQ(kPackets.payload_rate(Bandwidth::gigabytes_per_second(63)).count(), 57'600'000'000);
  EXPECT_EQ((Packets{Bytes(2), Bytes(1)}.payload_rate(Bandwidth::bytes_per_second(100)).count()), 66);
  EXPECT_EQ((Packets{Bytes(1), Bytes(9)}.payload_rate(Bandwidth::bytes_per_second(1)).count()), 1);
  // The largest link: no product overflows.
  EXPECT_EQ(
      (Packets{Bytes(65536), Bytes(65536)}.payload_rate(Bandwidth::bytes_per_second(1'000'000'000'000'000))).count(),
      500'000'000'000'000);
}

}  // namespace
}  // namespace kernbench
