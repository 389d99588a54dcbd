// Small programs that several tests run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::testing {

/// Under a sanitizer: simulations that are long without being new in what they exercise are left out there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline SimulateOptions tiny(std::vector<std::string> overrides = {}) {
  SimulateOptions options;
  options.topology = "tiny";
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
