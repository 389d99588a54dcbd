// Elementwise loops over contiguous arrays of a computation type (f32, f64 or i64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "numerics/operations.h"

namespace kernbench::numerics {

/// The type that arithmetic on operands and results of these types is done in (see numerics/operations.h).
DType computation_type(std::initializer_list<DType> types);
/// `type`, or f32 in place of i64: for functions that integers do not have.
DType floating_computation_type(DType type);

/// out[i] = operation(a[i], b[i]); all three arrays have the computation type; comparisons give 0 or 1.
using BinaryKernel = void (*)(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count);
/// REQUIRES: !is_checked(operation, computation); integers for operations on bits.
BinaryKernel binary_kernel(BinaryOperation operation, DType computation);

/// Whether some operands have no result: an integer divisor of 0, a shift by too much.
bool is_checked(BinaryOperation operation, DType computation);
/// The same for these, on i64. `bits` is the width of the result's type. Where there is no result, out is 0 and the
/// byte of `good` 0, elsewhere 1; returns whether all are good.
using CheckedKernel = bool (*)(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count,
                               std::int64_t bits, std::uint8_t* good);
CheckedKernel checked_kernel(BinaryOperation operation);

/// Whether the operation needs a floating-point computation type.
bool needs_floating_point(UnaryOperation operation);
using UnaryKernel = void (*)(const std::byte* x, std::byte* out, std::int64_t count);
UnaryKernel unary_kernel(UnaryOperation operation, DType computation);

}  // namespace kernbench::numerics
