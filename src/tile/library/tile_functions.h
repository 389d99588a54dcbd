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
/// a^b. Floats: tl::pow. Integers: products; a negative exponent gives 0 except for bases 1 and -1.
tl::Tile power(const tl::Tile& a, const tl::Tile& b);

/// x log(y), and 0 where x is 0. Floats.
tl::Tile xlogy(const tl::Tile& x, const tl::Tile& y);

/// -1, 0 or 1; 0 of NaN. Any type.
tl::Tile sign(const tl::Tile& x);

}  // namespace kernbench::tile::library
