// Times and rates as floating-point numbers, for figures that are estimated or printed.
#pragma once

#include "kernbench/units.h"

namespace kernbench {

constexpr double nanoseconds(Time time) {
  return static_cast<double>(time.count()) * 1e-3;
}
constexpr double bytes_per_ns(Bandwidth bandwidth) {
  return static_cast<double>(bandwidth.count()) * 1e-9;
}

}  // namespace kernbench
