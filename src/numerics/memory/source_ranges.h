// Causes of invalid bytes, by range.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

#include "numerics/memory/source.h"

namespace kernbench::numerics {

/// A source for each byte of some ranges; cheap when it is empty. Ranges are half-open.
class SourceRanges {
 public:
  bool empty() const { return ranges_.empty(); }
  /// Number of disjoint ranges; neighbours of one source are one.
  std::size_t range_count() const { return ranges_.size(); }
  void assign(std::int64_t begin, std::int64_t end, SourceId source);
  void erase(std::int64_t begin, std::int64_t end);

  /// Calls visit(begin, end, source) for the parts of [begin, end) in order, with kValid for those without a source.
  template <class Visit>
  void for_each_part(std::int64_t begin, std::int64_t end, Visit&& visit) const {
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second.end > begin) --next;
    while (begin < end) {
      const bool within = next != ranges_.end() && next->first <= begin;
      std::int64_t part_end = end;
      if (within)
        part_end = next->second.end < end ? next->second.end : end;
      else if (next != ranges_.end() && next->first < end)
        part_end = next->first;
      visit(begin, part_end, within ? next->second.source : kValid);
      if (within) ++next;
      begin = part_end;
    }
  }

 private:
  struct Range {
    std::int64_t end;
    SourceId source;
  };
  std::map<std::int64_t, Range> ranges_;  // by begin
};

}  // namespace kernbench::numerics
