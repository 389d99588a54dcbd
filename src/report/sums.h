// Sums of what a result file says.
#pragma once

#include <cstdint>

#include "kernbench/units.h"

namespace kernbench::report {

/// They stop at the largest value: a file may hold anything.
inline std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t total = 0;
  return __builtin_add_overflow(a, b, &total) ? INT64_MAX : total;
}
inline Time sum(Time a, Time b) {
  return Time::picoseconds(sum(a.count(), b.count()));
}
inline Bytes sum(Bytes a, Bytes b) {
  return Bytes(sum(a.count(), b.count()));
}

}  // namespace kernbench::report
