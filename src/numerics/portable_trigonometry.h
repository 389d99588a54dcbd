// Sine and cosine of every float, from correctly rounded operations and integers only (see portable_math.h).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace kernbench::numerics {

namespace portable {

__extension__ using Unsigned128 = unsigned __int128;
__extension__ using Signed128 = __int128;

/// An angle as quadrant * pi/2 + rest, |rest| <= pi/4; quadrant modulo 4.
struct QuadrantAngle {
  int quadrant;
  double rest;
};

/// 64 bits of 2/pi, `position` of its 256 first fraction bits from the last; zeros beyond them.
constexpr std::uint64_t two_over_pi_bits(int position) {
  constexpr std::array<std::uint64_t, 4> kWords{0xFE5163ABDEBBC561, 0xDB6295993C439041, 0xFC2757D1F534DDC0,
                                                0xA2F9836E4E441529};  // lowest first
  const auto word = [&](int index) { return index < 4 ? kWords[static_cast<std::size_t>(index)] : 0; };
  const int index = position / 64, offset = position % 64;
  return offset == 0 ? word(index) : word(index) >> offset | word(index + 1) << (64 - offset);
}

/// Reduces a finite float x >= 1/2 (Payne and Hanek, "Radian reduction for trigonometric functions", 1983).
/// x = m 2^e with a whole m < 2^24. Bits of 2/pi 2^e worth 4 and more change x 2/pi by multiples of 4 only, so 128 bits
/// below them are multiplied by m; what is cut off below is worth less than 2^-102.
constexpr QuadrantAngle reduce_angle(double x) {
  constexpr double kHalfPi = 1.57079632679489661923;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52) - 1023 - 23;
  const std::uint64_t m = ((bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52)) >> 29;
  const int lowest = 130 - exponent;
  const Unsigned128 window = (static_cast<Unsigned128>(two_over_pi_bits(lowest + 64)) << 64) | two_over_pi_bits(lowest);
  const Unsigned128 turns = window * m;  // in units of 2^-126 quarter turns, modulo four of these
  const auto quadrant = static_cast<int>((turns + (Unsigned128{1} << 125)) >> 126);
  const auto rest = static_cast<Signed128>(turns - (static_cast<Unsigned128>(quadrant) << 126));
  const auto high = static_cast<double>(static_cast<std::int64_t>(rest >> 64));
  const auto low = static_cast<double>(static_cast<std::uint64_t>(rest));
  return {quadrant, (high * 0x1p-62 + low * 0x1p-126) * kHalfPi};
}

/// Taylor polynomials of degrees 17 and 16, for |x| <= pi/4.
constexpr double sine_polynomial(double x) {
  const double square = x * x;
  double p = 1;
  for (int n = 16; n >= 2; n -= 2) p = 1 - square * p * (1.0 / (n * (n + 1)));
  return x * p;
}
constexpr double cosine_polynomial(double x) {
  const double square = x * x;
  double p = 1;
  for (int n = 16; n >= 2; n -= 2) p = 1 - square * p * (1.0 / (n * (n - 1)));
  return p;
}

/// The sine of the angle plus `quarter_turns` quarter turns.
constexpr double turned_sine(const QuadrantAngle& angle, int quarter_turns) {
  const int quadrant = (angle.quadrant + quarter_turns) % 4;
  const double value = quadrant % 2 == 0 ? sine_polynomial(angle.rest) : cosine_polynomial(angle.rest);
  return quadrant < 2 ? value : -value;
}

}  // namespace portable

/// sin x in double for every float x.
constexpr double portable_sine(double x) {
  const double size = x < 0 ? -x : x;
  if (size < 0.75) return portable::sine_polynomial(x);
  if (!(size < std::numeric_limits<double>::infinity())) return std::numeric_limits<double>::quiet_NaN();
  const double value = portable::turned_sine(portable::reduce_angle(size), 0);
  return x < 0 ? -value : value;
}

/// cos x in double for every float x.
constexpr double portable_cosine(double x) {
  const double size = x < 0 ? -x : x;
  if (size < 0.75) return portable::cosine_polynomial(x);
  if (!(size < std::numeric_limits<double>::infinity())) return std::numeric_limits<double>::quiet_NaN();
  return portable::turned_sine(portable::reduce_angle(size), 1);
}

}  // namespace kernbench::numerics
