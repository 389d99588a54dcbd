#include "tensor/placement/slice_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "support/all_cases.h"

namespace kernbench::tensor {
namespace {

TEST(SliceAllocator, AMillionRandomRoundsLeakNothingAndNeverOverlap) {
  constexpr std::int64_t kCapacity = 1 << 18, kPage = 256;
  SliceAllocator memory{Bytes(kCapacity), Bytes(kPage)};
  std::mt19937_64 random(3);
  struct Block {
    std::uint64_t address;
    std::int64_t bytes;
  };
  std::vector<Block> live;
  std::vector<bool> used(kCapacity / kPage, false);
  std::int64_t used_pages = 0, overlaps = 0;
  const auto mark = [&](const Block& block, bool value) {
    for (std::int64_t page = 0; page < (block.bytes + kPage - 1) / kPage; ++page) {
      const auto index = static_cast<std::size_t>(block.address / kPage) + static_cast<std::size_t>(page);
      overlaps += used.at(index) == value ? 1 : 0;
      used[index] = value;
      used_pages += value ? 1 : -1;
    }
  };
  for (int round = 0; round < number_of_cases(1'000'000, 1'000'000, 150'000); ++round) {
    if (live.empty() || random() % 2 == 0) {
      const auto bytes = static_cast<std::int64_t>(1 + random() % 4'000);
      const Bytes largest = memory.largest_free();
      const auto address = memory.allocate(Bytes(bytes));
      ASSERT_EQ(address.has_value(), bytes <= largest.count());
      if (address) {
        ASSERT_EQ(*address % kPage, 0u);
        live.push_back({*address, bytes});
        mark(live.back(), true);
      }
    } else {
      std::swap(live[random() % live.size()], live.back());
      memory.free(live.back().address, Bytes(live.back().bytes));
      mark(live.back(), false);
      live.pop_back();
    }
    ASSERT_EQ(memory.free_bytes().count(), kCapacity - used_pages * kPage);
  }
  EXPECT_EQ(overlaps, 0);
  for (const Block& block : live) memory.free(block.address, Bytes(block.bytes));
  EXPECT_EQ(memory.free_bytes(), Bytes(kCapacity));
  EXPECT_EQ(memory.largest_free(), Bytes(kCapacity));
  EXPECT_EQ(memory.free_blocks(), 1u);
}

TEST(SliceAllocator, FindsTheHighestRoomBelowAnAddressAndTakesIt) {
  constexpr std::int64_t kPages = 64, kPage = 16;
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    SliceAllocator memory{Bytes(kPages * kPage), Bytes(kPage)};
    std::vector<bool> used(kPages, false);
    const auto is_free = [&](std::int64_t first, std::int64_t count) {
      return first + count <= kPages && std::count(used.begin() + first, used.begin() + first + count, true) == 0;
    };
    for (int step = 0; step < 12; ++step) {
      const auto count = static_cast<std::int64_t>(1 + random() % 9), end = static_cast<std::int64_t>(random() % 65);
      std::optional<std::uint64_t> expected;
      for (std::int64_t first = 0; first + count <= end; ++first)
        if (is_free(first, count)) expected = static_cast<std::uint64_t>(first * kPage);
      const Bytes bytes(count * kPage - static_cast<std::int64_t>(random() % kPage));
      const auto found = memory.highest_room(bytes, static_cast<std::uint64_t>(end * kPage));
      ASSERT_EQ(found, expected) << "round " << round;
      if (!found) continue;
      memory.allocate_at(*found, bytes);
      std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(*found / kPage), count, true);
      ASSERT_EQ(memory.free_bytes().count(), std::count(used.begin(), used.end(), false) * kPage);
    }
  }
}

TEST(SliceAllocator, SaysHowManyRequestsFindRoom) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    SliceAllocator memory{Bytes(10'000), Bytes(10)};
    std::vector<std::pair<std::uint64_t, Bytes>> taken;
    while (const auto address = memory.allocate(Bytes(100))) taken.emplace_back(*address, Bytes(100));
    for (const auto& [address, bytes] : taken) {
      if (random() % 2 == 0) memory.free(address, bytes);
    }
    const Bytes each(static_cast<std::int64_t>(1 + random() % 350));
    const std::int64_t room = memory.room_for(each);
    std::int64_t found = 0;
    while (memory.allocate(each)) ++found;
    ASSERT_EQ(room, found) << "round " << round;
  }
}

TEST(SliceAllocator, TakesTheSmallestBlockThatFits) {
  SliceAllocator memory{Bytes(1000), Bytes(10)};
  const auto a = memory.allocate(Bytes(100)), gap = memory.allocate(Bytes(10)), b = memory.allocate(Bytes(50));
  memory.allocate(Bytes(10));
  memory.free(*a, Bytes(100));
  memory.free(*b, Bytes(50));
  EXPECT_EQ(memory.allocate(Bytes(45)), b);
  EXPECT_EQ(memory.allocate(Bytes(60)), a);
  memory.free(*gap, Bytes(10));
}

TEST(SliceAllocator, MoreThanTheCapacityIsRefused) {
  SliceAllocator memory{Bytes(4096), Bytes(4096)};
  EXPECT_FALSE(memory.allocate(Bytes(4097)));
  EXPECT_FALSE(memory.allocate(Bytes(INT64_MAX)));
  EXPECT_TRUE(memory.allocate(Bytes(4096)));
  EXPECT_FALSE(memory.allocate(Bytes(1)));
}

}  // namespace
}  // namespace kernbench::tensor
