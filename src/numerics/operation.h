// The elementwise operations and the reductions, of tiles, host tensors and library kernels alike. What each
// elementwise one is called, takes, computes and costs is in numerics/elementwise_table.h.
#pragma once

#include <array>
#include <cstdint>

namespace kernbench::numerics {

/// In the order of kernbench/elementwise/unary.def, which says what each one is; likewise those on two operands.
enum class UnaryOperation : std::uint8_t {
#define KERNBENCH_UNARY(operation, ...) operation,
#include "kernbench/elementwise/unary.def"
};

enum class BinaryOperation : std::uint8_t {
#define KERNBENCH_BINARY(operation, ...) operation,
#include "kernbench/elementwise/binary.def"
};

enum class TernaryOperation : std::uint8_t {
  multiply_add,  // a * b + c, rounded twice
  clamp,         // min(max(x, low), high) as by clamp_min and clamp_max
  where,         // a (a condition) ? b : c
};

/// Functions that are made of several operations and take numbers of their own, which are no operands
/// (numerics/compositions.h).
enum class Composition : std::uint8_t {
  power,       // x; the exponent -1, 1, 2 or 3: products of x
  leaky_relu,  // x; the slope below 0
  softplus,    // x; beta, the threshold
  elu,         // x; the factor below 0, the factor above, the factor of x in the exponent
  nan_to_num,  // x; what stands for NaN, infinity, -infinity
  lerp,        // a, b; the weight of b
  lerp_each,   // a, b, their weights of b
  addcmul,     // x, a, b; value: x + value a b
  addcdiv,     // x, a, b; value: x + value a / b
  isclose,     // a, b; the relative and the absolute tolerance, 1 where NaN is close to NaN
  // Gradients, of the gradient of the result and of x, or of the result y.
  threshold_backward,    // g, x; the threshold
  leaky_relu_backward,   // g, x; the slope below 0
  sigmoid_backward,      // g, y
  tanh_backward,         // g, y
  silu_backward,         // g, x
  gelu_backward,         // g, x
  gelu_tanh_backward,    // g, x
  mse_backward,          // g, x, target; the factor
  softmax_backward,      // g, y, the sum of g y
  log_softmax_backward,  // g, y, the sum of g
  huber_backward,        // g, x, target; the bound, the factor
  bce_backward,          // g, x, target; the factor
};

struct ComposedOperation {
  Composition kind;
  std::array<double, 3> numbers{};
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
