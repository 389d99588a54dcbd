#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "numerics/gemm/gemm.h"
#include "reference.h"
#include "support.h"

namespace kernbench::numerics {
namespace {

using test::Random;

template <class T>
std::vector<std::byte> as_bytes(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const std::byte*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

/// The definition: one fused multiply-add after the other.
std::vector<float> chain(const std::vector<float>& a, const std::vector<float>& b, std::vector<float> c, std::int64_t m,
                         std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float& sum = c[static_cast<std::size_t>(i * n + j)];
      for (std::int64_t p = 0; p < k; ++p) {
        sum = std::fma(a[static_cast<std::size_t>(i * k + p)], b[static_cast<std::size_t>(p * n + j)], sum);
      }
    }
  }
  return c;
}

std::vector<float> random_floats(Random& random, std::int64_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> result(static_cast<std::size_t>(count));
  for (float& value : result) value = normal(random);
  return result;
}

class Gemm : public testing::TestWithParam<InstructionSet> {};

TEST_P(Gemm, IsBitForBitTheFmaChainForEveryShape) {
  if (!supported(GetParam())) GTEST_SKIP() << "this processor lacks the instruction set";
  Random random(1);
  const auto check = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto a = random_floats(random, m * k), b = random_floats(random, k * n), start = random_floats(random, m * n);
    std::vector<float> c = start;
    multiply_accumulate(GetParam(), m, n, k, {reinterpret_cast<const std::byte*>(a.data()), DType::f32, k},
                        {reinterpret_cast<const std::byte*>(b.data()), DType::f32, n}, c.data(), n);
    ASSERT_EQ(as_bytes(c), as_bytes(chain(a, b, start, m, n, k))) << m << " x " << n << " x " << k;
  };
  for (std::int64_t m = 1; m <= 26; ++m) {
    for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 65}) check(m, n, 1 + (m * n) % 40);
  }
  for (int round = 0; round < 30; ++round) {
    check(test::integer(random, 1, 100), test::integer(random, 1, 100), test::integer(random, 0, 600));
  }
  check(1000, 3, 20);  // more rows than a block
  check(3, 4200, 20);  // more columns than a block
}

TEST_P(Gemm, WritesOnlyItsOwnColumns) {
  if (!supported(GetParam())) GTEST_SKIP() << "this processor lacks the instruction set";
  Random random(2);
  const auto a = random_floats(random, 5 * 6), b = random_floats(random, 6 * 40);
  std::vector<float> c(5 * 50, 7.0f);
  multiply_accumulate(GetParam(), 5, 19, 6, {reinterpret_cast<const std::byte*>(a.data()), DType::f32, 6},
                      {reinterpret_cast<const std::byte*>(b.data()), DType::f32, 40}, c.data(), 50);
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (i % 50 >= 19)
      ASSERT_EQ(c[i], 7.0f);
    else
      ASSERT_NE(c[i], 7.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, Gemm,
                         testing::Values(InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512),
                         [](const auto& set) {
                           return set.param == InstructionSet::portable ? "portable"
                                  : set.param == InstructionSet::avx2   ? "avx2"
                                                                        : "avx512";
                         });

TEST(Dot, RoundsTheF32ChainOnceForEveryTypeAndAccumulator) {
  Executor executor(1, true);
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t m = test::integer(random, 1, 40), n = test::integer(random, 1, 40),
                       k = test::integer(random, 0, 80);
    const std::int64_t batch = round % 3 == 0 ? test::integer(random, 1, 3) : 0;
    const std::int64_t matrices = std::max<std::int64_t>(batch, 1);
    const DType type = round % 4 == 0 ? DType::f32 : round % 4 == 1 ? DType::bf16 : DType::f16;
    const DType result = random() % 2 == 0 ? DType::f32 : type;
    const auto shaped = [&](std::int64_t rows, std::int64_t columns) {
      return batch > 0 ? Shape{batch, rows, columns} : Shape{rows, columns};
    };
    const auto random_tile = [&](std::int64_t count) {
      std::vector<double> numbers;
      for (const float value : random_floats(random, count)) numbers.push_back(test::rounded(type, value));
      return numbers;
    };
    const auto a = random_tile(matrices * m * k), b = random_tile(matrices * k * n),
               start = random_tile(matrices * m * n);
    const bool accumulate = random() % 2 == 0;
    const Value accumulator = accumulate ? test::tile(executor, type, shaped(m, n), start) : Value();
    const Value value = dot(executor, test::tile(executor, type, shaped(m, k), a),
                            test::tile(executor, type, shaped(k, n), b), accumulator, result);
    ASSERT_EQ(value.shape(), shaped(m, n));
    const auto actual = test::numbers(executor, value);
    for (std::int64_t g = 0; g < matrices; ++g) {
      const auto part = [g](const std::vector<double>& all, std::int64_t count) {
        return std::vector<float>(all.begin() + g * count, all.begin() + (g + 1) * count);
      };
      const std::vector<float> from =
          accumulate ? part(start, m * n) : std::vector<float>(static_cast<std::size_t>(m * n));
      const auto expected = chain(part(a, m * k), part(b, k * n), from, m, n, k);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(actual[static_cast<std::size_t>(g * m * n) + i],
                  test::rounded(result, static_cast<double>(expected[i])));
      }
    }
  }
}

