#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fabric_scenario.h"
#include "hardware/fabric/bursts.h"

namespace kernbench::hardware::testing {
namespace {

using Pieces = std::vector<std::pair<std::uint64_t, std::int64_t>>;  // address, bytes

/// The accesses of each burst.
std::vector<Pieces> bursts_of(const PlannedRequest& request) {
  std::vector<Pieces> result;
  fabric::BurstCursor cursor(request.view());
  for (;;) {
    Pieces pieces;
    std::int64_t sum = 0;
    const std::int64_t bytes = cursor.next([&](const fabric::Accesses& accesses) {
      for (std::int64_t i = 0; i < accesses.count; ++i) {
        pieces.emplace_back(accesses.address + static_cast<std::uint64_t>(i * accesses.stride), accesses.bytes);
        sum += accesses.bytes;
      }
    });
    EXPECT_EQ(sum, bytes);
    if (bytes == 0) return result;
    result.push_back(pieces);
  }
}

std::vector<Pieces> bursts_of(const std::vector<StridedRange>& ranges, std::int64_t burst, std::int64_t granule) {
  PlannedRequest request;
  request.ranges = ranges;
  request.burst = Bytes(burst);
  request.granule = Bytes(granule);
  return bursts_of(request);
}

using Bursts = std::vector<Pieces>;

TEST(FabricBursts, HoldAsManyAccessesAsFit) {
  EXPECT_EQ(bursts_of({{0, 1, Bytes(12), 0}}, 8, 4), (Bursts{{{0, 4}, {4, 4}}, {{8, 4}}}));
  EXPECT_EQ(bursts_of({{0, 5, Bytes(2), 10}}, 8, 4), (Bursts{{{0, 2}, {10, 2}, {20, 2}, {30, 2}}, {{40, 2}}}));
}

TEST(FabricBursts, AnAccessThatDoesNotFitBeginsTheNextOne) {
  // So a contiguous range falls into whole granules after its first burst.
  EXPECT_EQ(bursts_of({{3, 1, Bytes(14), 0}}, 8, 4), (Bursts{{{3, 1}, {4, 4}}, {{8, 4}, {12, 4}}, {{16, 1}}}));
  EXPECT_EQ(bursts_of({{0, 3, Bytes(3), 4}}, 8, 4), (Bursts{{{0, 3}, {4, 3}}, {{8, 3}}}));
}

TEST(FabricBursts, AccessesEndAtGranulesAndAtRows) {
  EXPECT_EQ(bursts_of({{2, 2, Bytes(3), 5}}, 99, 4), (Bursts{{{2, 2}, {4, 1}, {7, 1}, {8, 2}}}));
  EXPECT_EQ(bursts_of({{0, 0, Bytes(3), 5}, {0, 3, Bytes(0), 5}, {1, 1, Bytes(1), 0}}, 99, 4), (Bursts{{{1, 1}}}));
}

TEST(FabricBursts, ABurstThatIsShorterThanAGranuleCutsIt) {
  EXPECT_EQ(bursts_of({{1, 1, Bytes(9), 0}}, 4, 8), (Bursts{{{1, 3}}, {{4, 4}}, {{8, 2}}}));
}

/// The addresses of the bytes of ranges, in their order.
std::vector<std::uint64_t> addresses_of(const std::vector<StridedRange>& ranges) {
  std::vector<std::uint64_t> bytes;
  for (const StridedRange& range : ranges)
    for (std::int64_t row = 0; row < range.rows; ++row)
      for (std::int64_t i = 0; i < range.row_bytes.count(); ++i)
        bytes.push_back(range.address + static_cast<std::uint64_t>(row * range.stride + i));
  return bytes;
}

TEST(FabricBursts, CoverEachByteOnceAndAreNoLongerThanTheyMay) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t granule = pick(random, 1, 9), burst = pick(random, 1, 30);
    std::vector<StridedRange> ranges;
    for (std::int64_t range = pick(random, 1, 3); range > 0; --range) {
      ranges.push_back({static_cast<std::uint64_t>(pick(random, 0, 50)), pick(random, 0, 5), Bytes(pick(random, 0, 20)),
                        pick(random, 0, 40)});
    }
    std::vector<std::uint64_t> covered;
    for (const Pieces& pieces : bursts_of(ranges, burst, granule)) {
      std::int64_t sum = 0;
      for (const auto& [address, bytes] : pieces) {
        EXPECT_EQ(address / granule, (address + static_cast<std::uint64_t>(bytes) - 1) / granule);
        for (std::int64_t i = 0; i < bytes; ++i) covered.push_back(address + static_cast<std::uint64_t>(i));
        sum += bytes;
      }
      ASSERT_LE(sum, burst);
    }
    ASSERT_EQ(covered, addresses_of(ranges));
  }
}

TEST(FabricBursts, FromMemoryToMemoryAccessesCrossNoRowAndNoGranuleOfEither) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const auto granule = static_cast<std::uint64_t>(pick(random, 1, 9));
    PlannedRequest request;
    request.granule = Bytes(static_cast<std::int64_t>(granule));
    request.burst = Bytes(pick(random, 1, 30));
    for (std::int64_t range = pick(random, 1, 3); range > 0; --range) {
      request.ranges.push_back({static_cast<std::uint64_t>(pick(random, 0, 50)), pick(random, 1, 5),
                                Bytes(pick(random, 1, 20)), pick(random, 20, 40)});
    }
    request.landing = landing_of(request.ranges, random);
    const auto from = addresses_of(request.ranges), to = addresses_of(request.landing);
    ASSERT_EQ(from.size(), to.size());
    std::size_t at = 0;
    fabric::BurstCursor cursor(request.view());
    const auto look = [&](const fabric::Accesses& access) {
      ASSERT_EQ(access.count, 1);
      const auto last = static_cast<std::uint64_t>(access.bytes) - 1;
      EXPECT_EQ(access.address / granule, (access.address + last) / granule);
      EXPECT_EQ(access.landing / granule, (access.landing + last) / granule);
      for (std::uint64_t i = 0; i <= last; ++i, ++at) {
        ASSERT_LT(at, from.size());
        EXPECT_EQ(access.address + i, from[at]);
        EXPECT_EQ(access.landing + i, to[at]);
      }
    };
    while (const std::int64_t bytes = cursor.next(look)) ASSERT_LE(bytes, request.burst.count());
    ASSERT_EQ(at, from.size());
  }
}

TEST(FabricInterleave, TheSelectorIsTheDigitSum) {
  std::mt19937_64 random(2);
  for (const std::int64_t granule : {1, 3, 16, 1024}) {
    for (std::uint32_t group = 1; group <= 17; ++group) {
      const fabric::ChannelSelector channel_of(Bytes(granule), group);
      for (int i = 0; i < 500; ++i) {
        const std::uint64_t address = random() >> pick(random, 0, 60);
        ASSERT_EQ(channel_of(address), interleave(address, Bytes(granule), group)) << address;
      }
    }
  }
}

TEST(FabricInterleave, PowerOfTwoStridesUseAllServersEvenly) {
  for (std::uint32_t group : {2u, 4u, 8u}) {
    for (std::uint64_t stride = 1; stride <= 4096; stride *= 2) {
      std::vector<int> uses(group);
      for (std::uint64_t i = 0; i < group * group; ++i) ++uses[interleave(i * stride * 1024, Bytes(1024), group)];
      EXPECT_EQ(*std::ranges::min_element(uses), static_cast<int>(group)) << group << " servers, stride " << stride;
    }
  }
}

}  // namespace
}  // namespace kernbench::hardware::testing
