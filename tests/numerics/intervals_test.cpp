#include "numerics/memory/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace kernbench::numerics {
namespace {

std::size_t count_runs(const std::vector<bool>& bits) {
  std::size_t runs = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) runs += bits[i] && (i == 0 || !bits[i - 1]);
  return runs;
}

TEST(IntervalSet, AgreesWithABitmapUnderRandomChanges) {
  constexpr int kSize = 64;
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    IntervalSet set;
    std::vector<bool> bits(kSize);
    for (int step = 0; step < 100; ++step) {
      int begin = static_cast<int>(random() % (kSize + 1)), end = static_cast<int>(random() % (kSize + 1));
      if (begin > end && random() % 8 != 0) std::swap(begin, end);
      const bool insert = random() % 2 == 0;
      if (insert)
        set.insert(begin, end);
      else
        set.erase(begin, end);
      for (int i = begin; i < end; ++i) bits[static_cast<std::size_t>(i)] = insert;
      ASSERT_EQ(set.range_count(), count_runs(bits));

      const int from = static_cast<int>(random() % kSize);
      const int to = from + static_cast<int>(random() % static_cast<unsigned>(kSize - from + 1));
      std::vector<bool> seen(kSize, true);
      int last = from - 1;
      set.for_each_gap(from, to, [&](std::int64_t gap, std::int64_t gap_end) {
        ASSERT_GT(gap, last);
        ASSERT_LT(gap, gap_end);
        ASSERT_LE(gap_end, to);
        last = static_cast<int>(gap_end);
        for (std::int64_t i = gap; i < gap_end; ++i) seen[static_cast<std::size_t>(i)] = false;
      });
      bool all = true;
      for (int i = from; i < to; ++i) {
        all = all && bits[static_cast<std::size_t>(i)];
        ASSERT_EQ(seen[static_cast<std::size_t>(i)], bits[static_cast<std::size_t>(i)]);
      }
      ASSERT_EQ(set.contains(from, to), all);
    }
  }
}

}  // namespace
}  // namespace kernbench::numerics
