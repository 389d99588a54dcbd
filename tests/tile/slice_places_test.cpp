// The addresses that have most of a sum are known without all of them.
#include "tile/program/slice_places.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace kernbench::tile {
namespace {

std::int64_t amount_at(const FrequentAddresses& all, std::uint64_t address) {
  for (const FrequentAddresses::Entry& entry : all.entries()) {
    if (entry.amount > 0 && entry.address == address) return entry.amount;
  }
  return 0;
}

TEST(FrequentAddresses, FewAddressesHaveTheirAmounts) {
  FrequentAddresses all;
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t place = 0; place < 4; ++place) all.add(100 * place + 7, 10, Bytes(100));
    all.add(199, 1, Bytes(100));
  }
  EXPECT_EQ(amount_at(all, 7), 50);
  EXPECT_EQ(amount_at(all, 107), 55) << "and of 199, in the same granule";
  EXPECT_EQ(amount_at(all, 307), 50);
}

TEST(FrequentAddresses, WhatHasMostIsAmongThemHoweverManyThereAre) {
  FrequentAddresses all;
  std::int64_t sum = 0;
  for (std::uint64_t other = 1; other <= 10'000; ++other) {
    all.add(64 * other, 1, Bytes(64));
    sum += 1;
    if (other % 2 != 0) continue;
    all.add(0, 1, Bytes(64));
    sum += 1;
  }
  EXPECT_LE(amount_at(all, 0), 5'000);
  EXPECT_GE(amount_at(all, 0), 5'000 - sum / 5);
}

}  // namespace
}  // namespace kernbench::tile
