// The elementwise operations and the reductions, of tiles, host tensors and library kernels alike. What each
// elementwise one is called, takes, computes and costs is in numerics/elementwise_table.h.
#pragma once

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
