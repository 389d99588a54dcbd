// 16-bit floating-point values: storage types with correctly rounded conversions.
#pragma once

#include <bit>
#include <cstdint>

#include "kernbench/rounding.h"

namespace kernbench {

/// IEEE 754 binary16 (f16): storage only; arithmetic is done in float and rounded once.
struct half {
  std::uint16_t bits = 0;

  constexpr half() = default;
  /// Round to nearest, ties to even (or toward zero), in one rounding; a NaN keeps its sign and high bits and becomes
  /// quiet.
  constexpr explicit half(double value, RoundingMode mode = RoundingMode::nearest)
      : bits(detail::round_to_format<std::uint16_t, 5, 10>(value, mode)) {}
  constexpr explicit half(float value) : half(static_cast<double>(value)) {}
  static constexpr half from_bits(std::uint16_t bits) {
    half result;
    result.bits = bits;
    return result;
  }

  /// Exact; a signalling NaN becomes quiet.
  constexpr explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
    const std::uint32_t fraction = bits & 0x3FFu;
    if (exponent == 0x1F) {
      const std::uint32_t quiet = fraction != 0 ? 0x400000u : 0u;
      return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13) | quiet);
    }
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

/// bfloat16 (bf16), the upper half of a binary32: storage only; arithmetic is done in float and rounded once.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;
  /// Round to nearest, ties to even (or toward zero), in one rounding; a NaN keeps its sign and high bits and becomes
  /// quiet.
  constexpr explicit bfloat16(double value, RoundingMode mode = RoundingMode::nearest)
      : bits(detail::round_to_format<std::uint16_t, 8, 7>(value, mode)) {}
  constexpr explicit bfloat16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool nan = (word & 0x7FFFFFFFu) > 0x7F800000u;
    const std::uint32_t rounded = word + 0x7FFFu + ((word >> 16) & 1u);
    bits = static_cast<std::uint16_t>(nan ? (word >> 16) | 0x40u : rounded >> 16);
  }
  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result;
    result.bits = bits;
    return result;
  }

  /// Exact; a signalling NaN stays as it is.
  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

}  // namespace kernbench
