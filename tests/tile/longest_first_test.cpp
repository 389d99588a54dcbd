#include "tile/explain/longest_first.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernbench/units.h"

namespace kernbench::tile {
namespace {

struct Entry {
  std::string_view first, second;
  Time time;
  std::int64_t count = 1;
  friend bool same_texts(const Entry& a, const Entry& b) {
    return same_text(a.first, b.first) && same_text(a.second, b.second);
  }
  friend std::weak_ordering order_of(const Entry& a, const Entry& b) {
    if (const auto order = order_of_texts(a.first, b.first); order != 0) return order;
    return order_of_texts(a.second, b.second);
  }
};

using Shown = std::pair<std::pair<std::int64_t, std::int64_t>, std::pair<std::string, std::string>>;

/// What should come out: sums by text, the longest first, ties by text.
std::vector<Shown> expected(const std::vector<Entry>& all) {
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::int64_t>> sums;
  for (const Entry& entry : all) {
    auto& [time, count] = sums[{std::string(entry.first), std::string(entry.second)}];
    time += entry.time.count();
    count += entry.count;
  }
  std::vector<Shown> shown;
  for (const auto& [texts, sum] : sums) shown.emplace_back(sum, texts);
  std::ranges::stable_sort(shown, [](const Shown& a, const Shown& b) { return a.first.first > b.first.first; });
  return shown;
}

TEST(LongestFirst, FewEntriesAndManyAreAddedUpByTextAndSortedByTime) {
  // Equal texts at two addresses.
  const std::vector<std::string> texts{"dma", "gemm", "dma", "load a.cpp:1", "load a.cpp:2", ""};
  std::mt19937 random(5);
  for (std::size_t size = 0; size < 150; ++size) {
    std::vector<Entry> all;
    for (std::size_t i = 0; i < size; ++i) {
      all.push_back({texts[random() % texts.size()], texts[random() % texts.size()],
                     Time::picoseconds(static_cast<std::int64_t>(random() % 4))});
    }
    const std::vector<Shown> right = expected(all);
    std::vector<Shown> shown;
    for (const Entry* entry : longest_first(std::span(all))) {
      shown.push_back({{entry->time.count(), entry->count}, {std::string(entry->first), std::string(entry->second)}});
    }
    ASSERT_EQ(shown, right) << size << " entries";
  }
}

}  // namespace
}  // namespace kernbench::tile
