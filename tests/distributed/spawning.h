// What tests of programs with several ranks share.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/kernbench.h"
#include "runtime/context.h"
#include "sim/fiber.h"

namespace kernbench::testing {

namespace mp = torch::multiprocessing;

/// The smallest machine with so many devices.
inline SimulateOptions devices(int count, std::vector<std::string> overrides = {}) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = std::move(overrides);
  options.overrides.push_back("system.sips.count=" + std::to_string(count));
  options.threads = 1;
  return options;
}

inline runtime::Simulation& simulation() {
  return runtime::current_context("a test").simulation;
}
inline Time now() {
  return simulation().scheduler().now();
}
inline void sleep(std::int64_t nanoseconds) {
  sim::this_fiber::sleep(Time::nanoseconds(nanoseconds));
}
/// How often the order of two events was not defined.
inline std::uint64_t ambiguous_orders() {
  return simulation().scheduler().ambiguous_orders();
}

/// A tensor on one PE of the current device.
inline torch::TensorOptions one_pe(DType dtype = DType::f32) {
  return torch::dtype(dtype).device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
}

/// `steps` times a microsecond or so of work on the PEs that hold the tensors.
inline void busy(tl::In x, tl::Tensor out, int steps) {
  auto tile = tl::load(x, {0}, {x.numel()});
  for (int i = 0; i < steps * 100; ++i) tile = tl::exp(tile * 0.001f);
  tl::store(out, {0}, tile);
}

/// The text of the error that `program` ends with.
inline std::string error_of(const std::function<void()>& program, const SimulateOptions& options = devices(2)) {
  const RunResult result = try_simulate(options, program);
  if (!result.error) return "no error";
  return result.error->type + ": " + result.error->message;
}

}  // namespace kernbench::testing
