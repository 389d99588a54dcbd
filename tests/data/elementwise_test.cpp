#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "support.h"

namespace kernbench::data {
namespace {

using test::Random;
constexpr DType kTypes[] = {DType::boolean, DType::i32, DType::f16, DType::bf16, DType::f32, DType::i64, DType::f64};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

DType random_type(Random& random) {
  return kTypes[test::integer(random, 0, 6)];
}

/// The type that the interface says the operation is computed in.
DType computed_in(BinaryOperation operation, DType a, DType b, DType result) {
  bool any_float = false, any_i64 = false, any_f64 = false;
  for (const DType type : {a, b, operation < BinaryOperation::equal ? result : a}) {
    any_float |= is_floating_point(type);
    any_i64 |= type == DType::i64;
    any_f64 |= type == DType::f64;
  }
  if (any_f64 || (any_float && any_i64)) return DType::f64;
  if (any_float || operation == BinaryOperation::divide) return DType::f32;
  return DType::i64;
}

double in_double(BinaryOperation operation, double a, double b) {
  using enum BinaryOperation;
  switch (operation) {
    case add:
      return a + b;
    case subtract:
      return a - b;
    case multiply:
      return a * b;
    case divide:
      return a / b;
    case minimum:
      return std::fmin(a, b);
    case maximum:
      return std::fmax(a, b);
    case equal:
      return a == b;
    case not_equal:
      return a != b;
    case less:
      return a < b;
    case less_equal:
      return a <= b;
    case greater:
      return a > b;
    case greater_equal:
      return a >= b;
    case logical_and:
      return a != 0 && b != 0;
    case logical_or:
      return a != 0 || b != 0;
  }
  return 0;
}

/// Double has more than twice float's digits, so computing there and rounding to float is computing in float.
double expected_binary(BinaryOperation operation, DType result, DType computation, double a, double b) {
  const double value = in_double(operation, test::rounded(computation, a), test::rounded(computation, b));
  return test::rounded(result, test::rounded(computation, value));
}

void expect_same(double actual, double expected, const char* what) {
  if (std::isnan(expected))
    ASSERT_TRUE(std::isnan(actual)) << what;
  else
    ASSERT_EQ(actual, expected) << what;
}

std::vector<double> random_operand(Random& random, DType type, std::int64_t count) {
  std::vector<double> result = test::random_numbers(random, count, -12, 12);
  for (double& number : result) {
    if (is_floating_point(type))
      number *= std::ldexp(1.0 + static_cast<double>(random() % 1024) / 1024, static_cast<int>(random() % 20) - 10);
    number = test::rounded(type, number);
  }
  return result;
}

TEST(Elementwise, BinaryOperationsAgreeWithDoubleOverRandomTypesAndBroadcasts) {
  Executor executor(1, true);
  Random random(1);
  for (int round = 0; round < 4000; ++round) {
    const auto operation = static_cast<BinaryOperation>(test::integer(random, 0, 13));
    const DType type_a = random_type(random), type_b = random_type(random), result = random_type(random);
    // Now and then longer than the chunks that the implementation works in.
    const Shape wanted = round % 50 == 0 ? Shape{test::integer(random, 1, 3), 700} : test::random_shape(random);
    const Shape shape_a = test::random_broadcast_source(random, wanted);
    const Shape shape_b = test::random_broadcast_source(random, wanted);
    const Shape shape = *broadcast_shapes(shape_a, shape_b);
    const std::vector<double> a = random_operand(random, type_a, shape_a.numel());
    const std::vector<double> b = random_operand(random, type_b, shape_b.numel());
    const std::vector<std::uint8_t> mask_a =
        round % 2 == 0 ? test::random_mask(random, shape_a.numel()) : std::vector<std::uint8_t>{};
    const std::vector<std::uint8_t> mask_b =
        round % 3 == 0 ? test::random_mask(random, shape_b.numel()) : std::vector<std::uint8_t>{};
    const Value value = binary(executor, operation, test::tile(executor, type_a, shape_a, a, mask_a),
                               test::tile(executor, type_b, shape_b, b, mask_b), result);
    ASSERT_EQ(value.shape(), shape);
    ASSERT_EQ(value.dtype(), result);
    const std::vector<double> actual = test::numbers(executor, value);
    const std::vector<std::uint8_t> valid = test::validity(executor, value);
    const DType computation = computed_in(operation, type_a, type_b, result);
    for (std::int64_t lane = 0; lane < shape.numel(); ++lane) {
      const std::size_t i = test::source_lane(shape, shape_a, lane), j = test::source_lane(shape, shape_b, lane);
      const auto at = static_cast<std::size_t>(lane);
      expect_same(actual[at], expected_binary(operation, result, computation, a[i], b[j]), name(computation));
      ASSERT_EQ(valid[at] != 0, (mask_a.empty() || mask_a[i]) && (mask_b.empty() || mask_b[j]));
    }
  }
}

TEST(Elementwise, ScalarsOnEitherSideAreRoundedToTheComputationType) {
  Executor executor(1, true);
  Random random(2);
  for (int round = 0; round < 2000; ++round) {
    const auto operation = static_cast<BinaryOperation>(test::integer(random, 0, 13));
    const DType type = random_type(random), result = random_type(random);
    const bool floating = random() % 2 == 0;
    const double number =
        floating ? static_cast<double>(random() % 1000) / 37 - 10 : static_cast<double>(random() % 9) - 4;
    const Scalar scalar = floating ? Scalar(number) : Scalar(static_cast<std::int64_t>(number));
    const std::vector<double> numbers = random_operand(random, type, 7);
    const Value x = test::tile(executor, type, Shape{7}, numbers);
    const auto right = test::numbers(executor, binary(executor, operation, x, scalar, result));
    const auto left = test::numbers(executor, binary(executor, operation, scalar, x, result));
    const DType computation = computed_in(operation, type, promote(type, scalar.kind()), result);
    for (std::size_t i = 0; i < 7; ++i) {
      expect_same(right[i], expected_binary(operation, result, computation, numbers[i], number), "right");
      expect_same(left[i], expected_binary(operation, result, computation, number, numbers[i]), "left");
    }
  }
}

TEST(Elementwise, IntegersWrapAndCompareExactly) {
  Executor executor(1, true);
  const Value top = full(executor, Shape{2}, DType::i32, std::int64_t{INT32_MAX});
  using enum BinaryOperation;
  EXPECT_EQ(test::numbers(executor, binary(executor, add, top, 1, DType::i32))[0], INT32_MIN);
  EXPECT_EQ(test::numbers(executor, binary(executor, multiply, top, top, DType::i32))[0], 1);
  EXPECT_EQ(test::numbers(executor, unary(executor, UnaryOperation::negate, binary(executor, add, top, 1, DType::i32),
                                          DType::i32))[0],
            INT32_MIN);
  EXPECT_EQ(test::numbers(executor, binary(executor, less, top, std::int64_t{1} << 40, DType::boolean))[1], 1);
  const Value large = full(executor, Shape{1}, DType::i64, INT64_MAX);
  EXPECT_EQ(test::numbers(executor, binary(executor, equal, large, INT64_MAX - 1, DType::boolean))[0], 0);
  EXPECT_EQ(item(executor, binary(executor, add, large, 1, DType::i64)).value.as_integer(), INT64_MIN);
}

TEST(Elementwise, MinimumAndMaximumOrderZerosAndGiveNanAway) {
  Executor executor(1, true);
  const std::vector<double> a = {0.0, -0.0, kNan, 1, kNan, kInfinity}, b = {-0.0, 0.0, 2, kNan, kNan, 3};
  for (const DType type : {DType::f16, DType::f32, DType::f64}) {
    const Value left = test::tile(executor, type, Shape{6}, a), right = test::tile(executor, type, Shape{6}, b);
    const auto least = test::numbers(executor, binary(executor, BinaryOperation::minimum, left, right, type));
    const auto most = test::numbers(executor, binary(executor, BinaryOperation::maximum, left, right, type));
    EXPECT_TRUE(std::signbit(least[0]) && std::signbit(least[1]) && !std::signbit(most[0]) && !std::signbit(most[1]));
    EXPECT_EQ(least[2], 2);
    EXPECT_EQ(most[3], 1);
    EXPECT_TRUE(std::isnan(least[4]) && std::isnan(most[4]));
    EXPECT_EQ(least[5], 3);
    EXPECT_EQ(most[5], kInfinity);
  }
}

TEST(Elementwise, NanFromArithmeticIsAlwaysTheSameBits) {
  Executor executor(1, true);
  const std::vector<double> a = {-kNan, kInfinity, 0, kNan}, b = {kNan, -kInfinity, 0, 1};
  const Value left = test::tile(executor, DType::f32, Shape{4}, a),
              right = test::tile(executor, DType::f32, Shape{4}, b);
  const auto expect_canonical = [&](const Value& value, std::size_t lane) {
    std::uint32_t bits;
    std::memcpy(&bits, test::bytes(executor, value).data() + 4 * lane, 4);
    EXPECT_EQ(bits, 0x7FC00000u);
  };
  expect_canonical(binary(executor, BinaryOperation::add, left, right, DType::f32), 0);
  expect_canonical(binary(executor, BinaryOperation::add, right, left, DType::f32), 1);
  expect_canonical(binary(executor, BinaryOperation::divide, left, right, DType::f32), 2);
  expect_canonical(unary(executor, UnaryOperation::square_root,
                         unary(executor, UnaryOperation::negate, left, DType::f32), DType::f32),
                   1);
  expect_canonical(unary(executor, UnaryOperation::exponential, left, DType::f32), 0);
}

TEST(Elementwise, UnaryOperationsAreWithinTheirBounds) {
  Executor executor(1, true);
  Random random(3);
  struct Case {
    UnaryOperation operation;
    long double (*reference)(long double);
    double ulps;  // of f32, beyond which the result is wrong
  };
  const Case cases[] = {
      {UnaryOperation::negate, [](long double x) { return -x; }, 0.5},
      {UnaryOperation::absolute, [](long double x) { return std::abs(x); }, 0.5},
      {UnaryOperation::exponential, [](long double x) { return std::exp(x); }, 0.501},
      {UnaryOperation::logarithm, [](long double x) { return std::log(x); }, 0.501},
      {UnaryOperation::hyperbolic_tangent, [](long double x) { return std::tanh(x); }, 0.501},
      {UnaryOperation::square_root, [](long double x) { return std::sqrt(x); }, 0.5},
      {UnaryOperation::reciprocal_square_root, [](long double x) { return 1 / std::sqrt(x); }, 1.5},
      {UnaryOperation::floor, [](long double x) { return std::floor(x); }, 0.5},
      {UnaryOperation::ceil, [](long double x) { return std::ceil(x); }, 0.5},
      {UnaryOperation::logical_not, [](long double x) { return x == 0 ? 1.0L : 0.0L; }, 0.5},
  };
  for (const Case& each : cases) {
    for (const DType type : {DType::i32, DType::f16, DType::bf16, DType::f32}) {
      for (const DType result : {DType::f32, DType::f16}) {
        const std::vector<double> numbers = random_operand(random, type, 600);
        const std::vector<std::uint8_t> mask = test::random_mask(random, 600);
        const Value value =
            unary(executor, each.operation, test::tile(executor, type, Shape{2, 300}, numbers, mask), result);
        const std::vector<double> actual = test::numbers(executor, value);
        EXPECT_EQ(test::validity(executor, value), mask);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          const auto exact = static_cast<double>(each.reference(static_cast<long double>(numbers[i])));
          if (std::isnan(exact)) {
            ASSERT_TRUE(std::isnan(actual[i]));
          } else if (result == DType::f32) {
            const double unit = std::ldexp(1.0, std::max(exact == 0 ? -126 : std::ilogb(exact), -126) - 23);
            const bool overflows = std::isinf(static_cast<float>(exact));
            ASSERT_TRUE(overflows ? std::isinf(actual[i]) : std::abs(actual[i] - exact) <= each.ulps * unit * 1.0001)
                << "operation " << static_cast<int>(each.operation) << " of " << numbers[i] << ": " << actual[i];
          } else if (each.ulps == 0.5) {
            ASSERT_EQ(actual[i], test::rounded(result, test::rounded(DType::f32, exact)));
          }
        }
      }
    }
  }
}

TEST(Elementwise, DoublesUseTheWholePrecision) {
  Executor executor(1, true);
  const Value x = test::tile(executor, DType::f64, Shape{2}, {1.0 / 3, -2.5});
  EXPECT_EQ(test::numbers(executor, unary(executor, UnaryOperation::exponential, x, DType::f64))[0], std::exp(1.0 / 3));
  EXPECT_EQ(test::numbers(executor, unary(executor, UnaryOperation::hyperbolic_tangent, x, DType::f64))[1],
            std::tanh(-2.5));
  EXPECT_EQ(test::numbers(executor, binary(executor, BinaryOperation::divide, x, 7.0, DType::f64))[0], (1.0 / 3) / 7.0);
}

TEST(Elementwise, WhereTakesAndDependsOnTheChosenOperand) {
  Executor executor(1, true);
  Random random(4);
  for (int round = 0; round < 500; ++round) {
    const Shape wanted = round % 50 == 0 ? Shape{2, 600} : test::random_shape(random);
    Shape shapes[3];
    std::vector<double> numbers[3];
    std::vector<std::uint8_t> masks[3];
    Value values[3];
    const DType types[] = {DType::boolean, random_type(random), random_type(random)};
    const DType result = random_type(random);
    for (int i = 0; i < 3; ++i) {
      shapes[i] = test::random_broadcast_source(random, wanted);
      numbers[i] = i == 0 ? test::random_numbers(random, shapes[i].numel(), 0, 1)
                          : random_operand(random, types[i], shapes[i].numel());
      masks[i] = test::random_mask(random, shapes[i].numel());
      values[i] = test::tile(executor, types[i], shapes[i], numbers[i], masks[i]);
    }
    const Value value = where(executor, values[0], values[1], values[2], result);
    const auto actual = test::numbers(executor, value);
    const auto valid = test::validity(executor, value);
    for (std::int64_t lane = 0; lane < value.numel(); ++lane) {
      const std::size_t c = test::source_lane(value.shape(), shapes[0], lane);
      const int chosen = numbers[0][c] != 0 ? 1 : 2;
      const std::size_t i = test::source_lane(value.shape(), shapes[chosen], lane);
      ASSERT_EQ(actual[static_cast<std::size_t>(lane)], test::rounded(result, numbers[chosen][i]));
      ASSERT_EQ(valid[static_cast<std::size_t>(lane)] != 0, masks[0][c] && masks[chosen][i]);
    }
  }
}

TEST(Elementwise, FullArangeAndCast) {
  Executor executor(1, true);
  for (const DType type : kTypes) {
    for (const std::int64_t count : {0, 1, 3, 1000}) {
      const Value value = full(executor, Shape{count}, type, 1.0);
      EXPECT_EQ(test::numbers(executor, value), std::vector<double>(static_cast<std::size_t>(count), 1.0));
    }
  }
  EXPECT_EQ(test::numbers(executor, full(executor, Shape{}, DType::f16, 1.0 / 3)),
            std::vector{test::rounded(DType::f16, 1.0 / 3)});
  EXPECT_EQ(test::numbers(executor, arange(executor, -2, 3, DType::i32)), std::vector<double>({-2, -1, 0, 1, 2}));
  EXPECT_EQ(arange(executor, 3, 3, DType::i32).shape(), Shape{0});
  const Value x = test::tile(executor, DType::f32, Shape{2}, {2049, -0.7}, {1, 0});
  EXPECT_EQ(test::numbers(executor, cast(executor, x, DType::f16))[0], 2048);  // a tie, to even
  EXPECT_EQ(test::numbers(executor, cast(executor, x, DType::i32))[1], 0);
  EXPECT_EQ(test::validity(executor, cast(executor, x, DType::i32)), std::vector<std::uint8_t>({1, 0}));
  EXPECT_EQ(cast(executor, x, DType::f32).storage(), x.storage());
}

TEST(Shapes, BroadcastByNumpysRule) {
  EXPECT_EQ(broadcast_shapes(Shape{3, 1}, Shape{4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast_shapes(Shape{}, Shape{2, 2}), (Shape{2, 2}));
  EXPECT_EQ(broadcast_shapes(Shape{0}, Shape{1}), (Shape{0}));
  EXPECT_EQ(broadcast_shapes(Shape{2, 3}, Shape{2}), std::nullopt);
}

}  // namespace
}  // namespace kernbench::data
