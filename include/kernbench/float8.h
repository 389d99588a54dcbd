// 8-bit floating-point values of the OCP OFP8 specification: storage types with correctly rounded, saturating
// conversions.
#pragma once

#include <bit>
#include <cstdint>

#include "kernbench/half.h"
#include "kernbench/rounding.h"

namespace kernbench {

namespace detail {

/// Rounds a float to an 8-bit format, to nearest with ties to even; beyond the largest finite number, to that number.
/// `kLargest` is that number's code, `nan` the code of the NaN (all without sign). Written without branches, so that
/// loops over it are vectorised.
template <int kBias, int kSignificandBits, std::uint32_t kLargest>
constexpr std::uint8_t round_float_to_8_bits(float value, std::uint32_t nan) {
  constexpr int kShift = 23 - kSignificandBits;
  constexpr std::uint32_t kSmallestNormal = static_cast<std::uint32_t>(127 - kBias + 1) << 23;
  constexpr std::uint32_t kLargestFloat = (kLargest << kShift) + (static_cast<std::uint32_t>(127 - kBias) << 23);
  // A float whose last bit is worth the format's smallest subnormal: adding it rounds to a multiple of that.
  constexpr std::uint32_t kRounder = static_cast<std::uint32_t>(127 + 23 + 1 - kBias - kSignificandBits) << 23;
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 24) & 0x80u;
  const std::uint32_t magnitude = word & 0x7FFFFFFFu;
  const std::uint32_t finite = magnitude > kLargestFloat ? kLargestFloat : magnitude;
  const std::uint32_t even = (finite >> kShift) & 1u;
  const std::uint32_t normal = ((finite + ((1u << (kShift - 1)) - 1) + even) >> kShift) -
                               (static_cast<std::uint32_t>(127 - kBias) << kSignificandBits);
  const std::uint32_t small = finite < kSmallestNormal ? finite : 0u;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(small) + std::bit_cast<float>(kRounder)) - kRounder;
  const std::uint32_t code = finite < kSmallestNormal ? subnormal : normal;
  return static_cast<std::uint8_t>(sign | (magnitude > 0x7F800000u ? nan : code));
}

/// The same for a double, with a choice of rounding.
template <int kBias, int kSignificandBits, std::uint32_t kLargest>
constexpr std::uint8_t round_to_8_bits(double value, RoundingMode mode, std::uint32_t nan) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits >> 56) & 0x80u;
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  if (magnitude > kDoubleInfinity) return static_cast<std::uint8_t>(sign | nan);
  const std::uint64_t rounded = round_magnitude<kBias, kSignificandBits>(magnitude, mode);
  return static_cast<std::uint8_t>(sign | (rounded > kLargest ? kLargest : rounded));
}

}  // namespace detail

/// OCP FP8 E4M3 ("fn": finite and NaN): 4 exponent bits with bias 7, 3 significand bits, no infinity, NaN is 0x7F and
/// 0xFF, the largest number is 448, the smallest subnormal 2^-9. Storage only; arithmetic is done in float.
struct float8_e4m3 {
  std::uint8_t bits = 0;

  constexpr float8_e4m3() = default;
  /// Round to nearest, ties to even (or toward zero), in one rounding. Numbers beyond 448 and infinities become 448
  /// with their sign: the specification's saturating mode. NaN stays NaN and keeps its sign.
  constexpr explicit float8_e4m3(double value, RoundingMode mode = RoundingMode::nearest)
      : bits(detail::round_to_8_bits<7, 3, 0x7E>(value, mode, 0x7F)) {}
  constexpr explicit float8_e4m3(float value) : bits(detail::round_float_to_8_bits<7, 3, 0x7E>(value, 0x7F)) {}
  static constexpr float8_e4m3 from_bits(std::uint8_t bits) {
    float8_e4m3 result;
    result.bits = bits;
    return result;
  }

  /// Exact.
  constexpr explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24;
    const std::uint32_t code = bits & 0x7Fu;
    if (code == 0x7F) return std::bit_cast<float>(sign | 0x7FF00000u);
    if (code >= 8) return std::bit_cast<float>(sign | ((code << 20) + (120u << 23)));
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(code) * 0x1p-9f));
  }
  constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

/// OCP FP8 E5M2: the upper half of a binary16 (5 exponent bits with bias 15, 2 significand bits, infinities, NaNs), the
/// largest number is 57344, the smallest subnormal 2^-16. Storage only; arithmetic is done in float.
struct float8_e5m2 {
  std::uint8_t bits = 0;

  constexpr float8_e5m2() = default;
  /// Round to nearest, ties to even (or toward zero), in one rounding. Numbers beyond 57344 and infinities become 57344
  /// with their sign: the specification's saturating mode. NaN becomes the quiet NaN 0x7E and keeps its sign.
  constexpr explicit float8_e5m2(double value, RoundingMode mode = RoundingMode::nearest)
      : bits(detail::round_to_8_bits<15, 2, 0x7B>(value, mode, 0x7E)) {}
  constexpr explicit float8_e5m2(float value) : bits(detail::round_float_to_8_bits<15, 2, 0x7B>(value, 0x7E)) {}
  static constexpr float8_e5m2 from_bits(std::uint8_t bits) {
    float8_e5m2 result;
    result.bits = bits;
    return result;
  }

  /// Exact; a signalling NaN becomes quiet.
  constexpr explicit operator float() const {
    return static_cast<float>(half::from_bits(static_cast<std::uint16_t>(bits << 8)));
  }
  constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

}  // namespace kernbench
