#include "addressing/locate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "addressing/page_table.h"

namespace kernbench::tile {
namespace {

using Extents = std::vector<std::int64_t>;

std::int64_t product(const Extents& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

/// Calls `use` with each index of a box.
template <class Use>
void for_each_index(const Extents& shape, const Use& use) {
  Extents index(shape.size(), 0);
  for (std::int64_t n = product(shape); n > 0; --n) {
    use(index);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
}

PeCoordinate pe(int cube, int index) {
  return {{0}, {cube}, {index}};
}

/// A tensor cut along grid lines; each cell is one shard, or one for each of `copies` PEs.
class RandomTensor {
 public:
  explicit RandomTensor(std::mt19937_64& random) {
    const std::size_t rank = random() % 5 == 0 ? random() % 9 : random() % 4;
    tensor.dtype = random() % 2 == 0 ? DType::f32 : DType::f16;
    std::vector<Extents> lines(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t extent = 1 + static_cast<std::int64_t>(random() % (rank > 4 ? 3 : 9));
      tensor.shape.push_back(extent);
      lines[i] = {0, extent};
      if (random() % 2 == 0) lines[i].push_back(static_cast<std::int64_t>(random()) % extent);
      for (auto& line : lines[i]) line = std::abs(line);
      std::ranges::sort(lines[i]);
      lines[i].erase(std::unique(lines[i].begin(), lines[i].end()), lines[i].end());
    }
    const int copies = random() % 3 == 0 ? 3 : 1;
    Extents cells;
    for (const Extents& line : lines) cells.push_back(static_cast<std::int64_t>(line.size()) - 1);
    std::uint64_t va = 0x1000;
    int number = 0;
    for_each_index(cells, [&](const Extents& cell) {
      addressing::Shard shard;
      for (std::size_t i = 0; i < rank; ++i) {
        const auto at = static_cast<std::size_t>(cell[i]);
        shard.offset.push_back(lines[i][at]);
        shard.shape.push_back(lines[i][at + 1] - lines[i][at]);
      }
      shard.va = va;
      for (int copy = 0; copy < copies; ++copy) {
        shard.owner = pe(copy, number);
        tensor.shards.push_back(shard);
      }
      va += 0x1000;
      ++number;
    });
    std::ranges::sort(tensor.shards, {}, &addressing::Shard::owner);
  }

  /// The address of one element in a shard.
  std::uint64_t address(const addressing::Shard& shard, const Extents& index) const {
    std::int64_t linear = 0;
    for (std::size_t i = 0; i < index.size(); ++i) linear = linear * shard.shape[i] + index[i] - shard.offset[i];
    return shard.va + static_cast<std::uint64_t>(linear * item_size(tensor.dtype));
  }
  bool holds(const addressing::Shard& shard, const Extents& index) const {
    for (std::size_t i = 0; i < index.size(); ++i)
      if (index[i] < shard.offset[i] || index[i] >= shard.offset[i] + shard.shape[i]) return false;
    return true;
  }

  addressing::TensorDescriptor tensor;
};

struct Box {
  Extents offset, shape;
};

Box random_box(const Extents& tensor, std::mt19937_64& random) {
  Box box;
  for (const std::int64_t extent : tensor) {
    box.offset.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent + 3)) - 1);
    box.shape.push_back(1 +
                        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(tensor.size() > 4 ? 3 : 9)));
  }
  return box;
}

/// (shard, address) of the bytes of each element of the box, by its byte position in the box.
using Elements = std::multimap<std::int64_t, std::pair<std::uint32_t, std::uint64_t>>;

Elements expand(const std::vector<addressing::ShardPiece>& pieces, std::int64_t item) {
  Elements result;
  for (const addressing::ShardPiece& piece : pieces)
    for (std::int64_t row = 0; row < piece.rows; ++row)
      for (std::int64_t byte = 0; byte < piece.row_bytes; byte += item)
        result.emplace(piece.box_offset + row * piece.box_stride + byte,
                       std::pair(piece.shard, piece.va + static_cast<std::uint64_t>(row * piece.stride + byte)));
  return result;
}

