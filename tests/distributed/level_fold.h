// The documented order in which all-reduces over levels fold, as a recursion over the digits of places.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace kernbench::testing {

/// Of an element at `at` in `length` elements: in each level the chunk in which it lies, of what the levels before
/// left.
inline std::vector<std::int64_t> chunks_of(const std::vector<int>& levels, std::int64_t at, std::int64_t length) {
  std::vector<std::int64_t> chunks;
  for (const int size : levels) {
    const std::int64_t chunk = (length + size - 1) / size;
    chunks.push_back(at / chunk);
    length = std::min(chunk, length - chunks.back() * chunk);
    at %= chunk;
  }
  return chunks;
}

using ValueAt = std::function<float(std::int64_t place)>;

/// The sum of all places' values: in the first level those of chunks c + 1, c + 2, …, c, and so on of its sums;
/// `backwards`: of the last level c - 1, c - 2, …, c, chunks counted from the last place.
inline float fold_over_levels(const std::vector<int>& levels, const std::vector<std::int64_t>& chunks, bool backwards,
                              const ValueAt& value) {
  const std::function<float(std::size_t, std::int64_t)> below = [&](std::size_t level, std::int64_t above) {
    if (level == 0) return value(above);
    const std::int64_t size = levels[level - 1], chunk = chunks[level - 1];
    const bool reversed = backwards && level == levels.size();
    float sum = 0;
    for (std::int64_t i = 1; i <= size; ++i) {
      const std::int64_t digit = reversed ? size - 1 - (chunk + i) % size : (chunk + i) % size;
      const float x = below(level - 1, above * size + digit);
      sum = i == 1 ? x : sum + x;
    }
    return sum;
  };
  return below(levels.size(), 0);
}

}  // namespace kernbench::testing
