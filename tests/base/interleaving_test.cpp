#include "base/interleaving.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace kernbench {
namespace {

InterleavedRegion region_of(std::int32_t cubes, std::int32_t pes, std::int64_t granule) {
  return {{SipId{1}, CubeId{2}, PeId{0}}, {cubes, pes, Bytes(granule)}};
}

TEST(Interleaving, TheHashIsTheSumOfTheDigits) {
  EXPECT_EQ(interleaved_part(0, 8), 0u);
  EXPECT_EQ(interleaved_part(0123, 8), 6u) << "1 + 2 + 3";
  EXPECT_EQ(interleaved_part(0177, 8), 7u) << "15 modulo 8";
  EXPECT_EQ(interleaved_part(5, 3), 0u) << "1 * 3 + 2";
  EXPECT_EQ(interleaved_part(41, 1), 0u);
}

TEST(Interleaving, EachGroupHasOneGranuleInEachSliceAndTheMapIsABijection) {
  for (const auto& [cubes, pes] : std::vector<std::pair<int, int>>{
           {1, 1}, {1, 2}, {2, 1}, {1, 3}, {3, 2}, {1, 7}, {2, 4}, {3, 5}, {4, 4}, {5, 5}, {16, 8}}) {
    const auto region = region_of(cubes, pes, 16);
    const std::int64_t slices = region.how().slices(), groups = 3 * slices + 2;
    std::set<SliceAddress> seen;
    for (std::int64_t group = 0; group < groups; ++group) {
      std::set<PeCoordinate> met;
      for (std::int64_t i = 0; i < slices; ++i) {
        const auto address = static_cast<std::uint64_t>((group * slices + i) * 16);
        const SliceAddress place = region.decode(address + 5);
        EXPECT_EQ(place.address, static_cast<std::uint64_t>(group * 16 + 5));
        EXPECT_EQ(place.slice.sip, SipId{1});
        EXPECT_TRUE(place.slice.cube >= CubeId{2} && place.slice.cube < CubeId{2 + cubes});
        EXPECT_TRUE(place.slice.pe >= PeId{0} && place.slice.pe < PeId{pes});
        EXPECT_EQ(region.encode(place), address + 5);
        met.insert(place.slice);
        seen.insert(place);
      }
      EXPECT_EQ(std::ssize(met), slices) << "group " << group << " of " << cubes << " x " << pes;
    }
    EXPECT_EQ(std::ssize(seen), groups * slices);
  }
}

TEST(Interleaving, StridesOfPowersOfTheNumberOfSlicesSpread) {
  for (const std::int64_t slices : {2, 3, 6, 8, 16, 128}) {
    const auto region = region_of(1, static_cast<std::int32_t>(slices), 1024);
    for (std::int64_t stride = slices; stride <= slices * slices; stride *= slices) {
      std::map<PeCoordinate, int> taken;
      for (std::int64_t i = 0; i < 4 * slices; ++i)
        ++taken[region.decode(static_cast<std::uint64_t>(i * stride * 1024)).slice];
      EXPECT_EQ(std::ssize(taken), slices) << "stride of " << stride << " granules over " << slices;
      for (const auto& [slice, count] : taken) EXPECT_EQ(count, 4) << "stride of " << stride << " over " << slices;
    }
  }
}

TEST(Interleaving, RunsAreTheGranulesOfARange) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (int round = 0; round < 300; ++round) {
    const auto region = region_of(pick(1, 3), pick(1, 5), std::int64_t{1} << pick(3, 6));
    const auto address = static_cast<std::uint64_t>(pick(0, 2000));
    const std::int64_t bytes = pick(0, 4000);
    std::map<SliceAddress, std::int64_t> granules, rows;
    std::vector<PeCoordinate> order, order_of_runs;
    const auto note = [](std::vector<PeCoordinate>& slices, PeCoordinate slice) {
      if (std::ranges::find(slices, slice) == slices.end()) slices.push_back(slice);
    };
    std::int64_t sum = 0;
    region.for_each_granule(address, bytes, [&](const SliceAddress& place, std::int64_t length) {
      EXPECT_TRUE(granules.emplace(place, length).second);
      EXPECT_EQ(region.decode(address + static_cast<std::uint64_t>(sum)), place);
      sum += length;
      note(order, place.slice);
    });
    EXPECT_EQ(sum, bytes);
    region.for_each_run(address, bytes, [&](SliceAddress place, std::int64_t count, std::int64_t length) {
      note(order_of_runs, place.slice);
      for (; count > 0; --count, place.address += static_cast<std::uint64_t>(length)) rows.emplace(place, length);
    });
    EXPECT_EQ(rows, granules);
    EXPECT_EQ(order_of_runs, order);
  }
}

TEST(Interleaving, ARangeOfWholeGroupsTakesEqualSharesOfAllSlices) {
  const auto region = region_of(1, 3, 64);
  EXPECT_EQ(region.share_of(Bytes(1)), Bytes(64));
  EXPECT_EQ(region.share_of(Bytes(3 * 64)), Bytes(64));
  EXPECT_EQ(region.share_of(Bytes(3 * 64 + 1)), Bytes(128));
  for (std::uint64_t at = region.of_share(640); at < region.of_share(640 + 128); at += 8) {
    EXPECT_GE(region.decode(at).address, 640u);
    EXPECT_LT(region.decode(at).address, 640u + 128);
  }
}

}  // namespace
}  // namespace kernbench
