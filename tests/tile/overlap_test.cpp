#include "tile/program/overlap.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace kernbench::tile {
namespace {

using hardware::StridedRange;

std::set<std::uint64_t> bytes_of(const StridedRange& range) {
  std::set<std::uint64_t> bytes;
  for (std::int64_t row = 0; row < range.rows; ++row) {
    for (std::int64_t i = 0; i < range.row_bytes.count(); ++i) {
      bytes.insert(range.address + static_cast<std::uint64_t>(row * range.stride + i));
    }
  }
  return bytes;
}

bool share_a_byte(const StridedRange& a, const StridedRange& b) {
  const auto bytes = bytes_of(a);
  for (const auto byte : bytes_of(b)) {
    if (bytes.contains(byte)) return true;
  }
  return false;
}

TEST(Overlap, AgreesWithByteSetsOnRandomStridedRanges) {
  std::mt19937 random(7);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  const auto range = [&] {
    const int row_bytes = draw(0, 6);
    return StridedRange{static_cast<std::uint64_t>(draw(0, 60)), draw(0, 5), Bytes(row_bytes), row_bytes + draw(0, 9)};
  };
  int overlaps = 0;
  for (int i = 0; i < 20000; ++i) {
    const StridedRange a = range(), b = range();
    ASSERT_EQ(overlap(a, b), share_a_byte(a, b)) << i;
    ASSERT_EQ(overlap(b, a), overlap(a, b)) << i;
    overlaps += overlap(a, b);
  }
  EXPECT_GT(overlaps, 2000);
  EXPECT_LT(overlaps, 18000);
}

TEST(Overlap, ColumnBlocksOfOneMatrixDoNotOverlap) {
  const StridedRange left{0, 64, Bytes(128), 4096}, right{128, 64, Bytes(128), 4096};
  EXPECT_FALSE(overlap(left, right));
}

TEST(Overlap, AgreesWithByteSetsOnLegsOfManyRanges) {
  std::mt19937 random(8);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  int overlaps = 0;
  for (int i = 0; i < 500; ++i) {
    const auto leg = [&] {
      hardware::DmaLeg result{{SipId{0}, CubeId{0}, PeId{0}}, {}};
      const int space = draw(200, 30000);
      for (int n = draw(17, 40); n > 0; --n) {
        const int row_bytes = draw(0, 6);
        result.ranges.push_back(
            {static_cast<std::uint64_t>(draw(0, space)), draw(0, 3), Bytes(row_bytes), row_bytes + draw(0, 200)});
      }
      return result;
    };
    const auto a = leg(), b = leg();
    bool expected = false;
    for (const auto& x : a.ranges)
      for (const auto& y : b.ranges) expected = expected || share_a_byte(x, y);
    ASSERT_EQ(overlap({a}, {b}), expected) << i;
    ASSERT_EQ(overlap({b}, {a}), expected) << i;
    overlaps += expected;
  }
  EXPECT_GT(overlaps, 50);
  EXPECT_LT(overlaps, 450);
}

TEST(Overlap, LegsOnDifferentSlicesDoNotOverlap) {
  const StridedRange range{0, 1, Bytes(64), 64};
  const hardware::DmaLeg here{{SipId{0}, CubeId{0}, PeId{0}}, {range}}, there{{SipId{0}, CubeId{0}, PeId{1}}, {range}};
  EXPECT_FALSE(overlap({here}, {there}));
  EXPECT_TRUE(overlap({here}, {there, here}));
}

}  // namespace
}  // namespace kernbench::tile