/// The reference: each element of the box on its own. `chosen` picks among the shards that hold an element.
template <class Chosen>
Elements brute_force(const RandomTensor& subject, const Box& box, const Chosen& chosen) {
  Elements result;
  std::int64_t position = 0;
  for_each_index(box.shape, [&](const Extents& in_box) {
    Extents index = in_box;
    for (std::size_t i = 0; i < index.size(); ++i) index[i] += box.offset[i];
    std::vector<std::uint32_t> holders;
    for (std::uint32_t i = 0; i < subject.tensor.shards.size(); ++i)
      if (subject.holds(subject.tensor.shards[i], index)) holders.push_back(i);
    if (!holders.empty())
      for (const std::uint32_t i : chosen(holders))
        result.emplace(position, std::pair(i, subject.address(subject.tensor.shards[i], index)));
    position += item_size(subject.tensor.dtype);
  });
  return result;
}

class Locate : public testing::Test {
 protected:
  std::mt19937_64 random{7};
};

TEST_F(Locate, FindsEachElementOfABoxOnceAsBruteForceDoes) {
  for (int round = 0; round < 3'000; ++round) {
    const RandomTensor subject(random);
    const auto& shards = subject.tensor.shards;
    const Box box = random_box(subject.tensor.shape, random);
    const bool host = random() % 4 == 0;
    const PeCoordinate reader = random() % 2 == 0 ? shards[random() % shards.size()].owner : pe(9, 0);
    const auto pieces = host ? locate_box(subject.tensor, box.offset, box.shape)
                             : locate_box(subject.tensor, box.offset, box.shape, reader);
    const Elements expected = brute_force(subject, box, [&](const std::vector<std::uint32_t>& holders) {
      const auto own = std::ranges::find_if(holders, [&](std::uint32_t i) { return shards[i].owner == reader; });
      const auto near =
          std::ranges::find_if(holders, [&](std::uint32_t i) { return shards[i].owner.cube == reader.cube; });
      if (!host && own != holders.end()) return std::vector{*own};
      if (!host && near != holders.end()) return std::vector{*near};
      return std::vector{holders.front()};
    });
    ASSERT_EQ(expand(pieces, item_size(subject.tensor.dtype)), expected) << "round " << round;
    EXPECT_TRUE(std::ranges::is_sorted(pieces, {}, &addressing::ShardPiece::box_offset));
    for (const addressing::ShardPiece& piece : pieces) EXPECT_EQ(piece.slice, shards[piece.shard].owner);
  }
}

/// Lanes along random strides, all of which lie in a tensor of `elements`.
struct RandomLanes {
  RandomLanes(std::int64_t elements, std::mt19937_64& random) {
    const auto below = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % (most + 1ull)); };
    offset = below(elements - 1);
    std::int64_t left = elements - 1 - offset, lanes = 1;
    for (std::uint64_t rank = random() % 4; rank > 0; --rank) {
      const std::int64_t stride = random() % 3 == 0 ? 1 : below(left);
      const std::int64_t size = 1 + below(stride == 0 ? 3 : std::min<std::int64_t>(left / stride, 12));
      sizes.push_back(size), strides.push_back(stride), lane_strides.push_back(lanes);
      left -= (size - 1) * stride, lanes *= size;
    }
  }
  std::int64_t offset = 0;
  Extents sizes, strides, lane_strides;
};

