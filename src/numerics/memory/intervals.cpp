#include "numerics/memory/intervals.h"

#include <algorithm>

namespace kernbench::numerics {

void IntervalSet::insert(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) {
    const auto previous = std::prev(next);
    if (previous->second >= end) return;
    if (previous->second >= begin) {
      begin = previous->first;
      next = previous;
    }
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, begin, end);
}

void IntervalSet::erase(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  auto next = ranges_.lower_bound(begin);
  if (next != ranges_.begin()) {
    const auto previous = std::prev(next);
    const std::int64_t previous_end = previous->second;
    if (previous_end > begin) previous->second = begin;
    if (previous_end > end) ranges_.emplace_hint(next, end, previous_end);
  }
  while (next != ranges_.end() && next->first < end) {
    const std::int64_t next_end = next->second;
    next = ranges_.erase(next);
    if (next_end > end) ranges_.emplace_hint(next, end, next_end);
  }
}

bool IntervalSet::contains(std::int64_t begin, std::int64_t end) const {
  if (begin >= end) return true;
  const auto next = ranges_.upper_bound(begin);
  return next != ranges_.begin() && std::prev(next)->second >= end;
}

bool IntervalSet::meets(std::int64_t begin, std::int64_t end) const {
  if (begin >= end) return false;
  const auto next = ranges_.lower_bound(end);  // the first range that begins too late
  return next != ranges_.begin() && std::prev(next)->second > begin;
}

}  // namespace kernbench::numerics