TEST(Dot, AgreesWithDoublePrecision) {
  Executor executor(1, true);
  Random random(4);
  const std::int64_t m = 70, n = 90, k = 300;
  std::vector<double> a, b;
  for (const float value : random_floats(random, m * k)) a.push_back(test::rounded(DType::f16, value));
  for (const float value : random_floats(random, k * n)) b.push_back(test::rounded(DType::f16, value));
  const auto expected = reference::matrix_multiply(a, b, m, n, k);
  const Value product = dot(executor, test::tile(executor, DType::f16, Shape{m, k}, a),
                            test::tile(executor, DType::f16, Shape{k, n}, b), {}, DType::f32);
  EXPECT_LT(reference::difference(test::numbers(executor, product), expected).absolute, 1e-4);
  const Value wide = dot(executor, test::tile(executor, DType::f64, Shape{m, k}, a),
                         test::tile(executor, DType::f64, Shape{k, n}, b), {}, DType::f64);
  EXPECT_EQ(test::numbers(executor, wide), expected);
}

TEST(Dot, IntegersAccumulateAndWrap) {
  Executor executor(1, true);
  Random random(5);
  const std::int64_t m = 9, n = 20, k = 33;
  std::vector<double> a, b;
  for (std::int64_t i = 0; i < m * k; ++i) a.push_back(static_cast<std::int32_t>(random()));
  for (std::int64_t i = 0; i < k * n; ++i) b.push_back(static_cast<std::int32_t>(random()));
  const Value product =
      dot(executor, test::tile(executor, DType::i32, Shape{m, k}, a), test::tile(executor, DType::i32, Shape{k, n}, b),
          full(executor, Shape{m, n}, DType::i32, 5), DType::i32);
  const auto actual = test::numbers(executor, product);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::uint64_t sum = 5;
      for (std::int64_t p = 0; p < k; ++p) {
        sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(a[static_cast<std::size_t>(i * k + p)])) *
               static_cast<std::uint64_t>(static_cast<std::int64_t>(b[static_cast<std::size_t>(p * n + j)]));
      }
      ASSERT_EQ(actual[static_cast<std::size_t>(i * n + j)], static_cast<std::int32_t>(sum));
    }
  }
}

TEST(Dot, EightBitFloatsOfBothKindsAreTheF32Chain) {
  Executor executor(1, true);
  Random random(7);
  const DType kinds[] = {DType::f8e4m3, DType::f8e5m2};
  for (int round = 0; round < 100; ++round) {
    const std::int64_t m = test::integer(random, 1, 30), n = test::integer(random, 1, 30),
                       k = test::integer(random, 0, 300);
    const DType left = kinds[round % 2], right = kinds[round / 2 % 2];
    const auto random_tile = [&](DType type, std::int64_t count) {
      std::vector<double> numbers;
      for (const float value : random_floats(random, count)) numbers.push_back(test::rounded(type, value));
      return numbers;
    };
    const auto a = random_tile(left, m * k), b = random_tile(right, k * n), start = random_tile(DType::f32, m * n);
    const DType result = round % 3 == 0 ? left : DType::f32;
    const Value value =
        dot(executor, test::tile(executor, left, Shape{m, k}, a), test::tile(executor, right, Shape{k, n}, b),
            test::tile(executor, DType::f32, Shape{m, n}, start), result);
    const auto floats = [](const std::vector<double>& numbers) {
      return std::vector<float>(numbers.begin(), numbers.end());
    };
    const auto expected = chain(floats(a), floats(b), floats(start), m, n, k);
    const auto actual = test::numbers(executor, value);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(actual[i], test::rounded(result, static_cast<double>(expected[i])));
    }
  }
}

