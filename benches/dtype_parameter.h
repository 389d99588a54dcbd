// Element types as bench parameters.
#pragma once

#include <kernbench/bench.h>
#include <kernbench/dtype.h>

#include <string>

namespace benches {

inline kernbench::BenchParameter dtype_parameter(const char* default_value) {
  return {"dtype", default_value, "element type of the tensors: f16, bf16 or f32"};
}

inline kernbench::DType dtype_of() {
  using kernbench::DType;
  const std::string text = kernbench::parameter_choice("dtype", {"f16", "bf16", "f32"});
  return text == "f16" ? DType::f16 : text == "bf16" ? DType::bf16 : DType::f32;
}

/// Every type that the GEMM engine multiplies.
inline kernbench::BenchParameter operand_dtype_parameter(const char* default_value) {
  return {"dtype", default_value, "element type of A and B: f16, bf16, f32, f8e4m3, f8e5m2, i8, u8 or i32"};
}

inline kernbench::DType operand_dtype_of() {
  using kernbench::DType;
  const std::string text =
      kernbench::parameter_choice("dtype", {"f16", "bf16", "f32", "f8e4m3", "f8e5m2", "i8", "u8", "i32"});
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f8e4m3, DType::f8e5m2, DType::i8, DType::u8})
    if (text == kernbench::name(type)) return type;
  return DType::i32;
}

}  // namespace benches
