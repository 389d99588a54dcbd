// Sums of what a result file says.
#pragma once

#include <cstdint>

#include "kernbench/units.h"

namespace kernbench::report {

/// They stop at the largest value: a file may hold anything.
inline Time sum(Time a, Time b) {
  std::int64_t total = 0;
  return __builtin_add_overflow(a.count(), b.count(), &total) ? Time::max() : Time::picoseconds(total);
}
inline Bytes sum(Bytes a, Bytes b) {
  std::int64_t total = 0;
  return __builtin_add_overflow(a.count(), b.count(), &total) ? Bytes(INT64_MAX) : Bytes(total);
}

}  // namespace kernbench::report
