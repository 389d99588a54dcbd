// Operations and operand types that the engines of a PE distinguish.
#pragma once

#include <cstdint>

namespace kernbench {

/// What one pass of the vector engine does to each group of lanes. Every elementwise operation, reduction and movement
/// of the tile language is one of these; src/hardware/vector/README.md says which.
enum class VectorOperation : std::uint8_t {
  add,
  multiply,
  fma,
  divide,
  integer_divide,
  remainder,
  compare,
  select,
  minimum,
  clamp,
  bitwise,
  shift,
  cast,
  round,
  copy,
  exp,
  expm1,
  log,
  log10,
  log1p,
  pow,
  sqrt,
  rsqrt,
  sin,
  cos,
  tanh,
  erf,
  sigmoid,
  reduce,
  reduce_level,
  argreduce,
  scan,
  gather,
  sort,
};

/// Operand types that the GEMM engine tells apart.
enum class GemmOperand : std::uint8_t { f4, f8, i8, f16, bf16, f32, i32 };

}  // namespace kernbench
