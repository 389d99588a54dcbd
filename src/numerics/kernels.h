// The types that elementwise operations compute in, and their loops over contiguous arrays of such a type.
#pragma once

#include <initializer_list>

#include "numerics/elementwise_table.h"

namespace kernbench::numerics {

/// The type that arithmetic on operands and results of these types is done in (see numerics/operations.h).
DType computation_type(std::initializer_list<DType> types);
/// `type`, or f32 in place of i64: for functions that integers do not have.
DType floating_computation_type(DType type);

/// REQUIRES: !is_checked(operation, computation); integers for operations on bits.
inline BinaryKernel binary_kernel(BinaryOperation operation, DType computation) {
  return info(operation).kernels.of(computation);
}
inline UnaryKernel unary_kernel(UnaryOperation operation, DType computation) {
  return info(operation).kernels.of(computation);
}

/// Whether some operands have no result: an integer divisor of 0, a shift by too much.
bool is_checked(BinaryOperation operation, DType computation);
/// The loops of these, on i64. `bits` is the width of the result's type. Where there is no result, out is 0 and the
/// byte of `good` 0, elsewhere 1; returns whether all are good.
using CheckedKernel = bool (*)(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count,
                               std::int64_t bits, std::uint8_t* good);
/// Null for an operation that always has a result.
CheckedKernel checked_kernel(BinaryOperation operation);

}  // namespace kernbench::numerics
