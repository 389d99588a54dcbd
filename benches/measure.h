// Rates in simulated time, without what a launch costs before and after.
#pragma once

#include <functional>

#include "kernbench/kernbench.h"

namespace kernbench::benches {

/// Simulated nanoseconds that `enqueue` keeps the stream busy.
inline double device_ns(const std::function<void()>& enqueue) {
  torch::ahbm::Event start, end;
  start.record();
  enqueue();
  end.record();
  end.synchronize();
  return start.elapsed_time(end) * 1e6;
}

/// Nanoseconds that each further step takes: of a launch of `2 * steps` steps less one of `steps`.
inline double step_ns(std::int64_t steps, const std::function<void(std::int64_t steps)>& enqueue) {
  const double once = device_ns([&] { enqueue(steps); });
  const double twice = device_ns([&] { enqueue(2 * steps); });
  return (twice - once) / static_cast<double>(steps);
}

}  // namespace kernbench::benches
