#include "kernel/overlap.h"

#include <cstdint>

namespace kernbench::kernel {

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

bool overlap(const std::vector<hardware::DmaLeg>& a, const std::vector<hardware::DmaLeg>& b) {
  for (const auto& leg_a : a) {
    for (const auto& leg_b : b) {
      if (leg_a.slice != leg_b.slice) continue;
      for (const auto& range_a : leg_a.ranges) {
        for (const auto& range_b : leg_b.ranges) {
          if (overlap(range_a, range_b)) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace kernbench::kernel
