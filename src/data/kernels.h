// Elementwise loops over contiguous arrays of a computation type (f32, f64 or i64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "data/operations.h"

namespace kernbench::data {

/// The type that arithmetic on operands and results of these types is done in (see data/operations.h).
DType computation_type(std::initializer_list<DType> types);
/// `type`, or f32 in place of i64: for functions that integers do not have.
DType floating_computation_type(DType type);

/// out[i] = operation(a[i], b[i]); all three arrays have the computation type; comparisons give 0 or 1.
using BinaryKernel = void (*)(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count);
BinaryKernel binary_kernel(BinaryOperation operation, DType computation);

/// Whether the operation needs a floating-point computation type.
bool needs_floating_point(UnaryOperation operation);
using UnaryKernel = void (*)(const std::byte* x, std::byte* out, std::int64_t count);
UnaryKernel unary_kernel(UnaryOperation operation, DType computation);

}  // namespace kernbench::data
