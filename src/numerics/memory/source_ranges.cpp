#include "numerics/memory/source_ranges.h"

namespace kernbench::numerics {

void SourceRanges::erase(std::int64_t begin, std::int64_t end) {
  if (begin >= end || ranges_.empty()) return;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    const Range range = before->second;
    if (range.end > begin) {
      if (before->first == begin)
        ranges_.erase(before);
      else
        before->second.end = begin;
      if (range.end > end) ranges_.emplace(end, range);
    }
  }
  while (next != ranges_.end() && next->first < end) {
    const Range range = next->second;
    next = ranges_.erase(next);
    if (range.end > end) ranges_.emplace_hint(next, end, range);
  }
}

void SourceRanges::assign(std::int64_t begin, std::int64_t end, SourceId source) {
  erase(begin, end);
  if (begin >= end || source == kValid) return;
  auto next = ranges_.lower_bound(begin);
  if (next != ranges_.end() && next->first == end && next->second.source == source) {
    end = next->second.end;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end == begin && before->second.source == source) {
      before->second.end = end;
      return;
    }
  }
  ranges_.emplace_hint(next, begin, Range{end, source});
}

}  // namespace kernbench::numerics
