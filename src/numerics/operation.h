// The elementwise operations and the reductions, of tiles, host tensors and library kernels alike. What each
// elementwise one is called, takes, computes and costs is in numerics/elementwise_table.h.
#pragma once

#include <cstdint>

namespace kernbench::numerics {

enum class UnaryOperation : std::uint8_t {
  negate,
  absolute,
  sign,  // -1, 0 or 1; of ±0 and NaN: 0
  // Functions of floats; integers compute in f32. Accuracy in f32: docs/model-numerics.md.
  exponential,
  exponential2,
  expm1,
  logarithm,
  logarithm2,
  logarithm10,
  log1p,
  sine,
  cosine,
  hyperbolic_sine,
  hyperbolic_cosine,
  hyperbolic_tangent,
  error_function,
  sigmoid,
  square_root,
  reciprocal_square_root,
  reciprocal,
  // Integers are their own floor, ceiling, and so on.
  floor,
  ceil,
  round,  // half to even
  truncate,
  logical_not,
  bit_not,  // integers; of a boolean: its negation
  is_nan,
  is_infinite,
  is_finite,
  relu,  // clamp_min(x, 0)
  silu,  // these three round every step to the computation type (numerics/compositions.h)
  gelu,
  gelu_tanh,
};

enum class BinaryOperation : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,           // true division: the computation type is at least f32
  truncate_divide,  // toward zero; floats: the quotient truncated. An integer divisor of 0: the lane is 0 and invalid
  fmod,             // with the sign of the dividend, exact (C's % and fmod). An integer divisor of 0: as above
  power,            // f32: accuracy as of the functions above; integers wrap, of a negative exponent only ±1 stays
  minimum,          // the other operand when one is NaN; -0 < +0
  maximum,
  minimum_nan,  // NaN when one operand is NaN
  maximum_nan,
  bit_and,  // bits: of integers and booleans
  bit_or,
  bit_xor,
  shift_left,   // in the width of the result; a count that is negative, or not below the width: 0 and invalid
  shift_right,  // arithmetic for signed types, else logical; counts as above
  equal,        // comparisons do not depend on the result type; a comparison with NaN is false but for !=
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,  // of x != 0
  logical_or,
  logical_xor,
  floor_divide,  // toward minus infinity. An integer divisor of 0: the lane is 0 and invalid
  remainder,     // of floor_divide: the sign is the divisor's. An integer divisor of 0: as above
  // Of tensors: NaN when one operand is NaN; of equal ones, +0 and -0 too, the first.
  tensor_maximum,
  tensor_minimum,
  clamp_min,  // the same two by another name: clamp with one bound
  clamp_max,
};

enum class TernaryOperation : std::uint8_t {
  multiply_add,  // a * b + c, rounded twice
  clamp,         // min(max(x, low), high) as by clamp_min and clamp_max
  where,         // a (a condition) ? b : c
};

enum class ReduceOperation : std::uint8_t {
  sum,
  product,
  maximum,  // NaN lanes are ignored unless all are NaN
  minimum,
  maximum_nan,  // NaN when a lane is NaN
  minimum_nan,
  logical_and,  // of x != 0, for every / any
  logical_or,
  // The index of the largest or smallest lane along the axis, of equal ones (-0 equals +0) the first.
  argmax,  // NaN lanes are ignored unless all are NaN: then 0
  argmin,
  argmax_nan,  // the first NaN lane when there is one
  argmin_nan,
  mean,  // of tensors only: their sum divided by the count
};

}  // namespace kernbench::numerics
