// Element types as bench parameters.
#pragma once

#include <string>

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

/// Every type that the GEMM engine multiplies.
inline cli::BenchParameter operand_dtype_parameter(const char* default_value) {
  return {"dtype", default_value, "element type of A and B: f16, bf16, f32, f8e4m3, f8e5m2, i8, u8 or i32"};
}

inline DType operand_dtype_of(const cli::Parameters& parameters) {
  const auto& text = parameters.choice("dtype", {"f16", "bf16", "f32", "f8e4m3", "f8e5m2", "i8", "u8", "i32"});
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f8e4m3, DType::f8e5m2, DType::i8, DType::u8})
    if (text == name(type)) return type;
  return DType::i32;
}

}  // namespace kernbench::benches