TEST_F(Locate, LanesAreWhereEachOfTheirElementsIs) {
  for (int round = 0; round < 5'000; ++round) {
    const RandomTensor subject(random);
    const auto& shards = subject.tensor.shards;
    const std::int64_t item = item_size(subject.tensor.dtype);
    const RandomLanes lanes(product(subject.tensor.shape), random);
    const PeCoordinate reader = random() % 2 == 0 ? shards[random() % shards.size()].owner : pe(9, 0);
    const auto pieces =
        locate_lanes(subject.tensor, {lanes.offset, 7, lanes.sizes, lanes.strides, lanes.lane_strides}, reader);
    Elements expected;
    for_each_index(lanes.sizes, [&](const Extents& at) {
      std::int64_t element = lanes.offset, lane = 7;
      for (std::size_t i = 0; i < at.size(); ++i)
        element += at[i] * lanes.strides[i], lane += at[i] * lanes.lane_strides[i];
      Extents index(subject.tensor.shape.size());
      for (std::size_t i = index.size(); i-- > 0; element /= subject.tensor.shape[i])
        index[i] = element % subject.tensor.shape[i];
      const Extents one(index.size(), 1);
      for (const auto& [position, place] : expand(locate_box(subject.tensor, index, one, reader), item))
        expected.emplace(lane * item, place);
    });
    const Elements found = expand(pieces, item);
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

TEST_F(Locate, AllCopiesFindsEachElementInEachReplica) {
  for (int round = 0; round < 1'000; ++round) {
    const RandomTensor subject(random);
    const Box box = random_box(subject.tensor.shape, random);
    Elements found = expand(locate_all_copies(subject.tensor, box.offset, box.shape), item_size(subject.tensor.dtype));
    Elements expected = brute_force(subject, box, [](const auto& holders) { return holders; });
    const auto sorted = [](const Elements& elements) {
      std::vector<std::pair<std::int64_t, std::pair<std::uint32_t, std::uint64_t>>> all(elements.begin(),
                                                                                        elements.end());
      std::ranges::sort(all);
      return all;
    };
    ASSERT_EQ(sorted(found), sorted(expected)) << "round " << round;
  }
}

addressing::TensorDescriptor matrix_of_two_row_shards() {
  return {.name = "x",
          .dtype = DType::f16,
          .shape = {8, 16},
          .va = 0x1000,
          .va_bytes = Bytes(0x2000),
          .shards = {{.owner = pe(0, 0), .offset = {0, 0}, .shape = {4, 16}, .va = 0x1000},
                     {.owner = pe(0, 1), .offset = {4, 0}, .shape = {4, 16}, .va = 0x2000}}};
}

TEST(LocateMerging, WholeRowsOfAShardAreOneRow) {
  const auto pieces = locate_box(matrix_of_two_row_shards(), Extents{2, 0}, Extents{4, 16}, pe(0, 1));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].rows, 1);
  EXPECT_EQ(pieces[0].row_bytes, 64);
  EXPECT_EQ(pieces[0].va, 0x1000u + 64);
  EXPECT_EQ(pieces[1].va, 0x2000u);
  EXPECT_EQ(pieces[1].box_offset, 64);
}

TEST(LocateMerging, ColumnsOfAShardAreRowsAtItsStride) {
  const auto pieces = locate_box(matrix_of_two_row_shards(), Extents{0, 4}, Extents{4, 8});
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0], (addressing::ShardPiece{.shard = 0,
                                               .slice = pe(0, 0),
                                               .va = 0x1008,
                                               .rows = 4,
                                               .row_bytes = 16,
                                               .stride = 32,
                                               .box_offset = 0,
                                               .box_stride = 16}));
}

TEST(LocateMerging, ABoxBeyondTheEndHasNoPiece) {
  EXPECT_TRUE(locate_box(matrix_of_two_row_shards(), Extents{8, 0}, Extents{4, 16}).empty());
}

TEST(LocateMerging, AScalarIsOneElement) {
  const addressing::TensorDescriptor scalar{.name = "s",
                                            .shape = {},
                                            .va = 64,
                                            .va_bytes = Bytes(4),
                                            .shards = {{.owner = pe(0, 0), .offset = {}, .shape = {}, .va = 64}}};
  const auto pieces = locate_box(scalar, Extents{}, Extents{}, pe(3, 3));
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].rows * pieces[0].row_bytes, 4);
}

}  // namespace
}  // namespace kernbench::tile
