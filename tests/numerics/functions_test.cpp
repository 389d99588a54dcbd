// The elementary functions against long double, over millions of floats each.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "numerics/portable_erf.h"
#include "numerics/portable_inverse.h"
#include "numerics/portable_math.h"
#include "numerics/portable_trigonometry.h"
#include "support/all_cases.h"

namespace kernbench::numerics::functions_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Distance of `actual` from the real number `expected` in units of the float spacing there.
long double ulps(float actual, long double expected) {
  const auto nearest = static_cast<float>(expected);
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual) ? 0.0L : HUGE_VALL;
  if (std::isinf(nearest) || std::isinf(actual)) return actual == nearest ? 0.0L : HUGE_VALL;
  const int exponent = expected == 0 ? -126 : std::max(std::ilogb(expected), -126);
  return std::abs(static_cast<long double>(actual) - expected) / std::ldexp(1.0L, exponent - 23);
}

using Function = double (*)(double);
using Reference = long double (*)(long double);

/// The largest error over floats of all exponents (two million of each sign in the slow tests, else a tenth of them),
/// subnormals, infinities and zeros.
long double worst_error(Function function, Reference reference) {
  long double worst = 0;
  const auto check = [&](float x) {
    const auto actual = static_cast<float>(function(static_cast<double>(x)));
    const long double expected = reference(static_cast<long double>(x));
    worst = std::max(worst, ulps(actual, expected));
    EXPECT_TRUE(x != 0 || std::signbit(actual) == std::signbit(expected));
  };
  // A prime, so that all low bits occur.
  const std::uint32_t step = takes_all_cases() ? 1009 : kSanitized ? 100'003 : 10'007;
  for (std::uint32_t bits = 0; bits < 0x7F800000u; bits += step) {
    check(std::bit_cast<float>(bits));
    check(-std::bit_cast<float>(bits));
  }
  for (const float x : {kInfinity, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()}) {
    check(x);
    check(-x);
  }
  EXPECT_TRUE(std::isnan(function(kNan)));
  return worst;
}

/// The same over [low, high], densely.
long double worst_error(Function function, Reference reference, double low, double high) {
  long double worst = 0;
  const int count = number_of_cases(1'000'000, 100'000, 10'000);
  for (int i = 0; i <= count; ++i) {
    const auto x = static_cast<float>(low + (high - low) * i / count);
    worst = std::max(
        worst, ulps(static_cast<float>(function(static_cast<double>(x))), reference(static_cast<long double>(x))));
  }
  return worst;
}

void expect_bound(Function function, Reference reference, double low, double high) {
  const long double overall = worst_error(function, reference), inside = worst_error(function, reference, low, high);
  testing::Test::RecordProperty("ulps_above_half",
                                std::to_string(static_cast<double>(std::max(overall, inside) - 0.5L)));
  EXPECT_LE(overall, 0.501L);
  EXPECT_LE(inside, 0.501L);
}

TEST(Functions, Exp2IsWithinHalfAnUlp) {
  expect_bound(portable_exp2, [](long double x) { return std::exp2(x); }, -150.5, 128.5);
  for (int exponent = -149; exponent < 128; ++exponent) EXPECT_EQ(portable_exp2(exponent), std::ldexp(1.0, exponent));
}
TEST(Functions, Expm1IsWithinHalfAnUlp) {
  expect_bound(portable_expm1, [](long double x) { return std::expm1(x); }, -1, 1);
}
TEST(Functions, Log2IsWithinHalfAnUlp) {
  expect_bound(portable_log2, [](long double x) { return std::log2(x); }, 0.5, 2);
  for (int exponent = -149; exponent < 128; ++exponent) EXPECT_EQ(portable_log2(std::ldexp(1.0, exponent)), exponent);
}
TEST(Functions, Log10IsWithinHalfAnUlp) {
  expect_bound(portable_log10, [](long double x) { return std::log10(x); }, 0.5, 2);
  for (int exponent = 0; exponent < 11; ++exponent)
    EXPECT_EQ(static_cast<float>(portable_log10(std::pow(10.0, exponent))), static_cast<float>(exponent));
}
TEST(Functions, Log1pIsWithinHalfAnUlp) {
  expect_bound(portable_log1p, [](long double x) { return std::log1p(x); }, -0.9999, 1);
  EXPECT_EQ(portable_log1p(-1), -std::numeric_limits<double>::infinity());
}
TEST(Functions, TheTangentAndInverseFunctionsAreWithinHalfAnUlp) {
  for (const double most : {0.3, 1.0, 50.0, 1e30}) {
    expect_bound(portable_atan, [](long double x) { return std::atan(x); }, -most, most);
    expect_bound(portable_asinh, [](long double x) { return std::asinh(x); }, -most, most);
    // The sign of a NaN means nothing.
    expect_bound(
        portable_acosh,
        [](long double x) { return x < 1 ? std::numeric_limits<long double>::quiet_NaN() : std::acosh(x); }, 1.0001,
        1 + most);
  }
  expect_bound(portable_asin, [](long double x) { return std::asin(x); }, -1, 1);
  expect_bound(portable_acos, [](long double x) { return std::acos(x); }, -1, 0.999);
  expect_bound(portable_tan, [](long double x) { return std::tan(x); }, -1.5, 1.5);
}
TEST(Functions, SigmoidIsWithinHalfAnUlp) {
  expect_bound(portable_sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, -110, 20);
}
TEST(Functions, ErfIsWithinHalfAnUlp) {
  expect_bound(portable_erf, [](long double x) { return std::erf(x); }, -4.5, 4.5);
}
TEST(Functions, SineIsWithinHalfAnUlp) {
  expect_bound(portable_sine, [](long double x) { return std::sin(x); }, -30, 30);
}
TEST(Functions, CosineIsWithinHalfAnUlp) {
  expect_bound(portable_cosine, [](long double x) { return std::cos(x); }, -30, 30);
}

