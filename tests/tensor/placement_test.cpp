#include "kernbench/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "fake_context.h"
#include "kernbench/error.h"
#include "kernbench/torch.h"
#include "plain_placement.h"
#include "support/all_cases.h"

namespace kernbench {
namespace {

using Extents = std::vector<std::int64_t>;
constexpr std::array kAll{Placement::replicate,       Placement::row_wise,           Placement::column_wise,
                          Placement::tiled_row_major, Placement::tiled_column_major, Placement::balanced};

std::vector<ShardSpec> resolve(const DPPolicy& policy, const Extents& shape, int pes = 4, int cubes = 3) {
  return resolve_dp_policy(policy, shape, 4, pes, cubes, SipId{1});
}

/// How many shards hold each element, by its coordinates.
std::map<Extents, std::vector<ShardSpec>> holders(const std::vector<ShardSpec>& shards) {
  std::map<Extents, std::vector<ShardSpec>> result;
  for (const ShardSpec& shard : shards) {
    Extents index = shard.offset;
    const std::int64_t count =
        std::accumulate(shard.shape.begin(), shard.shape.end(), std::int64_t{1}, std::multiplies<>());
    for (std::int64_t n = 0; n < count; ++n) {
      result[index].push_back(shard);
      for (std::size_t i = index.size(); i-- > 0;) {
        if (++index[i] < shard.offset[i] + shard.shape[i]) break;
        index[i] = shard.offset[i];
      }
    }
  }
  return result;
}

TEST(Placement, ShardsTileTheTensorOncePerReplicaForEveryPairOfPolicies) {
  std::mt19937_64 random(11);
  for (const Placement cube : kAll)
    for (const Placement pe : kAll)
      for (int round = 0; round < 60; ++round) {
        Extents shape;
        for (std::uint64_t rank = random() % 4; rank > 0; --rank)
          shape.push_back(static_cast<std::int64_t>(random() % 14));
        const int cubes = 1 + static_cast<int>(random() % 6), pes = 1 + static_cast<int>(random() % 6);
        // Of a machine that may be larger; 0 is all of it.
        const int more_cubes = static_cast<int>(random() % 3), more_pes = static_cast<int>(random() % 3);
        const DPPolicy policy{cube, pe, more_cubes == 0 ? 0 : cubes, more_pes == 0 ? 0 : pes};
        const auto shards = resolve(policy, shape, pes + more_pes, cubes + more_cubes);
        std::int64_t numel = 1;
        for (const std::int64_t extent : shape) numel *= extent;
        const auto elements = holders(shards);
        ASSERT_EQ(static_cast<std::int64_t>(elements.size()), numel);
        const std::size_t copies = static_cast<std::size_t>(cube == Placement::replicate ? cubes : 1) *
                                   static_cast<std::size_t>(pe == Placement::replicate ? pes : 1);
        for (const auto& [index, held_by] : elements) ASSERT_EQ(held_by.size(), copies);
        for (std::size_t i = 0; i < shards.size(); ++i) {
          std::int64_t bytes = 4;
          for (const std::int64_t extent : shards[i].shape) bytes *= extent;
          EXPECT_EQ(shards[i].bytes, bytes);
          EXPECT_GT(bytes, 0);
          EXPECT_EQ(shards[i].sip, SipId{1});
          EXPECT_LT(shards[i].cube.value, cubes);
          EXPECT_LT(shards[i].pe.value, pes);
          if (i == 0) continue;
          EXPECT_LT(std::pair(shards[i - 1].cube, shards[i - 1].pe), std::pair(shards[i].cube, shards[i].pe));
        }
      }
}

TEST(Placement, EverySizeIsCutAsTorchChunkCutsIt) {
  // That the host's chunk is libtorch's is compared in tests/tensor/oracle.
  const tensor::FakeContext context;
  for (std::int64_t size = 0; size <= 40; ++size) {
    const auto whole = torch::arange(size, torch::kLong);
    for (int parts = 1; parts <= 12; ++parts) {
      std::vector<std::pair<std::int64_t, std::int64_t>> of_chunk, of_policy;
      for (const auto& piece : whole.chunk(parts))
        if (piece.numel() > 0) of_chunk.emplace_back(piece[0].item<std::int64_t>(), piece.numel());
      for (const auto& shard : resolve({Placement::replicate, Placement::row_wise, 1, parts}, {size}, 12)) {
        EXPECT_EQ(shard.pe.value, static_cast<int>(of_policy.size()));
        of_policy.emplace_back(shard.offset[0], shard.shape[0]);
      }
      EXPECT_EQ(of_policy, of_chunk) << size << " in " << parts;
      EXPECT_EQ(of_policy, testing::chunk(size, parts)) << size << " in " << parts;
    }
  }
}

TEST(Placement, EveryShardIsWhereAPlainReadingOfTheChunkRulePutsIt) {
  std::mt19937_64 random(12);
  for (const Placement cube : kAll)
    for (const Placement pe : kAll)
      for (int round = 0; round < number_of_cases(100, 100, 15); ++round) {
        Extents shape;
        for (std::uint64_t rank = 1 + random() % 3; rank > 0; --rank)
          shape.push_back(static_cast<std::int64_t>(1 + random() % 40));
        const int cubes = 1 + static_cast<int>(random() % 16), pes = 1 + static_cast<int>(random() % 16);
        const SipId sip{static_cast<std::int32_t>(random() % 4)};
        std::vector<ShardSpec> expected;
        for (const auto& [at, box] : testing::plain_boxes({cube, pe}, shape, cubes, pes, 2)) {
          const auto& [c, p] = at;
          const auto bytes = std::accumulate(box.shape.begin(), box.shape.end(), std::int64_t{2}, std::multiplies<>());
          expected.push_back({sip, c, p, box.offset, box.shape, bytes});
        }
        ASSERT_EQ(resolve_dp_policy({cube, pe}, shape, 2, pes, cubes, sip), expected);
      }
}

TEST(Placement, TheDefaultUsesEveryPeForShapesOfAnyRank) {
  const std::vector<Extents> shapes{{8, 32, 128, 64}, {2, 4096},       {1, 512, 512}, {1, 8192},
                                    {4096, 64},       {1, 1, 128, 64}, {1024}};
  for (const Extents& shape : shapes) {
    const auto shards = resolve_dp_policy({}, shape, 2, 8, 16, SipId{0});
    ASSERT_EQ(shards.size(), 128u) << shape.size();
    for (const auto& shard : shards) EXPECT_EQ(shard.bytes, shards[0].bytes);
  }
}

TEST(Placement, RowsAreWholeWhereThereAreEnoughOfThem) {
  for (const Extents& shape : std::vector<Extents>{{128, 999}, {129, 999}, {8, 16, 100}, {3, 43, 100}}) {
    for (const auto& shard : resolve_dp_policy({}, shape, 2, 8, 16, SipId{0}))
      EXPECT_EQ(shard.shape.back(), shape.back());
  }
  // 129 rows: one PE has two of them, where pieces of ceil(129 / 128) would leave 53 PEs idle.
  EXPECT_EQ(resolve_dp_policy({}, Extents{129, 999}, 2, 8, 16, SipId{0}).size(), 128u);
  // 17 rows on cubes of 8 PEs: rows for the cubes, parts of rows for the PEs.
  EXPECT_EQ(resolve_dp_policy({}, Extents{17, 4096}, 2, 8, 16, SipId{0})[8].shape, (Extents{1, 512}));
}

TEST(Placement, PartsOfRowsAreAnAccessAtLeast) {
  const auto shards = resolve_dp_policy({}, Extents{1, 100}, 2, 8, 16, SipId{0});
  ASSERT_EQ(shards.size(), 3u);
  EXPECT_EQ(shards[0].shape, (Extents{1, 34}));
  EXPECT_EQ(shards[2].shape, (Extents{1, 33}));
  EXPECT_EQ(resolve_dp_policy({}, Extents{1, 31}, 2, 8, 16, SipId{0}).size(), 1u);
  EXPECT_EQ(resolve_dp_policy({}, Extents{31}, 2, 8, 16, SipId{0}).size(), 31u);
}

TEST(Placement, TheDefaultSplitsRowsOverCubesThenPes) {
  const auto shards = resolve({}, {24, 5}, 4, 3);
  ASSERT_EQ(shards.size(), 12u);
  for (std::int64_t i = 0; i < 12; ++i) {
    const auto& shard = shards[static_cast<std::size_t>(i)];
    EXPECT_EQ(shard.offset, (Extents{2 * i, 0}));
    EXPECT_EQ(shard.shape, (Extents{2, 5}));
    EXPECT_EQ(shard.cube.value, i / 4);
    EXPECT_EQ(shard.pe.value, i % 4);
  }
}

TEST(Placement, UnevenSplitsAreThoseOfChunk) {
  // torch::arange(10).chunk(4): 3, 3, 3, 1. torch::arange(5).chunk(4): 2, 2, 1.
  const auto ten = resolve({Placement::replicate, Placement::row_wise, 1, 4}, {10});
  ASSERT_EQ(ten.size(), 4u);
  EXPECT_EQ(ten[3].offset, (Extents{9}));
  EXPECT_EQ(ten[3].shape, (Extents{1}));
  EXPECT_EQ(resolve({Placement::replicate, Placement::row_wise, 1, 4}, {5}).size(), 3u);
}

TEST(Placement, ColumnsAreTheLastDimension) {
  const auto shards = resolve({Placement::column_wise, Placement::replicate, 2, 1}, {3, 4, 8});
  ASSERT_EQ(shards.size(), 2u);
  EXPECT_EQ(shards[1].offset, (Extents{0, 0, 4}));
  EXPECT_EQ(shards[1].shape, (Extents{3, 4, 4}));
  EXPECT_EQ(resolve({Placement::column_wise, Placement::replicate, 2, 1}, {8})[1].offset, (Extents{4}));
}

TEST(Placement, TilesCountAlongRowsOrColumns) {
  const auto by_row = resolve({Placement::replicate, Placement::tiled_row_major, 1, 6}, {4, 6}, 6);
  const auto by_column = resolve({Placement::replicate, Placement::tiled_column_major, 1, 6}, {4, 6}, 6);
  EXPECT_EQ(by_row[1].offset, (Extents{0, 2}));
  EXPECT_EQ(by_row[3].offset, (Extents{2, 0}));
  EXPECT_EQ(by_column[1].offset, (Extents{2, 0}));
  EXPECT_EQ(by_column[2].offset, (Extents{0, 2}));
  EXPECT_EQ(by_column[2].shape, (Extents{2, 2}));
}

TEST(Placement, ScalarsAndEmptyTensors) {
  EXPECT_EQ(resolve({}, {}).size(), 1u);
  EXPECT_EQ(resolve({Placement::replicate, Placement::replicate}, {}).size(), 12u);
  EXPECT_TRUE(resolve({}, {4, 0}).empty());
  EXPECT_TRUE(resolve({Placement::replicate, Placement::replicate}, {0}).empty());
  EXPECT_EQ(resolve({Placement::row_wise, Placement::row_wise}, {2, 100}).size(), 2u);  // fewer rows than PEs
}

TEST(Placement, TheLargestSizesAreCutWithoutOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::array shape{kMost};
  const auto shards = resolve_dp_policy({}, shape, 1, 64, 64, SipId{0});
  std::int64_t next = 0;
  for (const auto& shard : shards) {
    EXPECT_EQ(shard.offset[0], next);
    next += shard.bytes;
  }
  EXPECT_EQ(next, kMost);
  EXPECT_EQ(shards.size(), 64u * 64u);
}

TEST(Placement, SizesThatNoTensorHasAreErrors) {
  const auto with = [](const Extents& shape, std::int64_t itemsize, int pes, int cubes, int sip) {
    return resolve_dp_policy({}, shape, itemsize, pes, cubes, SipId{sip});
  };
  EXPECT_EQ(with({8}, 4, 4, 1, 0).size(), 4u);
  EXPECT_THROW(with({-1}, 4, 4, 1, 0), ValueError);
  EXPECT_THROW(with({8}, 0, 4, 1, 0), ValueError);
  EXPECT_THROW(with({8}, 4, 0, 1, 0), ValueError);
  EXPECT_THROW(with({8}, 4, 4, 0, 0), ValueError);
  EXPECT_THROW(with({8}, 4, 4, 1, -1), ValueError);
  EXPECT_THROW(with({std::int64_t{1} << 32, std::int64_t{1} << 31}, 1, 4, 1, 0), ValueError);
  EXPECT_TRUE(with({std::int64_t{1} << 62, 0, std::int64_t{1} << 62}, 4, 4, 1, 0).empty());
}

TEST(Placement, MoreCubesOrPesThanThereAreIsAnError) {
  EXPECT_THROW(resolve({.num_cubes = 4}, {8}), ValueError);
  EXPECT_THROW(resolve({.num_pes = 5}, {8}), ValueError);
  EXPECT_THROW(resolve({.num_pes = -1}, {8}), ValueError);
}

}  // namespace
}  // namespace kernbench
