#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "numerics/portable_math.h"

namespace kernbench::numerics::math_test {
namespace {

/// Distance of `actual` from the real number `expected` in units of the float spacing there.
long double ulps(float actual, long double expected) {
  const auto nearest = static_cast<float>(expected);
  if (std::isinf(nearest) || std::isinf(actual)) return actual == nearest ? 0.0L : HUGE_VALL;
  const int exponent = expected == 0 ? -126 : std::max(std::ilogb(expected), -126);
  return std::abs(static_cast<long double>(actual) - expected) / std::ldexp(1.0L, exponent - 23);
}

/// Calls visit(x) for every `step`-th float of both signs, infinities and subnormals included, NaN left out.
template <class Visit>
void for_floats(std::uint32_t step, Visit&& visit) {
  for (std::uint32_t bits = 0; bits <= 0x7F800000u; bits += step) {
    visit(std::bit_cast<float>(bits));
    visit(-std::bit_cast<float>(bits));
  }
  visit(std::numeric_limits<float>::infinity());
  visit(-std::numeric_limits<float>::infinity());
}

constexpr std::uint32_t kStep = 997;  // a prime, so that all low bits occur: four million arguments
constexpr long double kBound = 0.501L;

TEST(PortableMath, ExpIsWithinHalfAnUlp) {
  for_floats(kStep, [](float x) {
    ASSERT_LE(ulps(static_cast<float>(portable_exp(x)), std::exp(static_cast<long double>(x))), kBound) << x;
  });
  // The range between underflow and overflow, densely.
  for (double x = -104.5; x < 89.5; x += 1.0 / 8192) {
    const auto argument = static_cast<float>(x);
    ASSERT_LE(ulps(static_cast<float>(portable_exp(argument)), std::exp(static_cast<long double>(argument))), kBound);
  }
}

TEST(PortableMath, LogIsWithinHalfAnUlp) {
  for_floats(kStep, [](float x) {
    if (x < 0) {
      ASSERT_TRUE(std::isnan(portable_log(x)));
    } else {
      ASSERT_LE(ulps(static_cast<float>(portable_log(x)), std::log(static_cast<long double>(x))), kBound) << x;
    }
  });
  // Around 1, where the result is small.
  for (std::uint32_t bits = 0x3F700000u; bits < 0x3F900000u; bits += 7) {
    const auto x = std::bit_cast<float>(bits);
    ASSERT_LE(ulps(static_cast<float>(portable_log(x)), std::log(static_cast<long double>(x))), kBound) << x;
  }
}

TEST(PortableMath, TanhIsWithinHalfAnUlp) {
  for_floats(kStep, [](float x) {
    ASSERT_LE(ulps(static_cast<float>(portable_tanh(x)), std::tanh(static_cast<long double>(x))), kBound) << x;
  });
}

TEST(PortableMath, SpecialArguments) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(portable_exp(nan)) && std::isnan(portable_log(nan)) && std::isnan(portable_tanh(nan)));
  EXPECT_EQ(static_cast<float>(portable_exp(infinity)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(portable_exp(-infinity)), 0.0f);
  EXPECT_EQ(portable_exp(0), 1.0);
  EXPECT_EQ(portable_log(0), -infinity);
  EXPECT_EQ(portable_log(-0.0), -infinity);
  EXPECT_EQ(portable_log(infinity), infinity);
  EXPECT_EQ(portable_log(1), 0.0);
  EXPECT_EQ(portable_tanh(infinity), 1.0);
  EXPECT_EQ(portable_tanh(-infinity), -1.0);
  EXPECT_TRUE(std::signbit(portable_tanh(-0.0)));
}

/// Fixed bits: a change of compiler or flags that changes results shows here.
TEST(PortableMath, BitsAreGolden) {
  std::uint64_t hash = 14695981039346656037u;
  for_floats(100'003, [&](float x) {
    for (const double value : {portable_exp(x), portable_log(x), portable_tanh(x)}) {
      if (value == value) hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211u;
    }
  });
  EXPECT_EQ(hash, 11262329562625438312u);
}

TEST(PortableMath, CosineAndSineOfTurns) {
  for (int i = 0; i < 100'000; ++i) {
    const double turns = i / 100'000.0;
    const CosineSine value = portable_cosine_sine(turns);
    const long double angle = 6.283185307179586476925286766559L * static_cast<long double>(turns);
    ASSERT_NEAR(value.cosine, static_cast<double>(std::cos(angle)), 2e-15) << turns;
    ASSERT_NEAR(value.sine, static_cast<double>(std::sin(angle)), 2e-15) << turns;
  }
}

}  // namespace
}  // namespace kernbench::numerics::math_test
