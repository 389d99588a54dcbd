#include "kernbench/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "numerics/conversion.h"

namespace kernbench::numerics {
namespace {

/// A 16-bit format's value by its definition, independent of the implementation's bit tricks.
double defined_value(std::uint16_t bits, int exponent_bits, int significand_bits) {
  const int exponent = (bits >> significand_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << significand_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - significand_bits);
  return sign * std::ldexp((1 << significand_bits) + fraction, exponent - bias - significand_bits);
}

struct HalfFormat {
  using Type = half;
  static double value(std::uint16_t bits) { return defined_value(bits, 5, 10); }
  static constexpr std::uint16_t kInfinity = 0x7C00;
};
struct BfloatFormat {
  using Type = bfloat16;
  static double value(std::uint16_t bits) { return defined_value(bits, 8, 7); }
  static constexpr std::uint16_t kInfinity = 0x7F80;
};

template <class Format>
class SixteenBits : public testing::Test {};
using Formats = testing::Types<HalfFormat, BfloatFormat>;
TYPED_TEST_SUITE(SixteenBits, Formats);

TYPED_TEST(SixteenBits, EveryPatternHasTheValueThatTheFormatDefines) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const double expected = TypeParam::value(pattern);
    const auto actual = TypeParam::Type::from_bits(pattern);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(actual)) && std::isnan(static_cast<double>(actual))) << bits;
      ASSERT_EQ(std::signbit(static_cast<float>(actual)), (bits & 0x8000) != 0) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(actual), expected) << bits;
      ASSERT_EQ(static_cast<double>(static_cast<float>(actual)), expected) << bits;
      ASSERT_EQ(std::signbit(static_cast<float>(actual)), std::signbit(expected)) << bits;
    }
  }
}

TYPED_TEST(SixteenBits, EveryPatternSurvivesTheWayToFloatAndDoubleAndBack) {
  using Type = typename TypeParam::Type;
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto original = Type::from_bits(static_cast<std::uint16_t>(bits));
    const bool nan = std::isnan(static_cast<float>(original));
    const std::uint16_t quiet_bit = std::is_same_v<Type, half> ? 0x200 : 0x40;
    const auto expected = static_cast<std::uint16_t>(nan ? bits | quiet_bit : bits);
    ASSERT_EQ(Type(static_cast<float>(original)).bits, expected) << bits;
    ASSERT_EQ(Type(static_cast<double>(original)).bits, expected) << bits;
  }
}

/// Between every pair of neighbours: just above the lower, just below, at and just above the middle, just below the
/// upper. These are all the places where rounding can go wrong.
TYPED_TEST(SixteenBits, RoundsToNearestWithTiesToEvenAtEveryBoundary) {
  using Type = typename TypeParam::Type;
  for (std::uint16_t low = 0; low < TypeParam::kInfinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const double low_value = TypeParam::value(low);
    // Beyond the largest finite number the next value would be as far away again.
    const double high_value = high == TypeParam::kInfinity
                                  ? low_value + (low_value - TypeParam::value(static_cast<std::uint16_t>(low - 1)))
                                  : TypeParam::value(high);
    const double middle = (low_value + high_value) / 2;
    const std::uint16_t even = (low & 1) == 0 ? low : high;
    const double infinity = std::numeric_limits<double>::infinity();
    const auto check = [&](double number, std::uint16_t expected) {
      ASSERT_EQ(Type(number).bits, expected) << number;
      ASSERT_EQ(Type(-number).bits, expected | 0x8000) << number;
    };
    check(low_value, low);
    check(std::nextafter(low_value, infinity), low);
    check(std::nextafter(middle, 0.0), low);  // would be a tie after a first rounding to float
    check(middle, even);
    check(std::nextafter(middle, infinity), high);
    check(std::nextafter(high_value, 0.0), high);
    const auto check_float = [&](float number, std::uint16_t expected) {
      ASSERT_EQ(Type(number).bits, expected) << number;
      ASSERT_EQ(Type(-number).bits, expected | 0x8000) << number;
    };
    const auto middle_float = static_cast<float>(middle);
    if (std::isinf(middle_float)) continue;
    ASSERT_EQ(static_cast<double>(middle_float), middle);
    check_float(std::nextafter(middle_float, 0.0f), low);
    check_float(middle_float, even);
    check_float(std::nextafter(middle_float, std::numeric_limits<float>::infinity()), high);
  }
}

TYPED_TEST(SixteenBits, OverflowIsInfinityAndTinyIsZero) {
  using Type = typename TypeParam::Type;
  for (const double huge : {1e39, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(Type(huge).bits, TypeParam::kInfinity);
    EXPECT_EQ(Type(-huge).bits, TypeParam::kInfinity | 0x8000);
  }
  for (const double tiny : {0.0, 5e-324, 1e-310, 1e-60}) {
    EXPECT_EQ(Type(tiny).bits, 0);
    EXPECT_EQ(Type(-tiny).bits, 0x8000);
  }
}

TYPED_TEST(SixteenBits, ArrayConversionIsTheSameBitsWithAndWithoutF16C) {
  using Type = typename TypeParam::Type;
  std::vector<Type> patterns;
  for (int bits = 0; bits < 0x10000; ++bits) patterns.push_back(Type::from_bits(static_cast<std::uint16_t>(bits)));
  std::mt19937_64 random(1);
  std::vector<float> inputs;
  for (int i = 0; i < 3'000'003; ++i) {
    // All exponents are as likely, NaNs and subnormals included; half of them near a 16-bit number's middle.
    auto word = static_cast<std::uint32_t>(random());
    if ((i & 1) != 0) word = (word & 0xFFFFE000u) | (i & 2 ? 0x1000u : 0x0FFFu);
    inputs.push_back(std::bit_cast<float>(word));
  }
  std::vector<std::vector<float>> to(2, std::vector<float>(patterns.size()));
  std::vector<std::vector<Type>> from(2, std::vector<Type>(inputs.size()));
  const bool before = force_portable_conversion(true);
  for (const std::size_t portable : {1u, 0u}) {
    force_portable_conversion(portable != 0);
    to_float(to[portable].data(), patterns.data(), static_cast<std::int64_t>(patterns.size()));
    from_float(from[portable].data(), inputs.data(), static_cast<std::int64_t>(inputs.size()));
  }
  force_portable_conversion(before);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(to[0][i]), std::bit_cast<std::uint32_t>(to[1][i])) << i;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(to[1][i]), std::bit_cast<std::uint32_t>(static_cast<float>(patterns[i])));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(from[0][i].bits, from[1][i].bits) << std::bit_cast<std::uint32_t>(inputs[i]);
    ASSERT_EQ(from[1][i].bits, Type(inputs[i]).bits);
  }
}

TEST(Half, IsUsableInConstantExpressions) {
  static_assert(half(1.0f).bits == 0x3C00 && half(65519.0).bits == 0x7BFF && half(65520.0).bits == 0x7C00);
  static_assert(bfloat16(1.0f).bits == 0x3F80 && static_cast<float>(bfloat16(3.0)) == 3.0f);
  static_assert(static_cast<float>(half::from_bits(1)) == 0x1p-24f);
}

}  // namespace
}  // namespace kernbench::numerics
