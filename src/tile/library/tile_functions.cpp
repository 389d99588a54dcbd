#include "tile/library/tile_functions.h"

#include "tile/library/tile_math.h"

namespace kernbench::tile::library {

namespace {

bool is_float(const tl::Tile& x) {
  return is_floating_point(x.dtype());
}

tl::Tile integer_power(const tl::Tile& a, const tl::Tile& b) {
  const auto bits = static_cast<int>(8 * item_size(b.dtype())) - 1;
  auto result = a * 0 + 1, base = a;
  for (int bit = 0; bit < bits; ++bit) {
    result = tl::where(((b >> bit) & 1) != 0, result * base, result);
    if (bit + 1 < bits) base = base * base;
  }
  const auto alternating = tl::where((b & 1) != 0, a, 1);  // powers of -1
  const auto inverse = tl::where(a == 1, 1, tl::where(a == -1, alternating, 0));
  return tl::where(b < 0, inverse, result);
}

}  // namespace

tl::Tile floor_divide(const tl::Tile& a, const tl::Tile& b) {
  if (is_float(a)) return numerics::floor_divide<TileMath>(a, b);
  const auto quotient = tl::idiv(a, b);
  return tl::where(numerics::has_wrong_sign(a % b, b), quotient - 1, quotient);
}

tl::Tile truncate_divide(const tl::Tile& a, const tl::Tile& b) {
  return is_float(a) ? tl::trunc(a / b) : tl::idiv(a, b);
}

tl::Tile remainder(const tl::Tile& a, const tl::Tile& b) {
  return numerics::floored_remainder<TileMath>(a, b);
}

tl::Tile power(const tl::Tile& a, const tl::Tile& b) {
  return is_float(a) ? tl::pow(a, b) : integer_power(a, b);
}

tl::Tile xlogy(const tl::Tile& x, const tl::Tile& y) {
  return numerics::xlogy<TileMath>(x, y);
}

tl::Tile sign(const tl::Tile& x) {
  return tl::cast(tl::cast(x > 0, DType::i32) - tl::cast(x < 0, DType::i32), x.dtype());
}

}  // namespace kernbench::tile::library
