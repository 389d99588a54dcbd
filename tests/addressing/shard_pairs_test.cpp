#include "addressing/shard_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "addressing/locate.h"

namespace kernbench::tile {
namespace {

using Extents = std::vector<std::int64_t>;

std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// A tensor of rank 2 cut along random lines; each cell is one shard, or one for each of `copies` PEs.
addressing::TensorDescriptor random_tensor(int sip, std::int64_t rows, std::int64_t columns, std::mt19937_64& random) {
  addressing::TensorDescriptor tensor;
  tensor.dtype = DType::f32;
  tensor.shape = {rows, columns};
  const std::int64_t row_cut = pick(random, 1, rows), column_cut = pick(random, 1, columns);
  const int copies = static_cast<int>(pick(random, 1, 3));
  std::uint64_t va = 0x1000;
  int cell = 0;
  for (const auto& [top, height] : {std::pair{std::int64_t{0}, row_cut}, {row_cut, rows - row_cut}}) {
    for (const auto& [left, width] : {std::pair{std::int64_t{0}, column_cut}, {column_cut, columns - column_cut}}) {
      if (height == 0 || width == 0) continue;
      for (int copy = 0; copy < copies; ++copy)
        tensor.shards.push_back({{{sip}, {copy}, {cell}}, {top, left}, {height, width}, va});
      va += 0x10000;
      ++cell;
    }
  }
  std::ranges::sort(tensor.shards, {}, &addressing::Shard::owner);
  return tensor;
}

/// The elements of a box by their place in the tensor, in the order in which the pieces of a shard have them.
std::vector<std::int64_t> elements(const addressing::TensorDescriptor& tensor, std::uint32_t shard,
                                   const Extents& offset, const Extents& shape) {
  std::vector<std::int64_t> all;
  const addressing::Shard& at = tensor.shards[shard];
  for (const addressing::ShardPiece& piece : locate_in_shard(tensor, shard, offset, shape)) {
    EXPECT_EQ(piece.shard, shard);
    EXPECT_EQ(piece.slice, at.owner);
    for (std::int64_t row = 0; row < piece.rows; ++row) {
      for (std::int64_t byte = 0; byte < piece.row_bytes; byte += 4) {
        const auto place =
            (static_cast<std::int64_t>(piece.va - at.va) + row * piece.stride + byte) / 4;  // in the shard
        all.push_back((at.offset[0] + place / at.shape[1]) * tensor.shape[1] + at.offset[1] + place % at.shape[1]);
      }
    }
  }
  return all;
}

TEST(ShardPairs, BringEachElementToEachReplicaOnceFromTheLowestOne) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    const auto source = random_tensor(0, pick(random, 1, 9), pick(random, 1, 9), random);
    const auto destination = random_tensor(1, pick(random, 1, 9), pick(random, 1, 9), random);
    Extents from, to, shape;
    for (std::size_t d = 0; d < 2; ++d) {
      shape.push_back(pick(random, 1, std::min(source.shape[d], destination.shape[d])));
      from.push_back(pick(random, 0, source.shape[d] - shape[d]));
      to.push_back(pick(random, 0, destination.shape[d] - shape[d]));
    }
    std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> arrived;  // by shard and element of the destination
    std::pair<std::uint32_t, std::uint32_t> last;
    for (const addressing::ShardPair& pair : pair_shards(source, from, destination, to, shape)) {
      EXPECT_TRUE(arrived.empty() || last < std::pair(pair.destination, pair.source));
      last = {pair.destination, pair.source};
      const addressing::Shard& holder = source.shards[pair.source];
      EXPECT_EQ(std::ranges::find(source.shards, holder.va, &addressing::Shard::va)->owner, holder.owner);
      const auto read = elements(source, pair.source, pair.source_offset, pair.shape);
      const auto written = elements(destination, pair.destination, pair.destination_offset, pair.shape);
      ASSERT_EQ(read.size(), written.size());
      for (std::size_t i = 0; i < read.size(); ++i)
        EXPECT_TRUE(arrived.emplace(std::pair(pair.destination, written[i]), read[i]).second);
    }
    std::size_t expected = 0;
    for (std::uint32_t s = 0; s < destination.shards.size(); ++s) {
      const addressing::Shard& shard = destination.shards[s];
      for (std::int64_t r = 0; r < shape[0]; ++r) {
        for (std::int64_t c = 0; c < shape[1]; ++c) {
          const std::int64_t row = to[0] + r, column = to[1] + c;
          if (row < shard.offset[0] || row >= shard.offset[0] + shard.shape[0] || column < shard.offset[1] ||
              column >= shard.offset[1] + shard.shape[1])
            continue;
          ++expected;
          const auto found = arrived.find({s, row * destination.shape[1] + column});
          ASSERT_NE(found, arrived.end());
          EXPECT_EQ(found->second, (from[0] + r) * source.shape[1] + from[1] + c);
        }
      }
    }
    EXPECT_EQ(arrived.size(), expected);
  }
}

TEST(ShardPairs, OfAScalarAreOnePairForEachReplica) {
  addressing::TensorDescriptor source, destination;
  source.shards = {{{{0}, {0}, {0}}, {}, {}, 0x1000}, {{{0}, {0}, {1}}, {}, {}, 0x1000}};
  destination.shards = {{{{1}, {0}, {0}}, {}, {}, 0x2000}, {{{1}, {1}, {0}}, {}, {}, 0x2000}};
  const auto pairs = pair_shards(source, {}, destination, {}, {});
  ASSERT_EQ(pairs.size(), 2U);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(pairs[i].source, 0U);
    EXPECT_EQ(pairs[i].destination, i);
  }
}

}  // namespace
}  // namespace kernbench::tile
