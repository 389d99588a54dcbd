// A set of byte positions, kept as disjoint ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace kernbench::numerics {

/// A set of integers; cheap when it consists of few ranges. Ranges are half-open; empty ranges change nothing.
class IntervalSet {
 public:
  void insert(std::int64_t begin, std::int64_t end);
  void erase(std::int64_t begin, std::int64_t end);
  bool contains(std::int64_t begin, std::int64_t end) const;
  /// Whether one of [begin, end) is in the set.
  bool meets(std::int64_t begin, std::int64_t end) const;
  bool empty() const { return ranges_.empty(); }
  /// Number of disjoint, non-adjacent ranges.
  std::size_t range_count() const { return ranges_.size(); }

  /// Calls visit(gap_begin, gap_end) for the ranges of [begin, end) that are not in the set, in order.
  template <class Visit>
  void for_each_gap(std::int64_t begin, std::int64_t end, Visit&& visit) const {
    auto range = ranges_.upper_bound(begin);
    if (range != ranges_.begin() && std::prev(range)->second > begin) begin = std::prev(range)->second;
    for (; begin < end; ++range) {
      const bool last = range == ranges_.end() || range->first >= end;
      const std::int64_t gap_end = last ? end : range->first;
      if (begin < gap_end) visit(begin, gap_end);
      if (last) return;
      begin = range->second;
    }
  }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // begin to end
};

}  // namespace kernbench::numerics
