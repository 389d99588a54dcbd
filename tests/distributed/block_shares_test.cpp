// The shares of PEs in the blocks of a collective: every element in one share, or in one for each replica, and where
// the PE holds it.
#include "distributed/block_shares.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "kernbench/placement.h"
#include "support/sanitizers.h"

namespace kernbench::distributed::block_shares_test {
namespace {

using addressing::TensorDescriptor;

constexpr std::int32_t kCubes = 3, kPes = 2;
constexpr int kPlacements = static_cast<int>(Placement::balanced) + 1;

TensorDescriptor tensor_of(const std::vector<std::int64_t>& shape, const DPPolicy& policy) {
  TensorDescriptor tensor;
  tensor.shape = shape;
  for (auto& box : resolve_dp_policy(policy, shape, 4, kPes, kCubes, SipId{0})) {
    tensor.shards.push_back(
        {.owner = {box.sip, box.cube, box.pe}, .offset = std::move(box.offset), .shape = std::move(box.shape)});
  }
  return tensor;
}

/// Who holds each element, by its row-major index.
std::vector<std::set<PeCoordinate>> holders_of(const TensorDescriptor& tensor) {
  std::vector<std::set<PeCoordinate>> holders(static_cast<std::size_t>(tensor.numel()));
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::vector<std::int64_t> index(tensor.shape.size());
    std::int64_t left = i;
    for (std::size_t d = index.size(); d-- > 0; left /= tensor.shape[d]) index[d] = left % tensor.shape[d];
    for (const auto& shard : tensor.shards) {
      bool inside = true;
      for (std::size_t d = 0; d < index.size(); ++d) {
        inside &= index[d] >= shard.offset[d] && index[d] < shard.offset[d] + shard.shape[d];
      }
      if (inside) holders[static_cast<std::size_t>(i)].insert(shard.owner);
    }
  }
  return holders;
}

/// The same, as the shares say it.
std::vector<std::set<PeCoordinate>> shared(const BlockShares& shares, std::size_t block, std::int64_t elements,
                                           std::int64_t tile) {
  std::vector<std::set<PeCoordinate>> found(static_cast<std::size_t>(elements));
  for (const PeCoordinate pe : shares.pes()) {
    std::int64_t tiles = 0;
    for_each_tile(shares.of(pe)[block], tile, 0, 1 << 30, [&](const Piece& at) {
      ++tiles;
      EXPECT_LE(at.rows * at.columns, tile);
      for (std::int64_t row = 0; row < at.rows; ++row) {
        for (std::int64_t column = 0; column < at.columns; ++column) {
          const bool is_new = found.at(static_cast<std::size_t>(at.begin + row * at.stride + column)).insert(pe).second;
          EXPECT_TRUE(is_new) << "twice in the share of one PE";
        }
      }
    });
    EXPECT_EQ(tiles, tiles_of(shares.of(pe)[block], tile));
  }
  return found;
}

TEST(BlockShares, AreWhatAPeHoldsOfAnyRangeUnderAnyPlacement) {
  const std::vector<std::vector<std::int64_t>> shapes{{},        {1},          {7},       {40},         {5, 8},
                                                      {4, 3, 7}, {2, 2, 2, 5}, {3, 8, 1}, {1, 3, 4, 2}, {0}};
  for (const auto& shape : shapes) {
    for (int cube = 0; cube < kPlacements; ++cube) {
      for (int pe = 0; pe < kPlacements; ++pe) {
        const auto tensor = tensor_of(shape, {.cube = static_cast<Placement>(cube), .pe = static_cast<Placement>(pe)});
        const auto all = holders_of(tensor);
        for (std::int64_t low = 0; low <= tensor.numel(); low += kSanitized ? 16 : 3) {
          for (std::int64_t high = low; high <= tensor.numel(); high += 5) {
            BlockShares shares(2);
            shares.add_held(1, {&tensor, low, high - low});
            const std::vector<std::set<PeCoordinate>> expected(all.begin() + low, all.begin() + high);
            for (const std::int64_t tile : {1, 4, 1000}) {
              ASSERT_EQ(shared(shares, 1, high - low, tile), expected)
                  << ::testing::PrintToString(shape) << " " << cube << " " << pe << " " << low << " " << high;
            }
            for (const PeCoordinate each : shares.pes()) EXPECT_TRUE(shares.of(each)[0].empty());
          }
        }
      }
    }
  }
}

TEST(BlockShares, EvenOnesAreEqualButForTheLast) {
  const std::vector<PeCoordinate> pes{
      {SipId{0}, CubeId{0}, PeId{0}}, {SipId{0}, CubeId{0}, PeId{1}}, {SipId{0}, CubeId{1}, PeId{0}}};
  for (const std::int64_t elements : {0, 1, 2, 3, 4, 10}) {
    BlockShares shares(1);
    shares.add_even(0, pes, elements);
    for (const auto& each : shared(shares, 0, elements, 2)) EXPECT_EQ(each.size(), 1u);
    EXPECT_EQ(shares.pes().size(), static_cast<std::size_t>(std::min<std::int64_t>(elements == 4 ? 2 : 3, elements)));
  }
}

TEST(BlockShares, HaveEqualFingerprintsIfTheyAreEqualOnWhateverSip) {
  const auto tensor = tensor_of({40}, {}), other = tensor_of({41}, {});
  auto elsewhere = tensor;
  for (auto& shard : elsewhere.shards) shard.owner.sip = SipId{3};
  const auto fingerprint = [](const TensorDescriptor& of, std::int64_t offset) {
    BlockShares shares(1);
    shares.add_held(0, {&of, offset, 20});
    return shares.fingerprint(true);
  };
  EXPECT_EQ(fingerprint(tensor, 3), fingerprint(elsewhere, 3));
  EXPECT_NE(fingerprint(tensor, 3), fingerprint(tensor, 4));
  EXPECT_NE(fingerprint(tensor, 3), fingerprint(other, 4));
}

}  // namespace
}  // namespace kernbench::distributed::block_shares_test
