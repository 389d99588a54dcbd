// Matrix multiply of integers, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernbench/dtype.h"

namespace kernbench::numerics {

/// c [m,n] += a [m,k] times b [k,n], row-major and contiguous, wrapping. a and b: i8, u8 or i32 (c is i32), or i64 (c
/// is i64).
void multiply_integers(std::int64_t m, std::int64_t n, std::int64_t k, DType a_type, const std::byte* a, DType b_type,
                       const std::byte* b, std::byte* c);

}  // namespace kernbench::numerics
