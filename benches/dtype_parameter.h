// Element types as bench parameters.
#pragma once

#include "cli/bench_registry.h"
#include "kernbench/dtype.h"

namespace kernbench::benches {

inline cli::BenchParameter dtype_parameter(const char* default_value) {
  return {"dtype", default_value, "element type of the tensors: f16, bf16 or f32"};
}

inline DType dtype_of(const cli::Parameters& parameters) {
  const auto& text = parameters.choice("dtype", {"f16", "bf16", "f32"});
  return text == "f16" ? DType::f16 : text == "bf16" ? DType::bf16 : DType::f32;
}

}  // namespace kernbench::benches
