// The table by keys against a map.
#include "base/flat_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace kernbench {
namespace {

TEST(FlatTable, HasTheValuesOfAMap) {
  for (const std::uint64_t step : {1, 16, 1 << 20}) {
    std::mt19937_64 random(step);
    FlatTable<int> table;
    std::map<std::uint64_t, int> expected;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t key = random() % 5000 * step;
      const auto [value, is_new] = table.find_or_add(key);
      const auto found = expected.find(key);
      ASSERT_EQ(is_new, found == expected.end()) << key;
      ASSERT_EQ(value, is_new ? 0 : found->second) << key;
      value = expected[key] = i;
    }
    EXPECT_EQ(table.size(), expected.size());
    for (const auto& [key, value] : expected) EXPECT_EQ(table.find_or_add(key).first, value);
    std::map<std::uint64_t, int> visited;
    table.for_each([&](std::uint64_t key, int value) { EXPECT_TRUE(visited.emplace(key, value).second); });
    EXPECT_EQ(visited, expected);
  }
}

}  // namespace
}  // namespace kernbench
