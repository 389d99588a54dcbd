#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fabric_scenario.h"
#include "hardware/fabric/chunks.h"

namespace kernbench::hardware::testing {
namespace {

std::vector<std::pair<std::uint64_t, std::int64_t>> chunks_of(const std::vector<StridedRange>& ranges,
                                                              std::int64_t size) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> result;
  fabric::ChunkCursor cursor(ranges, Bytes(size));
  for (fabric::Chunk chunk; cursor.next(chunk);) result.emplace_back(chunk.address, chunk.bytes.count());
  return result;
}

TEST(FabricChunks, EndAtGranulesAndAtRows) {
  using Chunks = std::vector<std::pair<std::uint64_t, std::int64_t>>;
  EXPECT_EQ(chunks_of({{0, 1, Bytes(8), 0}}, 4), (Chunks{{0, 4}, {4, 4}}));
  EXPECT_EQ(chunks_of({{3, 1, Bytes(6), 0}}, 4), (Chunks{{3, 1}, {4, 4}, {8, 1}}));
  EXPECT_EQ(chunks_of({{2, 2, Bytes(3), 5}}, 4), (Chunks{{2, 2}, {4, 1}, {7, 1}, {8, 2}}));
  EXPECT_EQ(chunks_of({{0, 0, Bytes(3), 5}, {0, 3, Bytes(0), 5}, {1, 1, Bytes(1), 0}}, 4), (Chunks{{1, 1}}));
}

TEST(FabricChunks, CoverEachByteOnceAndCountIsTheirNumber) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    TransferRequest request;
    request.chunk = Bytes(pick(random, 1, 9));
    std::vector<std::uint64_t> expected;
    for (std::int64_t range = pick(random, 1, 3); range > 0; --range) {
      const StridedRange added{static_cast<std::uint64_t>(pick(random, 0, 50)), pick(random, 0, 5),
                               Bytes(pick(random, 0, 20)), pick(random, 0, 40)};
      request.ranges.push_back(added);
      for (std::int64_t row = 0; row < added.rows; ++row) {
        for (std::int64_t i = 0; i < added.row_bytes.count(); ++i) {
          expected.push_back(added.address + static_cast<std::uint64_t>(row * added.stride + i));
        }
      }
    }
    const auto chunks = chunks_of(request.ranges, request.chunk.count());
    std::vector<std::uint64_t> covered;
    for (const auto& [address, bytes] : chunks) {
      const auto granule = static_cast<std::uint64_t>(request.chunk.count());
      EXPECT_EQ(address / granule, (address + static_cast<std::uint64_t>(bytes) - 1) / granule);
      for (std::int64_t i = 0; i < bytes; ++i) covered.push_back(address + static_cast<std::uint64_t>(i));
    }
    ASSERT_EQ(covered, expected);
    ASSERT_EQ(fabric::count_chunks(request), chunks.size());
  }
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

TEST(FabricChunks, FromMemoryToMemoryCrossNoRowAndNoGranuleOfEither) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const auto granule = static_cast<std::uint64_t>(pick(random, 1, 9));
    TransferRequest request;
    request.chunk = Bytes(static_cast<std::int64_t>(granule));
    for (std::int64_t range = pick(random, 1, 3); range > 0; --range) {
      request.ranges.push_back({static_cast<std::uint64_t>(pick(random, 0, 50)), pick(random, 1, 5),
                                Bytes(pick(random, 1, 20)), pick(random, 20, 40)});
    }
    request.landing = landing_of(request.ranges, random);
    const auto from = addresses_of(request.ranges), to = addresses_of(request.landing);
    ASSERT_EQ(from.size(), to.size());
    std::uint64_t chunks = 0;
    std::size_t at = 0;
    fabric::ChunkCursor cursor(request);
    for (fabric::Chunk chunk; cursor.next(chunk); ++chunks) {
      EXPECT_EQ(chunk.address / granule,
                (chunk.address + static_cast<std::uint64_t>(chunk.bytes.count()) - 1) / granule);
      EXPECT_EQ(chunk.landing / granule,
                (chunk.landing + static_cast<std::uint64_t>(chunk.bytes.count()) - 1) / granule);
      for (std::int64_t i = 0; i < chunk.bytes.count(); ++i, ++at) {
        ASSERT_LT(at, from.size());
        EXPECT_EQ(chunk.address + static_cast<std::uint64_t>(i), from[at]);
        EXPECT_EQ(chunk.landing + static_cast<std::uint64_t>(i), to[at]);
      }
    }
    ASSERT_EQ(at, from.size());
    ASSERT_EQ(fabric::count_chunks(request), chunks);
  }
}

TEST(FabricInterleave, StepsEqualTheDigitSum) {
  std::mt19937_64 random(2);
  for (std::uint32_t group = 1; group <= 9; ++group) {
    fabric::Interleaver interleaver(Bytes(16), group);
    std::uint64_t address = 0;
    for (int i = 0; i < 3000; ++i) {
      ASSERT_EQ(interleaver.server_of(address), interleave(address, Bytes(16), group)) << address;
      address = pick(random, 0, 40) == 0 ? random() % 100'000 : address + 16;
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
