#include "tile/program/overlap.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kernbench::tile {

namespace {

std::uint64_t row_begin(const hardware::StridedRange& range, std::int64_t row) {
  return range.address + static_cast<std::uint64_t>(row * range.stride);
}
std::uint64_t row_end(const hardware::StridedRange& range, std::int64_t row) {
  return row_begin(range, row) + static_cast<std::uint64_t>(range.row_bytes.count());
}

}  // namespace

bool overlap(const hardware::StridedRange& a, const hardware::StridedRange& b) {
  if (a.rows == 0 || b.rows == 0 || a.row_bytes.count() == 0 || b.row_bytes.count() == 0) return false;
  if (row_end(a, a.rows - 1) <= b.address || row_end(b, b.rows - 1) <= a.address) return false;
  std::int64_t i = 0, j = 0;
  while (i < a.rows && j < b.rows) {
    if (row_end(a, i) <= row_begin(b, j))
      ++i;
    else if (row_end(b, j) <= row_begin(a, i))
      ++j;
    else
      return true;
  }
  return false;
}

namespace {

using Ranges = std::vector<hardware::StridedRange>;

std::uint64_t end_of(const hardware::StridedRange& range) {
  return range.rows == 0 ? range.address : row_end(range, range.rows - 1);
}

/// The ranges in order of address; the given ones when they are so already.
const Ranges& sorted(const Ranges& ranges, Ranges& copy) {
  // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): the caller's, not a temporary
  if (std::ranges::is_sorted(ranges, {}, &hardware::StridedRange::address)) return ranges;
  copy = ranges;
  std::ranges::sort(copy, {}, &hardware::StridedRange::address);
  return copy;
}

/// For scattered accesses, which have thousands of ranges: a sweep over both in order of address, in which only ranges
/// whose bounds meet are compared.
bool overlap_of_many(const Ranges& first, const Ranges& second) {
  Ranges first_copy, second_copy;
  const Ranges &a = sorted(first, first_copy), &b = sorted(second, second_copy);
  std::vector<const hardware::StridedRange*> open_a, open_b;
  const auto close = [](auto& open, std::uint64_t at) {
    std::erase_if(open, [at](const auto* range) { return end_of(*range) <= at; });
  };
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool from_a = j == b.size() || (i < a.size() && a[i].address <= b[j].address);
    const hardware::StridedRange& next = from_a ? a[i++] : b[j++];
    auto& others = from_a ? open_b : open_a;
    close(others, next.address);
    for (const auto* other : others) {
      if (overlap(*other, next)) return true;
    }
    auto& own = from_a ? open_a : open_b;
    close(own, next.address);
    own.push_back(&next);
  }
  return false;
}

bool overlap_of_few(const Ranges& a, const Ranges& b) {
  for (const auto& range_a : a) {
    for (const auto& range_b : b) {
      if (overlap(range_a, range_b)) return true;
    }
  }
  return false;
}

}  // namespace

bool overlap(const std::vector<hardware::DmaLeg>& a, const std::vector<hardware::DmaLeg>& b) {
  constexpr std::size_t kFew = 256;  // pairs
  for (const auto& leg_a : a) {
    for (const auto& leg_b : b) {
      if (!leg_a.meets(leg_b)) continue;
      const bool few = leg_a.ranges.size() * leg_b.ranges.size() <= kFew;
      if (few ? overlap_of_few(leg_a.ranges, leg_b.ranges) : overlap_of_many(leg_a.ranges, leg_b.ranges)) return true;
    }
  }
  return false;
}

}  // namespace kernbench::tile
