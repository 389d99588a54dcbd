// Elementwise functions of the library that the tile language does not have, made of those that it has.
// Operands broadcast. Floats must be f32: their 16-bit and 8-bit types are converted before, so that the result is
// rounded once. Integers wrap.
#pragma once

#include <limits>

#include "kernbench/tl.h"

namespace kernbench::tile::library {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Quotient toward minus infinity. Of floats as PyTorch's: consistent with `remainder`, a / b where b is 0.
tl::Tile floor_divide(const tl::Tile& a, const tl::Tile& b);
/// Quotient toward zero.
tl::Tile truncate_divide(const tl::Tile& a, const tl::Tile& b);
/// a - b * floor_divide(a, b): the sign of b.
tl::Tile remainder(const tl::Tile& a, const tl::Tile& b);
/// a^b. Floats: exp2(b log2 |a|) with the sign of an odd whole b; relative error at most about
/// 2^-23 (2 + |b log2 a|). Integers: products; a negative exponent gives 0 except for bases 1 and -1.
tl::Tile power(const tl::Tile& a, const tl::Tile& b);

/// To the nearest whole number, halves to the even one.
tl::Tile round_half_even(const tl::Tile& x);
tl::Tile truncate(const tl::Tile& x);
/// -1, 0 or 1; 0 of NaN. Any type.
tl::Tile sign(const tl::Tile& x);
/// exp(x) - 1 without cancellation: for |x| < 1, 2 t / (1 - t) with t = tanh(x / 2).
tl::Tile exponential_minus_1(const tl::Tile& x);
/// log(1 + x) without cancellation: log(u) x / (u - 1), u = 1 + x.
tl::Tile logarithm_1_plus(const tl::Tile& x);

}  // namespace kernbench::tile::library
