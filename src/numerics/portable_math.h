// Elementary functions whose bits depend on no C library, compiler or instruction set: only correctly rounded
// operations (+ - * / sqrt), no fused multiply-add. They compute in double, for arguments that are floats, with a
// relative error below 2^-44, so that rounding to float is within 0.501 ulp.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kernbench::numerics {

/// 2^exponent for -1022 <= exponent <= 1023.
constexpr double power_of_two(std::int64_t exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

namespace portable {

inline constexpr double kLog2E = 1.4426950408889634074, kLn2 = 0.69314718055994530942;

/// 2^k e^r, where `shifted` is 1.5 * 2^52 + k and |r| <= ln 2 / 2: the Taylor polynomial of degree 11.
constexpr double scaled_exp(double r, double shifted) {
  double p = 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // The low bits of `shifted` are k in two's complement (and rubbish for NaN, which p carries).
  const double scale = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
  return p * scale;
}

/// Adding it leaves the nearest integer in the low bits.
inline constexpr double kRounder = 0x1.8p52;

/// What of ln x comes from the leading term 2 s, and from the others: ln m = 2 artanh(s).
constexpr double artanh_tail(double s) {
  const double square = s * s;
  double p = 1.0 / 19;
  for (int n = 17; n >= 3; n -= 2) p = p * square + 1.0 / n;
  return 2 * s * square * p;
}

/// x = 2^exponent m with m in [sqrt(1/2), sqrt(2)), and s = (m - 1) / (m + 1). REQUIRES: x positive, normal, finite.
struct LogParts {
  double exponent, s;
};
constexpr LogParts log_parts(double x) {
  constexpr std::uint64_t kSqrtHalf = std::bit_cast<std::uint64_t>(0.70710678118654752440);
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::int64_t>(bits - kSqrtHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  return {static_cast<double>(exponent), (m - 1) / (m + 1)};
}

}  // namespace portable

/// e^x in double for every float x: arguments beyond ±200 act as ±200, which as floats are infinity and 0.
/// x = k ln 2 + r with |r| <= ln 2 / 2, e^x = 2^k e^r.
constexpr double portable_exp(double x) {
  x = x < -200.0 ? -200.0 : x;
  x = x > 200.0 ? 200.0 : x;
  const double shifted = x * portable::kLog2E + portable::kRounder;
  const double k = shifted - portable::kRounder;
  return portable::scaled_exp(x - k * portable::kLn2, shifted);
}

/// 2^x in double for every x; arguments beyond ±200 act as ±200. Whole x give exact powers.
constexpr double portable_exp2(double x) {
  x = x < -200.0 ? -200.0 : x;
  x = x > 200.0 ? 200.0 : x;
  const double shifted = x + portable::kRounder;
  const double k = shifted - portable::kRounder;
  return portable::scaled_exp((x - k) * portable::kLn2, shifted);
}

/// e^x - 1 in double for every float x: near 0 by its Taylor polynomial of degree 14.
constexpr double portable_expm1(double x) {
  if (!(x > -0.35 && x < 0.35)) return portable_exp(x) - 1;
  double p = 1;
  for (int n = 14; n >= 2; --n) p = 1 + p * x * (1.0 / n);
  return x * p;
}

/// ln x in double for every float x (so that a subnormal float is a normal double).
/// x = 2^e m with m in [sqrt(1/2), sqrt(2)), ln m = 2 artanh(s) with s = (m - 1) / (m + 1).
constexpr double portable_log(double x) {
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (x == std::numeric_limits<double>::infinity()) return x;
  const auto [exponent, s] = portable::log_parts(x);
  return 2 * s + (portable::artanh_tail(s) + exponent * portable::kLn2);
}

/// The logarithm to base 2, likewise; exact for powers of two.
constexpr double portable_log2(double x) {
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (x == std::numeric_limits<double>::infinity()) return x;
  const auto [exponent, s] = portable::log_parts(x);
  return (2 * s + portable::artanh_tail(s)) * portable::kLog2E + exponent;
}

/// The logarithm to base 10, likewise.
constexpr double portable_log10(double x) {
  constexpr double kLog10Of2 = 0.30102999566398119521, kLog10E = 0.43429448190325182765;
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (x == std::numeric_limits<double>::infinity()) return x;
  const auto [exponent, s] = portable::log_parts(x);
  return (2 * s + portable::artanh_tail(s)) * kLog10E + exponent * kLog10Of2;
}

/// ln(1 + x) in double for every float x: near 0 with s = x / (2 + x), so that 1 + x is never rounded.
constexpr double portable_log1p(double x) {
  if (!(x > -0.29 && x < 0.41)) return portable_log(1 + x);
  const double s = x / (2 + x);
  return 2 * s + portable::artanh_tail(s);
}

/// x^y in double for all floats x and y, with the special cases of C's pow. Squares are exact.
constexpr double portable_power(double x, double y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (y == 0 || x == 1) return 1;
  if (y == 2) return x * x;
  if (x != x || y != y) return std::numeric_limits<double>::quiet_NaN();
  const double size = x < 0 ? -x : x;
  if (y == kInfinity || y == -kInfinity) {
    if (size == 1) return 1;
    return (size > 1) == (y > 0) ? kInfinity : 0;
  }
  // A float of 2^24 or more is an even integer.
  const double height = y < 0 ? -y : y;
  const bool whole = height >= 0x1p24 || static_cast<double>(static_cast<std::int64_t>(height)) == height;
  const bool odd = height < 0x1p24 && whole && static_cast<std::int64_t>(height) % 2 != 0;
  const bool negative = (std::bit_cast<std::uint64_t>(x) >> 63) != 0;
  const double sign = negative && odd ? -1 : 1;
  if (size == 0) return y > 0 ? 0 * sign : kInfinity * sign;
  if (size == kInfinity) return y > 0 ? kInfinity * sign : 0 * sign;
  if (negative && !whole) return std::numeric_limits<double>::quiet_NaN();
  return sign * portable_exp2(y * portable_log2(size));
}

/// sinh x in double for every float x: from e^|x| - 1, so that nothing cancels.
constexpr double portable_sinh(double x) {
  const double grown = portable_expm1(x < 0 ? -x : x);
  const double value = (grown + grown / (grown + 1)) / 2;
  return x < 0 ? -value : x == 0 ? x : value;
}

/// cosh x in double for every float x.
constexpr double portable_cosh(double x) {
  const double power = portable_exp(x);
  return (power + 1 / power) / 2;
}

/// tanh x in double for every float x.
constexpr double portable_tanh(double x) {
  // Below, 1 - 2 / (e^2x + 1) cancels; the series' next term is below 2^-54 of the result.
  if (x > -0x1p-9 && x < 0x1p-9) {
    const double square = x * x;
    return x * (1 - square * (1.0 / 3 - square * (2.0 / 15)));
  }
  return 1 - 2 / (portable_exp(2 * x) + 1);
}

/// 1 / (1 + e^-x) in double for every float x; from e^-|x|, so that nothing overflows.
constexpr double portable_sigmoid(double x) {
  const double power = portable_exp(x < 0 ? x : -x);
  return (x < 0 ? power : 1.0) / (1 + power);
}

/// Cosine and sine of 2 pi `turns`, for 0 <= turns < 1, to about 1e-15.
struct CosineSine {
  double cosine, sine;
};
constexpr CosineSine portable_cosine_sine(double turns) {
  constexpr double kTwoPi = 6.28318530717958647693;
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): the nearest multiple of a quarter turn; either neighbour would do
  const auto quarter = static_cast<int>(turns * 4 + 0.5);
  const double angle = (turns - quarter * 0.25) * kTwoPi;  // |angle| <= pi / 4
  const double square = angle * angle;
  double sine = 1, cosine = 1;
  for (int n = 16; n >= 2; n -= 2) {
    cosine = 1 - cosine * square / ((n - 1) * n);
    sine = 1 - sine * square / (n * (n + 1));
  }
  sine *= angle;
  switch (quarter % 4) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

}  // namespace kernbench::numerics