TEST(Dot, IntegersOfEveryWidthAccumulateAndWrap) {
  Executor executor(1, true);
  Random random(8);
  const std::pair<DType, DType> pairs[] = {{DType::i8, DType::i8}, {DType::u8, DType::u8},   {DType::i8, DType::u8},
                                           {DType::u8, DType::i8}, {DType::i32, DType::i32}, {DType::i64, DType::i64}};
  for (int round = 0; round < 120; ++round) {
    const auto [left, right] = pairs[round % 6];
    const std::int64_t g = test::integer(random, 1, 2), m = test::integer(random, 1, 12),
                       n = round % 7 == 0 ? 1100 : test::integer(random, 1, 40), k = test::integer(random, 0, 50);
    const auto random_tile = [&](DType type, const Shape& shape) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(shape.numel() * item_size(type)));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      return from_bytes(executor, type, shape, bytes);
    };
    const bool wide = left == DType::i64;
    const DType sum = wide ? DType::i64 : DType::i32;
    const Value a = random_tile(left, Shape{g, m, k}), b = random_tile(right, Shape{g, k, n});
    const Value c = random_tile(sum, Shape{g, m, n});
    const Value product = dot(executor, a, b, c, sum);
    const TileView x = view(executor, a), y = view(executor, b), z = view(executor, c),
                   actual = view(executor, product);
    for (std::int64_t lane = 0; lane < g * m * n; ++lane) {
      const std::int64_t row = lane / n, batch = row / m, column = lane % n;
      auto total = static_cast<std::uint64_t>(z.element(lane).as_integer());
      for (std::int64_t p = 0; p < k; ++p) {
        total += static_cast<std::uint64_t>(x.element(row * k + p).as_integer()) *
                 static_cast<std::uint64_t>(y.element((batch * k + p) * n + column).as_integer());
      }
      const auto expected = wide ? static_cast<std::int64_t>(total) : static_cast<std::int32_t>(total);
      ASSERT_EQ(actual.element(lane).as_integer(), expected) << name(left) << " x " << name(right);
    }
  }
}

TEST(Dot, ALaneIsInvalidWhenItsRowColumnOrAccumulatorLaneIs) {
  Executor executor(1, true);
  Random random(6);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t batch = test::integer(random, 1, 2), m = test::integer(random, 1, 6),
                       n = test::integer(random, 1, 6), k = test::integer(random, 1, 3);
    const auto random_tile = [&](std::int64_t rows, std::int64_t columns, std::vector<std::uint8_t>& mask) {
      mask = random() % 3 == 0 ? std::vector<std::uint8_t>(static_cast<std::size_t>(batch * rows * columns), 1)
                               : test::random_mask(random, batch * rows * columns);
      return test::tile(executor, DType::f32, Shape{batch, rows, columns},
                        test::random_numbers(random, batch * rows * columns), mask);
    };
    std::vector<std::uint8_t> mask_a, mask_b, mask_c;
    const Value a = random_tile(m, k, mask_a), b = random_tile(k, n, mask_b), c = random_tile(m, n, mask_c);
    const auto valid = test::validity(executor, dot(executor, a, b, c, DType::f32));
    for (std::int64_t g = 0; g < batch; ++g) {
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const auto lane = static_cast<std::size_t>((g * m + i) * n + j);
          bool expected = mask_c[lane] != 0;
          for (std::int64_t p = 0; p < k; ++p) {
            expected = expected && mask_a[static_cast<std::size_t>((g * m + i) * k + p)] != 0 &&
                       mask_b[static_cast<std::size_t>((g * k + p) * n + j)] != 0;
          }
          ASSERT_EQ(valid[lane] != 0, expected);
        }
      }
    }
  }
}

TEST(Dot, NanIsCanonical) {
  Executor executor(1, true);
  const double infinity = HUGE_VAL;
  const Value a = test::tile(executor, DType::f32, Shape{1, 2}, {infinity, -infinity});
  const Value b = test::tile(executor, DType::f32, Shape{2, 1}, {1, 1});
  std::uint32_t bits;
  std::memcpy(&bits, test::bytes(executor, dot(executor, a, b, {}, DType::f32)).data(), 4);
  EXPECT_EQ(bits, 0x7FC00000u);
}

}  // namespace
}  // namespace kernbench::numerics
