#include "tile/memory/touched_pages.h"

#include <gtest/gtest.h>

#include <random>

namespace kernbench::tile {
namespace {

using hardware::PageRange;

addressing::ShardPiece piece(std::uint64_t va, std::int64_t rows, std::int64_t row_bytes, std::int64_t stride) {
  addressing::ShardPiece piece;
  piece.va = va;
  piece.rows = rows;
  piece.row_bytes = row_bytes;
  piece.stride = stride;
  return piece;
}

std::vector<PageRange> pages_of(const std::vector<addressing::ShardPiece>& pieces, std::int64_t page = 4096) {
  TouchedPages pages{Bytes(page)};
  for (const addressing::ShardPiece& one : pieces) pages.add(one);
  return pages.take();
}

TEST(TouchedPages, WhatLiesInOnePageIsOnePage) {
  EXPECT_EQ(pages_of({piece(4096, 1, 4096, 0)}), (std::vector<PageRange>{{1, 1, 1, 0}}));
  EXPECT_EQ(pages_of({piece(8191, 1, 2, 0)}), (std::vector<PageRange>{{1, 2, 1, 0}}));
  EXPECT_EQ(pages_of({piece(4096, 8, 64, 512)}), (std::vector<PageRange>{{1, 1, 1, 0}}));
}

TEST(TouchedPages, RowsAPageApartAtMostAreOneRun) {
  EXPECT_EQ(pages_of({piece(0, 16, 1, 4096)}), (std::vector<PageRange>{{0, 16, 1, 0}}));
}

TEST(TouchedPages, RowsOfWholePagesApartAreOneRange) {
  EXPECT_EQ(pages_of({piece(4000, 5, 200, 3 * 4096)}), (std::vector<PageRange>{{0, 2, 5, 3}}));
}

TEST(TouchedPages, PiecesThatFollowEachOtherAreOneRun) {
  EXPECT_EQ(pages_of({piece(0, 1, 100, 0), piece(200, 1, 4000, 0), piece(8192, 1, 1, 0)}),
            (std::vector<PageRange>{{0, 3, 1, 0}}));
  EXPECT_EQ(pages_of({piece(0, 1, 1, 0), piece(8192, 1, 1, 0), piece(0, 1, 1, 0)}),
            (std::vector<PageRange>{{0, 1, 1, 0}, {2, 1, 1, 0}, {0, 1, 1, 0}}));
}

TEST(TouchedPages, NoBytesTouchNoPage) {
  EXPECT_TRUE(pages_of({piece(100, 0, 64, 64), piece(100, 1, 0, 0)}).empty());
}

std::vector<std::uint64_t> listed(const std::vector<PageRange>& ranges) {
  std::vector<std::uint64_t> pages;
  for (const PageRange& range : ranges) {
    for (std::uint64_t row = 0; row < range.rows; ++row) {
      for (std::uint64_t i = 0; i < range.count; ++i) {
        const std::uint64_t page = range.first + row * range.stride + i;
        if (pages.empty() || pages.back() != page) pages.push_back(page);
      }
    }
  }
  return pages;
}

TEST(TouchedPages, ListThePageOfEveryByteInOrder) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t page = std::int64_t{1} << (random() % 8);
    std::vector<addressing::ShardPiece> pieces;
    std::vector<std::uint64_t> expected;
    for (std::uint64_t count = random() % 3 + 1; count > 0; --count) {
      const auto row_bytes = static_cast<std::int64_t>(random() % 200 + 1);
      const auto gap = static_cast<std::int64_t>(random() % 3 == 0 ? random() % 5 * static_cast<std::uint64_t>(page)
                                                                   : random() % 700);
      pieces.push_back(piece(random() % 3000, static_cast<std::int64_t>(random() % 6 + 1), row_bytes, row_bytes + gap));
      for (std::int64_t row = 0; row < pieces.back().rows; ++row) {
        for (std::int64_t byte = 0; byte < row_bytes; ++byte) {
          const std::uint64_t at = (pieces.back().va + static_cast<std::uint64_t>(row * (row_bytes + gap) + byte)) /
                                   static_cast<std::uint64_t>(page);
          if (expected.empty() || expected.back() != at) expected.push_back(at);
        }
      }
    }
    ASSERT_EQ(listed(pages_of(pieces, page)), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace kernbench::tile
