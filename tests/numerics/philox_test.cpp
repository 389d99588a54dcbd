#include "numerics/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace kernbench::numerics {
namespace {

// source: the known-answer vectors of Random123 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

template <class T, class Fill>
void expect_split_changes_nothing(const Fill& fill) {
  std::vector<T> whole(1001);
  fill(std::span(whole), 5);
  for (const std::size_t cut : {1u, 2u, 3u, 5u, 500u, 1000u}) {
    std::vector<T> parts(whole.size());
    fill(std::span(parts).first(cut), 5);
    fill(std::span(parts).subspan(cut), 5 + cut);
    EXPECT_EQ(parts, whole) << cut;
  }
}

TEST(Philox, AnElementDependsOnSeedAndPositionAlone) {
  expect_split_changes_nothing<float>([](std::span<float> out, std::uint64_t at) { fill_uniform(out, 42, at); });
  expect_split_changes_nothing<float>([](std::span<float> out, std::uint64_t at) { fill_normal(out, 42, at); });
  expect_split_changes_nothing<std::int64_t>(
      [](std::span<std::int64_t> out, std::uint64_t at) { fill_integers(out, -7, 1000, 42, at); });
}

TEST(Philox, SeedsGiveDifferentStreams) {
  std::vector<float> a(100), b(100);
  fill_normal(a, 1, 0);
  fill_normal(b, 2, 0);
  EXPECT_NE(a, b);
  fill_normal(b, std::uint64_t{1} << 32 | 1, 0);
  EXPECT_NE(a, b);
}

TEST(Philox, UniformNumbersAreUniform) {
  std::vector<float> numbers(200'000);
  fill_uniform(numbers, 3, 0);
  std::vector<int> histogram(10);
  for (const float number : numbers) {
    ASSERT_GE(number, 0.0f);
    ASSERT_LT(number, 1.0f);
    ++histogram[static_cast<std::size_t>(number * 10)];
  }
  for (const int count : histogram) EXPECT_NEAR(count, 20'000, 700);  // five standard deviations
}

// All 32 bits of a word would round to 1 now and then, and give small numbers more bits than large ones have.
TEST(Philox, UniformNumbersAreMultiplesOfTwoToTheMinus24) {
  std::vector<float> numbers(10'000);
  fill_uniform(numbers, 5, 0);
  for (const float number : numbers) {
    const float scaled = number * 0x1p24f;
    ASSERT_EQ(scaled, std::floor(scaled)) << number;
  }
}

TEST(Philox, NormalNumbersHaveTheNormalDistribution) {
  std::vector<float> numbers(200'000);
  fill_normal(numbers, 9, 0);
  double sum = 0, squares = 0, fourth = 0, products = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double x = numbers[i];
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    if ((i & 1) != 0) products += x * static_cast<double>(numbers[i - 1]);
  }
  const double n = static_cast<double>(numbers.size());
  EXPECT_NEAR(sum / n, 0, 0.012);
  EXPECT_NEAR(squares / n, 1, 0.016);
  EXPECT_NEAR(fourth / n, 3, 0.12);
  EXPECT_NEAR(products / (n / 2), 0, 0.016);
  std::ranges::sort(numbers);
  for (const double x : {-2.0, -1.0, 0.0, 0.5, 1.5}) {
    const auto below = std::ranges::lower_bound(numbers, static_cast<float>(x)) - numbers.begin();
    EXPECT_NEAR(static_cast<double>(below) / n, 0.5 * std::erfc(-x / std::sqrt(2.0)), 0.006);
  }
}

TEST(Philox, NormalNumbersAreGolden) {
  std::vector<float> numbers(4);
  fill_normal(numbers, 0, 0);
  std::vector<std::uint32_t> bits;
  for (const float number : numbers) bits.push_back(std::bit_cast<std::uint32_t>(number));
  EXPECT_EQ(bits, std::vector<std::uint32_t>({0x3f88a6cb, 0xbed9c6b5, 0xc0178cdf, 0xbe6d0d85}));
}

TEST(Philox, IntegersFillTheirRange) {
  std::vector<std::int64_t> numbers(10'000);
  fill_integers(numbers, -3, 4, 11, 0);
  std::vector<int> histogram(7);
  for (const std::int64_t number : numbers) ++histogram.at(static_cast<std::size_t>(number + 3));
  for (const int count : histogram) EXPECT_NEAR(count, 10'000 / 7, 180);
  fill_integers(numbers, INT64_MIN, INT64_MAX, 11, 0);
  EXPECT_LT(*std::ranges::min_element(numbers), INT64_MIN / 2);
  EXPECT_GT(*std::ranges::max_element(numbers), INT64_MAX / 2);
}

}  // namespace
}  // namespace kernbench::numerics
