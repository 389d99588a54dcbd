// Rates in simulated time, without what a launch costs before and after.
#pragma once

#include <kernbench/kernbench.h>

#include <cstdint>
#include <functional>

// Not in kernbench: what is in there, a file that `kernbench run` loads would take from the program.
namespace benches {

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

/// Simulated nanoseconds that `enqueue` keeps the stream busy; the region of interest of the run.
inline double device_ns(const std::function<void()>& enqueue) {
  const torch::profiler::record_function region("measured");
  torch::ahbm::Event start, end;
  start.record();
  enqueue();
  end.record();
  end.synchronize();
  return start.elapsed_time(end) * 1e6;
}

/// Nanoseconds that each further step takes: of a launch of `2 * steps` steps less one of `steps`, with what the TLBs
/// hold of one before.
inline double step_ns(std::int64_t steps, const std::function<void(std::int64_t steps)>& enqueue) {
  enqueue(steps);
  torch::ahbm::synchronize();
  const double once = device_ns([&] { enqueue(steps); });
  const double twice = device_ns([&] { enqueue(2 * steps); });
  return (twice - once) / static_cast<double>(steps);
}

struct Machine {
  std::int64_t cubes = 0, pes = 0;  // of the current device, of each cube
};

/// Asks a kernel; takes a fill and a launch.
inline Machine machine_of_current_device() {
  Machine machine;
  const auto anywhere = torch::zeros({1}, torch::dtype(torch::kInt).device("ahbm"));
  torch::launch("count", [&](tl::Tensor) { machine = {tl::num_cubes(), tl::num_pes()}; }, anywhere);
  torch::ahbm::synchronize();
  return machine;
}

}  // namespace benches
