// Rounding of doubles to narrower binary formats, in integers: the same in a constant expression and at run time.
#pragma once

#include <bit>
#include <cstdint>

namespace kernbench {

/// How a conversion to a narrower float rounds: to nearest with ties to even, or toward zero.
enum class RoundingMode : std::uint8_t { nearest, toward_zero };

namespace detail {

inline constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7FF} << 52;

/// The code (exponent and significand, without sign) that a finite double's magnitude rounds to, once, in a format with
/// this bias and this many stored significand bits; as if the format's exponent had no upper end. `magnitude` is the
/// double's bits without the sign. REQUIRES: the format's smallest subnormal is above 2^-1020.
template <int kBias, int kSignificandBits>
constexpr std::uint64_t round_magnitude(std::uint64_t magnitude, RoundingMode mode) {
  const int biased = static_cast<int>(magnitude >> 52);
  if (biased == 0) return 0;  // far below half of the smallest number
  const int exponent = biased - 1023 + kBias;
  const std::uint64_t significand = (magnitude & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  const int shift = 52 - kSignificandBits + (exponent > 0 ? 0 : 1 - exponent);
  if (shift > 54) return 0;
  const std::uint64_t kept = significand >> shift;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t middle = std::uint64_t{1} << (shift - 1);
  const bool up = mode == RoundingMode::nearest && (rest > middle || (rest == middle && (kept & 1) != 0));
  // For normal numbers `kept` has the implicit bit; adding instead of masking carries into the exponent as it should.
  const std::uint64_t base = exponent > 0 ? static_cast<std::uint64_t>(exponent - 1) << kSignificandBits : 0;
  return base + kept + (up ? 1 : 0);
}

/// Rounds a double to a binary format of IEEE's shape, once. To nearest, overflow goes to infinity; toward zero, to the
/// largest finite number. Tiny values go to subnormals or zero; a NaN keeps its sign and high bits and is quiet.
template <class Bits, int kExponentBits, int kSignificandBits>
constexpr Bits round_to_format(double value, RoundingMode mode) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr std::uint64_t kInfinity = ((std::uint64_t{1} << kExponentBits) - 1) << kSignificandBits;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits >> 63) << (kExponentBits + kSignificandBits);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  if (magnitude > kDoubleInfinity) {
    const std::uint64_t payload = (magnitude >> (52 - kSignificandBits)) & ((std::uint64_t{1} << kSignificandBits) - 1);
    return static_cast<Bits>(sign | kInfinity | payload | (std::uint64_t{1} << (kSignificandBits - 1)));
  }
  if (magnitude == kDoubleInfinity) return static_cast<Bits>(sign | kInfinity);
  const std::uint64_t rounded = round_magnitude<kBias, kSignificandBits>(magnitude, mode);
  const std::uint64_t limit = mode == RoundingMode::nearest ? kInfinity : kInfinity - 1;
  return static_cast<Bits>(sign | (rounded > limit ? limit : rounded));
}

}  // namespace detail

/// The float nearest to a double, or the next one toward zero.
constexpr float round_to_float(double value, RoundingMode mode) {
  if (mode == RoundingMode::nearest) return static_cast<float>(value);
  return std::bit_cast<float>(detail::round_to_format<std::uint32_t, 8, 23>(value, mode));
}

}  // namespace kernbench
