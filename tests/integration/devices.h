// Several devices in a test: machines, tensors, simulated time.
#pragma once

#include <cstdint>
#include <string>

#include "programs.h"
#include "runtime/context.h"

namespace kernbench::testing {

inline constexpr std::int64_t kElements = 256, kBytes = 4 * kElements;  // of f32: one chunk in one HBM channel
inline const torch::LaunchOptions kFirst{.pes = {{CubeId{0}, PeId{0}}}};

inline Time now() {
  return runtime::current_context("now").simulation.scheduler().now();
}

inline SimulateOptions ring_of(int sips) {
  return tiny({"system.sips.count=" + std::to_string(sips)});
}
/// Three devices of four PEs.
inline SimulateOptions three_of_four_pes() {
  return tiny({"system.sips.count=3", "sip.cubes.mesh=[2, 1]"});
}
/// On one PE of a device.
inline torch::TensorOptions on(int device) {
  return one_pe().device(torch::Device(torch::kAHBM, device));
}
inline void wait_for_all() {
  for (int device = 0; device < torch::ahbm::device_count(); ++device) torch::ahbm::synchronize(device);
}

inline void set(tl::Tensor x, float value, std::int64_t delay) {
  tl::delay(delay);
  tl::store(x, {0}, tl::full({x.numel()}, value, DType::f32));
}

}  // namespace kernbench::testing