/// Where the reduced angle is small: the floats around multiples of a quarter turn, of all sizes.
TEST(Functions, SineAndCosineAreRightNextToTheirZeros) {
  std::mt19937_64 random(1);
  const long double half_pi = std::acos(0.0L);
  const int count = number_of_cases(1'000'000, 100'000, 10'000);
  for (int i = 0; i < count; ++i) {
    const auto multiple = static_cast<std::int64_t>(random() >> (10 + random() % 53));
    auto x = static_cast<float>(static_cast<long double>(multiple) * half_pi);
    for (int step = static_cast<int>(random() % 3); step > 0; --step) x = std::nextafter(x, kInfinity);
    ASSERT_LE(ulps(static_cast<float>(portable_sine(static_cast<double>(x))), std::sin(static_cast<long double>(x))),
              0.501L)
        << x;
    ASSERT_LE(ulps(static_cast<float>(portable_cosine(static_cast<double>(x))), std::cos(static_cast<long double>(x))),
              0.501L)
        << x;
  }
  // The float whose distance from a multiple of pi/2 is the smallest relative to its size (Kahan, "Minimizing q m -
  // n").
  const auto hardest = 16367173.0f * 0x1p72f;
  EXPECT_LE(ulps(static_cast<float>(portable_cosine(static_cast<double>(hardest))),
                 std::cos(static_cast<long double>(hardest))),
            0.501L);
}

TEST(Functions, PowerIsWithinHalfAnUlp) {
  std::mt19937_64 random(2);
  long double worst = 0;
  for (int i = 0; i < number_of_cases(3'000'000, 1'000'000, 200'000); ++i) {
    const auto x =
        std::bit_cast<float>(static_cast<std::uint32_t>(random()) & (i % 4 == 0 ? 0xFFFFFFFFu : 0x7FFFFFFFu));
    float y = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    // Mostly such that the result neither overflows nor vanishes.
    const double logarithm = std::log2(std::abs(static_cast<double>(x)));
    if (i % 8 != 0) y = static_cast<float>((static_cast<double>(random() % 300'000) / 1000 - 155) / logarithm);
    if (i % 8 == 1) y = std::round(y);
    if (std::isnan(x) || std::isnan(y)) continue;
    const auto actual = static_cast<float>(portable_power(static_cast<double>(x), static_cast<double>(y)));
    worst = std::max(worst, ulps(actual, std::pow(static_cast<long double>(x), static_cast<long double>(y))));
    ASSERT_LE(worst, 0.501L) << x << " to the " << y;
  }
  RecordProperty("ulps_above_half", std::to_string(static_cast<double>(worst - 0.5L)));
}

TEST(Functions, SquaresAreExact) {
  EXPECT_EQ(portable_power(4097, 2), 16785409);
  EXPECT_EQ(portable_power(-0x1.fffffep100, 2), 0x1.fffffep100 * 0x1.fffffep100);
  EXPECT_EQ(portable_power(0x1p-149, 2), 0x1p-298);
}

TEST(Functions, PowerHasTheSpecialCasesOfC) {
  const double numbers[] = {0.0,
                            -0.0,
                            1,
                            -1,
                            2,
                            -2,
                            3,
                            -3,
                            0.5,
                            -0.5,
                            2.5,
                            0x1p24 + 2,
                            -(0x1p24 - 1),
                            0x1p-149,
                            3e38,
                            -3e38,
                            static_cast<double>(kInfinity),
                            -static_cast<double>(kInfinity),
                            kNan};
  for (const double x : numbers) {
    for (const double y : numbers) {
      const auto actual = static_cast<float>(portable_power(x, y)), expected = static_cast<float>(std::pow(x, y));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << x << " to the " << y;
      } else {
        EXPECT_EQ(actual, expected) << x << " to the " << y;
        EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << x << " to the " << y;
      }
    }
  }
}

/// Fixed bits: a change of compiler or flags that changes results shows here.
TEST(Functions, BitsAreGolden) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::uint32_t bits = 0; bits < 0x7F800000u; bits += 100'003) {
    for (const auto x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
      const auto wide = static_cast<double>(x);
      for (const double value : {portable_exp2(wide), portable_expm1(wide), portable_log2(wide), portable_log1p(wide),
                                 portable_sigmoid(wide), portable_erf(wide), portable_sine(wide), portable_cosine(wide),
                                 portable_power(wide, 1.7)}) {
        if (value == value) hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211u;
      }
    }
  }
  EXPECT_EQ(hash, 5417618315171442998u);
}

}  // namespace
}  // namespace kernbench::numerics::functions_test
