// Small programs that several tests run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "support/sanitizers.h"

namespace kernbench::testing {

/// Walks of the page table are free unless a test asks for them: the laws of other things are seen alone.
inline constexpr const char* kFreeWalks = "pe.mmu.miss=0ps";

inline SimulateOptions tiny(std::vector<std::string> overrides = {}) {
  SimulateOptions options;
  options.topology = "tiny";
  overrides.insert(overrides.begin(), kFreeWalks);  // before the others, of which the last one counts
  options.overrides = std::move(overrides);
  options.threads = 1;
  return options;
}

/// A tensor on one PE only.
inline torch::TensorOptions one_pe(DType dtype = DType::f32) {
  return torch::dtype(dtype).device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
}

/// Runs `program` on `tiny` and returns the text of the error that it must end with.
std::string error_of(const std::function<void()>& program, SimulateOptions options = tiny());
/// Type of that error.
std::string error_type_of(const std::function<void()>& program, SimulateOptions options = tiny());

}  // namespace kernbench::testing
