// 4-bit floating-point values, and the scales that blocks of narrow ones share: the OCP Microscaling Formats (MX)
// specification, version 1.0.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kernbench {

/// FP4 E2M1: 2 exponent bits with bias 1, one significand bit, neither infinity nor NaN. Two lie in a byte, the first
/// one in its lower half. Storage only; arithmetic is done in float.
struct float4_e2m1 {
  std::uint8_t bits = 0;  // the lower four: sign, exponent, significand

  static constexpr std::array<float, 8> kMagnitudes{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};

  constexpr float4_e2m1() = default;
  /// To nearest, ties to even; beyond 6, infinities and NaN: 6 with the sign.
  constexpr explicit float4_e2m1(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const float magnitude = std::bit_cast<float>(word & 0x7FFFFFFFu);
    std::uint8_t code = 7;
    // A half way to the next one goes to the even code.
    while (code > 0) {
      const float half_way = (kMagnitudes[code] + kMagnitudes[code - std::size_t{1}]) / 2;
      if (!(magnitude < half_way) && (magnitude != half_way || code % 2 == 0)) break;
      --code;
    }
    bits = static_cast<std::uint8_t>(code | (word >> 28 & 8u));
  }
  static constexpr float4_e2m1 from_bits(std::uint8_t bits) {
    float4_e2m1 result;
    result.bits = bits & 15u;
    return result;
  }
  /// Exact.
  constexpr explicit operator float() const { return (bits & 8u) != 0 ? -kMagnitudes[bits & 7u] : kMagnitudes[bits]; }
};

/// E8M0: the scale 2^(bits - 127) of a block, NaN for 255.
struct float8_e8m0 {
  std::uint8_t bits = 127;

  static constexpr float8_e8m0 from_bits(std::uint8_t bits) { return {bits}; }
  /// Exact.
  constexpr explicit operator float() const {
    if (bits == 255) return std::numeric_limits<float>::quiet_NaN();
    return std::bit_cast<float>(bits == 0 ? 0x00400000u : std::uint32_t{bits} << 23);
  }
};

}  // namespace kernbench
