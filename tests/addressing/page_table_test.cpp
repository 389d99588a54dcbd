#include "addressing/page_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "addressing/interleaved_places.h"
#include "kernbench/error.h"

namespace kernbench::tile::page_table_test {
namespace {

PeCoordinate pe(int cube, int index) {
  return {{0}, {cube}, {index}};
}

std::string failure(const addressing::VirtualAddressSpace& space, std::uint64_t va, std::int64_t bytes = 1) {
  try {
    space.translate(pe(0, 0), va, Bytes(bytes));
  } catch (const OutOfBoundsError& error) {
    return error.what();
  }
  return "";
}

TEST(NearestCopy, IsTheOwnThenOneOfTheCubeThenTheLowest) {
  const std::vector copies{pe(0, 1), pe(0, 3), pe(2, 4), pe(2, 6)};
  EXPECT_EQ(addressing::nearest_copy(copies, pe(2, 6)), 3u);
  EXPECT_EQ(addressing::nearest_copy(copies, pe(2, 0)), 2u);
  EXPECT_EQ(addressing::nearest_copy(copies, pe(2, 7)), 2u);
  EXPECT_EQ(addressing::nearest_copy(copies, pe(1, 1)), 0u);
  EXPECT_EQ(addressing::nearest_copy(copies, {{1}, {2}, {6}}), 0u);
}

class PageTable : public testing::Test {
 protected:
  addressing::VirtualAddressSpace space{Bytes(4096)};
};

TEST_F(PageTable, TranslatesEveryByteOfEveryShard) {
  const std::uint64_t va = space.map("x", Bytes(8192 + 100),
                                     {{.offset = 8192, .bytes = Bytes(100), .slice = pe(0, 1), .address = 0},
                                      {.offset = 0, .bytes = Bytes(5000), .slice = pe(0, 0), .address = 4096}});
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const addressing::Translation at = space.translate(pe(3, 3), va + i, Bytes(1));
    ASSERT_EQ(at.slice, pe(0, 0));
    ASSERT_EQ(at.address, 4096 + i);
  }
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(space.translate(pe(0, 0), va + 8192 + i, Bytes(1)).slice, pe(0, 1));
  EXPECT_EQ(space.translate(pe(0, 0), va, Bytes(5000)).address, 4096u);
}

TEST_F(PageTable, EachPeReadsItsOwnReplica) {
  const std::uint64_t va = space.map("w", Bytes(64),
                                     {{.offset = 0, .bytes = Bytes(64), .slice = pe(1, 0), .address = 128},
                                      {.offset = 0, .bytes = Bytes(64), .slice = pe(0, 0), .address = 0}});
  EXPECT_EQ(space.translate(pe(1, 0), va + 8, Bytes(8)).address, 136u);
  EXPECT_EQ(space.translate(pe(0, 0), va + 8, Bytes(8)).address, 8u);
  EXPECT_EQ(space.translate(pe(1, 5), va + 8, Bytes(8)).slice, pe(1, 0));
  EXPECT_EQ(space.translate(pe(7, 5), va + 8, Bytes(8)).slice, pe(0, 0));
}

TEST_F(PageTable, AnArrayLeadsToItsRegion) {
  const Interleaving how{.cubes = 1, .pes = 2, .granule = Bytes(64)};
  const std::uint64_t va =
      space.map("x", Bytes(5000),
                {{.offset = 0, .bytes = Bytes(5000), .slice = pe(1, 0), .address = 8192, .interleaving = how},
                 {.offset = 0, .bytes = Bytes(5000), .slice = pe(0, 0), .address = 4096, .interleaving = how}});
  const auto own = space.translate(pe(1, 1), va + 100, Bytes(4900));
  ASSERT_TRUE(own.region.has_value());
  EXPECT_EQ(own.slice, pe(1, 0));
  EXPECT_EQ(own.address, 2 * 8192u + 100);
  EXPECT_EQ(own.region->decode(own.address), (SliceAddress{pe(1, interleaved_part(257, 2)), 8192 + 36}));
  EXPECT_EQ(space.translate(pe(3, 0), va + 100, Bytes(1)).address, 2 * 4096u + 100) << "the lowest of the copies";
  EXPECT_NE(
      failure(space, va + 4999, 2).find("; the array there, interleaved over 2 slices from sip0.cube0.pe0 on, is ["),
      std::string::npos)
      << failure(space, va + 4999, 2);
}

// Byte by byte, in any form that a piece can have.
TEST(InterleavedPlaces, ArePartsOfAPieceThatLieInOneSliceEach) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (int round = 0; round < 500; ++round) {
    const InterleavedRegion region(pe(0, 0), {pick(1, 3), pick(1, 3), Bytes(std::int64_t{1} << pick(3, 6))});
    addressing::ShardPiece piece;
    piece.va = 4096;
    piece.rows = pick(1, 6);
    piece.row_bytes = pick(1, 150);
    piece.box_offset = pick(0, 9);
    if (piece.rows > 1) piece.stride = piece.row_bytes + pick(0, 100), piece.box_stride = piece.row_bytes + pick(0, 5);
    const auto start = static_cast<std::uint64_t>(pick(0, 3000));
    const addressing::Translation target{.slice = pe(0, 0), .address = start, .region = region};
    std::map<std::int64_t, SliceAddress> expected, found;  // by place in the box
    for (std::int64_t row = 0; row < piece.rows; ++row) {
      for (std::int64_t byte = 0; byte < piece.row_bytes; ++byte)
        expected[piece.box_offset + row * piece.box_stride + byte] =
            region.decode(start + static_cast<std::uint64_t>(row * piece.stride + byte));
    }
    std::map<SliceAddress, int> in_legs, in_pieces;
    for_each_place(piece, target, [&](const addressing::ShardPiece& part, const addressing::Translation& at) {
      EXPECT_FALSE(at.region.has_value());
      EXPECT_EQ(part.slice, at.slice);
      for (std::int64_t row = 0; row < part.rows; ++row) {
        for (std::int64_t byte = 0; byte < part.row_bytes; ++byte) {
          const SliceAddress place{at.slice, at.address + static_cast<std::uint64_t>(row * part.stride + byte)};
          EXPECT_TRUE(found.emplace(part.box_offset + row * part.box_stride + byte, place).second);
          ++in_pieces[place];
        }
      }
    });
    EXPECT_EQ(found, expected) << "round " << round;
    for_each_rows(piece, target, [&](const addressing::PlacedRows& rows) {
      for (std::int64_t row = 0; row < rows.rows; ++row) {
        for (std::int64_t byte = 0; byte < rows.row_bytes; ++byte)
          ++in_legs[{rows.first.slice, rows.first.address + static_cast<std::uint64_t>(row * rows.stride + byte)}];
        EXPECT_LE(rows.row_bytes, region.how().granule.count());
      }
    });
    EXPECT_EQ(in_legs, in_pieces) << "round " << round;
  }
}

