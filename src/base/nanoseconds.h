// Times as floating-point numbers, for figures that are estimated or printed.
#pragma once

#include "kernbench/units.h"

namespace kernbench {

constexpr double nanoseconds(Time time) {
  return static_cast<double>(time.count()) * 1e-3;
}

}  // namespace kernbench
