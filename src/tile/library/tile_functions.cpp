#include "tile/library/tile_functions.h"

#include <limits>

namespace kernbench::tile::library {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool is_float(const tl::Tile& x) {
  return is_floating_point(x.dtype());
}

/// Where the remainder `r` of a C division by `b` has the other sign than b.
tl::Tile wrong_sign(const tl::Tile& r, const tl::Tile& b) {
  return (r != 0) & ((r < 0) != (b < 0));
}

tl::Tile float_floor_divide(const tl::Tile& a, const tl::Tile& b) {
  const auto left = a % b;
  auto quotient = (a - left) / b;
  quotient = tl::where(wrong_sign(left, b), quotient - 1.0F, quotient);
  auto floored = tl::floor(quotient);
  floored = tl::where(quotient - floored > 0.5F, floored + 1.0F, floored);
  return tl::where(b == 0.0F, a / b, floored);
}

tl::Tile float_power(const tl::Tile& a, const tl::Tile& b) {
  auto result = tl::exp2(b * tl::log2(tl::abs(a)));
  const auto whole = tl::floor(b) == b;
  const auto half = b * 0.5F;
  const auto odd = whole & (tl::floor(half) != half);
  result = tl::where((a < 0.0F) & odd, -result, result);
  // A negative base has no power with a fraction; infinities do, as limits.
  result = tl::where((a < 0.0F) & !whole & (tl::abs(a) < kInfinity) & (tl::abs(b) < kInfinity), kNan, result);
  return tl::where((b == 0.0F) | (a == 1.0F), 1.0F, result);
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
  if (is_float(a)) return float_floor_divide(a, b);
  const auto quotient = tl::idiv(a, b);
  return tl::where(wrong_sign(a % b, b), quotient - 1, quotient);
}

tl::Tile truncate_divide(const tl::Tile& a, const tl::Tile& b) {
  return is_float(a) ? truncate(a / b) : tl::idiv(a, b);
}

tl::Tile remainder(const tl::Tile& a, const tl::Tile& b) {
  const auto left = a % b;
  return tl::where(wrong_sign(left, b), left + b, left);
}

tl::Tile power(const tl::Tile& a, const tl::Tile& b) {
  return is_float(a) ? float_power(a, b) : integer_power(a, b);
}

tl::Tile round_half_even(const tl::Tile& x) {
  const auto below = tl::floor(x);
  const auto fraction = x - below;
  const auto half = below * 0.5F;
  const auto odd = tl::floor(half) != half;
  const auto up = (fraction > 0.5F) | ((fraction == 0.5F) & odd);
  // An infinity has no fraction.
  return tl::where(tl::abs(x) < kInfinity, tl::where(up, below + 1.0F, below), x);
}

tl::Tile truncate(const tl::Tile& x) {
  return tl::where(x < 0.0F, tl::ceil(x), tl::floor(x));
}

tl::Tile sign(const tl::Tile& x) {
  return tl::cast(tl::cast(x > 0, DType::i32) - tl::cast(x < 0, DType::i32), x.dtype());
}

tl::Tile exponential_minus_1(const tl::Tile& x) {
  const auto t = tl::tanh(x * 0.5F);
  const auto small = (t + t) / (1.0F - t);
  return tl::where(tl::abs(x) < 1.0F, small, tl::exp(x) - 1.0F);
}

tl::Tile logarithm_1_plus(const tl::Tile& x) {
  const auto u = x + 1.0F;
  const auto d = u - 1.0F;
  const auto exact = (d == 0.0F) | (u == kInfinity);
  return tl::where(exact, x, tl::log(u) * (x / d));
}

}  // namespace kernbench::tile::library