TEST_F(PageTable, RangesArePageAlignedAndNeverTouch) {
  std::mt19937_64 random(5);
  std::uint64_t end = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto bytes = static_cast<std::int64_t>(random() % 20'000);
    const std::uint64_t va = space.map("t", Bytes(bytes), {});
    EXPECT_EQ(va % 4096, 0u);
    EXPECT_GE(va, end + 4096);
    end = va + static_cast<std::uint64_t>(bytes);
    if (random() % 2 == 0) space.unmap(va);
  }
}

TEST_F(PageTable, OverrunsNameTheTensorAndItsRange) {
  const std::uint64_t va =
      space.map("x", Bytes(5000), {{.offset = 0, .bytes = Bytes(5000), .slice = pe(0, 2), .address = 0}});
  ASSERT_EQ(va, 0x1000u);
  EXPECT_EQ(failure(space, va + 4999), "");
  EXPECT_EQ(
      failure(space, va + 5000),
      "access of 1 B at virtual address 0x2388 is outside of tensor \"x\", whose range is [0x1000, 0x2388); the shard "
      "there, on sip0.cube0.pe2, is [0x1000, 0x2388)");
  EXPECT_NE(failure(space, va + 4999, 2), "");
  EXPECT_NE(failure(space, va + 8192).find("outside of tensor \"x\""), std::string::npos);  // the guard page
  EXPECT_EQ(failure(space, va + 16384), "access of 1 B at virtual address 0x5000 belongs to no tensor");
  EXPECT_EQ(failure(space, 8), "access of 1 B at virtual address 0x8 is a null address: no tensor is there");
}

/// Names are not unique: what an address belongs to is told by where its range begins.
TEST_F(PageTable, AnAddressOfNoUseTellsItsRange) {
  const auto map = [&] {
    return space.map("x", Bytes(64), {{.offset = 0, .bytes = Bytes(64), .slice = pe(0, 0), .address = 0}});
  };
  const std::uint64_t first = map(), second = map();
  const auto range_of = [&](std::uint64_t va) {
    try {
      space.translate(pe(0, 0), va, Bytes(1));
    } catch (const addressing::UnmappedAccess& error) {
      return error.range();
    }
    return std::optional<std::uint64_t>();
  };
  EXPECT_EQ(range_of(first + 4096), first);
  EXPECT_EQ(range_of(second + 4096), second);
  space.unmap(second);
  EXPECT_EQ(range_of(second), second);
  EXPECT_EQ(range_of(8), std::nullopt);
  EXPECT_EQ(range_of(second + (1 << 20)), std::nullopt);
}

TEST_F(PageTable, AFreedTensorIsNamed) {
  const auto map = [&](const char* name) {
    return space.map(name, Bytes(64), {{.offset = 0, .bytes = Bytes(64), .slice = pe(0, 0), .address = 0}});
  };
  const std::uint64_t va = map("old");
  space.unmap(va);
  EXPECT_EQ(failure(space, va + 4),
            "access of 1 B at virtual address 0x1004 touches tensor \"old\", which was freed; its range was [0x1000, "
            "0x1040)");
  for (int i = 0; i < 1000; ++i) space.unmap(map("other"));
  EXPECT_EQ(failure(space, va + 4), "access of 1 B at virtual address 0x1004 belongs to no tensor");
  EXPECT_EQ(space.live_ranges(), 0u);
}

}  // namespace
}  // namespace kernbench::tile::page_table_test
