// 16-bit floating-point values: storage types with correctly rounded conversions.
#pragma once

#include <bit>
#include <cstdint>

namespace kernbench {

namespace detail {

/// Rounds a double to a binary format with `kSignificandBits` stored bits and `kExponentBits`, to nearest, ties to
/// even, once. Overflow goes to infinity, tiny values to subnormals or zero; a NaN keeps its sign and high bits and is
/// quiet.
template <int kExponentBits, int kSignificandBits>
constexpr std::uint16_t round_to_16_bits(double value) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr std::uint64_t kExponentMask = (std::uint64_t{1} << kExponentBits) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 63) << 15);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const int biased = static_cast<int>((bits >> 52) & 0x7FF);
  const auto infinity = static_cast<std::uint16_t>(kExponentMask << kSignificandBits);
  if (biased == 0x7FF) {
    if (fraction == 0) return static_cast<std::uint16_t>(sign | infinity);
    const std::uint64_t payload = (fraction >> (52 - kSignificandBits)) | (std::uint64_t{1} << (kSignificandBits - 1));
    return static_cast<std::uint16_t>(sign | infinity | payload);
  }
  // Subnormal doubles are far below half of the smallest 16-bit number.
  if (biased == 0) return sign;
  const int exponent = biased - 1023 + kBias;  // biased in the target format
  if (exponent > static_cast<int>(kExponentMask)) return static_cast<std::uint16_t>(sign | infinity);
  const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
  const int shift = 52 - kSignificandBits + (exponent > 0 ? 0 : 1 - exponent);
  if (shift > 54) return sign;
  const std::uint64_t kept = significand >> shift;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t middle = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rounded = kept + ((rest > middle || (rest == middle && (kept & 1) != 0)) ? 1 : 0);
  // For normal numbers `kept` has the implicit bit; adding instead of masking carries into the exponent as it should.
  const std::uint64_t base = exponent > 0 ? static_cast<std::uint64_t>(exponent - 1) << kSignificandBits : 0;
  const std::uint64_t result = base + rounded;
  return static_cast<std::uint16_t>(sign | (result > infinity ? infinity : result));
}

}  // namespace detail

/// IEEE 754 binary16 (f16): storage only; arithmetic is done in float and rounded once.
struct half {
  std::uint16_t bits = 0;

  constexpr half() = default;
  /// Round to nearest, ties to even, in one rounding; a NaN keeps its sign and high bits and becomes quiet.
  constexpr explicit half(double value) : bits(detail::round_to_16_bits<5, 10>(value)) {}
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
  /// Round to nearest, ties to even, in one rounding; a NaN keeps its sign and high bits and becomes quiet.
  constexpr explicit bfloat16(double value) : bits(detail::round_to_16_bits<8, 7>(value)) {}
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
