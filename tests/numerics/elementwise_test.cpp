#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "numerics/elementwise_table.h"
#include "support.h"

namespace kernbench::numerics::elementwise_test {
namespace {

using test::Random;
constexpr DType kTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i32, DType::i64, DType::f8e4m3,
                            DType::f8e5m2,  DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr int kBinaryOperations = static_cast<int>(BinaryOperation::clamp_max) + 1;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

DType random_type(Random& random) {
  return kTypes[test::integer(random, 0, 10)];
}

/// The type that the interface says the operands meet in.
DType meeting_type(BinaryOperation operation, DType a, DType b) {
  const DType common = promote(a, b);
  const bool remainders = operation == BinaryOperation::fmod || operation == BinaryOperation::remainder;
  const bool divides = operation == BinaryOperation::divide || (remainders && is_floating_point(common));
  if (!divides) return common;
  return common == DType::f64 ? DType::f64 : DType::f32;
}

/// The type that the interface says the operation is computed in.
DType computed_in(BinaryOperation operation, DType common, DType result) {
  const DType other = info(operation).yields == Yields::boolean ? common : result;
  if (common == DType::f64 || other == DType::f64) return DType::f64;
  return is_floating_point(common) || is_floating_point(other) ? DType::f32 : DType::i64;
}

bool works_on_bits(BinaryOperation operation) {
  return operation >= BinaryOperation::bit_and && operation <= BinaryOperation::shift_right;
}

bool is_nan_or(double a, double b) {
  return std::isnan(a) || std::isnan(b);
}

/// Comparisons and logical operations, of any kind of number.
template <class T>
bool truth(BinaryOperation operation, T a, T b) {
  using enum BinaryOperation;
  switch (operation) {
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
    case logical_xor:
      return (a != 0) != (b != 0);
    default:
      return a != 0 || b != 0;
  }
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
    case truncate_divide:
      return std::trunc(static_cast<double>(static_cast<float>(a / b)));
    case fmod:
      return std::fmod(a, b);
    case floor_divide:
      return std::floor(a / b);
    case BinaryOperation::remainder: {
      const double rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case power:
      return std::pow(a, b);
    case minimum:
      return std::fmin(a, b);
    case maximum:
      return std::fmax(a, b);
    case minimum_nan:
    case tensor_minimum:
    case clamp_max:
      return is_nan_or(a, b) ? kNan : std::fmin(a, b);
    case maximum_nan:
    case tensor_maximum:
    case clamp_min:
      return is_nan_or(a, b) ? kNan : std::fmax(a, b);
    default:
      return truth(operation, a, b);
  }
}

/// Nothing when there is no result.
std::optional<std::int64_t> in_integers(BinaryOperation operation, std::int64_t a, std::int64_t b, int bits) {
  using enum BinaryOperation;
  const auto wrapping = [&](auto function) {
    return static_cast<std::int64_t>(function(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  };
  const bool shifts = operation == shift_left || operation == shift_right;
  const bool floors = operation == floor_divide || operation == BinaryOperation::remainder;
  if ((operation == truncate_divide || operation == fmod || floors) && b == 0) return std::nullopt;
  const std::int64_t below = b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? 1 : 0;
  if (shifts && (b < 0 || b >= bits)) return std::nullopt;
  switch (operation) {
    case add:
      return wrapping([](auto x, auto y) { return x + y; });
    case subtract:
      return wrapping([](auto x, auto y) { return x - y; });
    case multiply:
      return wrapping([](auto x, auto y) { return x * y; });
    case truncate_divide:
      return b == -1 ? wrapping([](auto x, auto) { return -x; }) : a / b;
    case floor_divide:
      return b == -1 ? wrapping([](auto x, auto) { return -x; }) : a / b - below;
    case fmod:
      return b == -1 ? 0 : a % b;
    case BinaryOperation::remainder:
      return b == -1 ? 0 : a % b + below * b;
    case power: {
      if (b < 0) return a == 1 || (a == -1 && b % 2 == 0) ? 1 : a == -1 ? -1 : 0;
      std::uint64_t product = 1;
      for (std::int64_t i = 0; i < b; ++i) product *= static_cast<std::uint64_t>(a);
      return static_cast<std::int64_t>(product);
    }
    case minimum:
    case minimum_nan:
    case tensor_minimum:
    case clamp_max:
      return std::min(a, b);
    case maximum:
    case maximum_nan:
    case tensor_maximum:
    case clamp_min:
      return std::max(a, b);
    case bit_and:
      return a & b;
    case bit_or:
      return a | b;
    case bit_xor:
      return a ^ b;
    case shift_left:
      return wrapping([](auto x, auto y) { return x << y; });
    case shift_right:
      return a >> b;
    default:
      return truth(operation, a, b);
  }
}

/// An integer or a float, converted by the rules of conversion_test.
Scalar converted(DType to, Scalar number) {
  std::byte element[8];
  store_element(to, element, number);
  return load_element(to, element);
}

struct Expected {
  Scalar value = 0;
  bool valid = true;
};

/// Double has more than twice float's digits, so computing there and rounding to float is computing in float.
Expected expected_binary(BinaryOperation operation, DType common, DType result, Scalar a, Scalar b,
                         ScalarRule rule_of_b = ScalarRule::element) {
  const DType computation = computed_in(operation, common, result);
  const Scalar x = converted(computation, converted(common, a));
  const Scalar y = converted(computation, rule_of_b == ScalarRule::element ? converted(common, b) : b);
  if (computation == DType::i64) {
    const int bits = result == DType::boolean ? 1 : static_cast<int>(8 * item_size(result));
    const auto value = in_integers(operation, x.as_integer(), y.as_integer(), bits);
    return {converted(result, value.value_or(0)), value.has_value()};
  }
  double value = in_double(operation, x.as_double(), y.as_double());
  // There it is the quotient as a float.
  if (operation == BinaryOperation::truncate_divide && computation == DType::f64)
    value = std::trunc(x.as_double() / y.as_double());
  return {converted(result, converted(computation, value))};
}

void expect_same(double actual, double expected, const char* what) {
  if (std::isnan(expected))
    ASSERT_TRUE(std::isnan(actual)) << what;
  else
    ASSERT_EQ(actual, expected) << what;
}

void expect_same(const Item& actual, const Expected& expected, BinaryOperation operation, DType common, DType result) {
  const auto place = [&] {
    return std::string("operation ") + std::to_string(static_cast<int>(operation)) + " in " + name(common) + " to " +
           name(result);
  };
  ASSERT_EQ(actual.valid, expected.valid) << place();
  const double is = actual.value.as_double(), should = expected.value.as_double();
  if (expected.value.kind() != Scalar::Kind::floating) {
    ASSERT_EQ(actual.value.as_integer(), expected.value.as_integer()) << place();
  } else if (operation == BinaryOperation::floor_divide && std::isfinite(should)) {
    // The quotient of rounded numbers may lie on the other side of a whole number.
    ASSERT_NEAR(is, should, 1 + std::abs(should) * 0x1p-2) << place();
  } else if (operation == BinaryOperation::power && std::isfinite(should)) {
    // Two functions that are not correctly rounded: they may differ in the last place.
    const double unit = result == DType::f64 ? 0x1p-52 : result == DType::f32 ? 0x1p-23 : 0x1p-2;
    ASSERT_NEAR(is, should, std::abs(should) * unit + 0x1p-16) << place();
  } else {
    expect_same(is, should, place().c_str());
  }
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

std::vector<Scalar> scalars(Executor& executor, const Value& value) {
  const TileView elements = view(executor, value);
  std::vector<Scalar> result;
  for (std::int64_t i = 0; i < value.numel(); ++i) result.push_back(elements.element(i));
  return result;
}

/// An operation and types that it is defined for.
struct Draw {
  BinaryOperation operation;
  DType a, b, result;
};
Draw random_draw(Random& random) {
  while (true) {
    const auto operation = static_cast<BinaryOperation>(test::integer(random, 0, kBinaryOperations - 1));
    const Draw draw{operation, random_type(random), random_type(random), random_type(random)};
    const bool floats = is_floating_point(promote(draw.a, draw.b)) || is_floating_point(draw.result);
    // Checked below with integers, and with floats against the host.
    if (operation == BinaryOperation::floor_divide && (floats || !is_integer(draw.a) || !is_integer(draw.b))) continue;
    if (!floats || !works_on_bits(operation)) return draw;
  }
}

TEST(Elementwise, BinaryOperationsAgreeWithDoubleOverRandomTypesAndBroadcasts) {
  Executor executor(1, true);
  Random random(1);
  for (int round = 0; round < 12000; ++round) {
    const Draw draw = random_draw(random);
    // Now and then longer than the chunks that the implementation works in.
    const Shape wanted = round % 50 == 0 ? Shape{test::integer(random, 1, 3), 700} : test::random_shape(random);
    const Shape shape_a = test::random_broadcast_source(random, wanted);
    const Shape shape_b = test::random_broadcast_source(random, wanted);
    const Shape shape = *broadcast_shapes(shape_a, shape_b);
    const std::vector<std::uint8_t> mask_a =
        round % 2 == 0 ? test::random_mask(random, shape_a.numel()) : std::vector<std::uint8_t>{};
    const std::vector<std::uint8_t> mask_b =
        round % 3 == 0 ? test::random_mask(random, shape_b.numel()) : std::vector<std::uint8_t>{};
    const Value x = test::tile(executor, draw.a, shape_a, random_operand(random, draw.a, shape_a.numel()), mask_a);
    const Value y = test::tile(executor, draw.b, shape_b, random_operand(random, draw.b, shape_b.numel()), mask_b);
    const std::vector<Scalar> a = scalars(executor, x), b = scalars(executor, y);
    const Value value = binary(executor, draw.operation, x, y, draw.result);
    ASSERT_EQ(value.shape(), shape);
    ASSERT_EQ(value.dtype(), draw.result);
    const TileView actual = view(executor, value);
    const DType common = meeting_type(draw.operation, draw.a, draw.b);
    for (std::int64_t lane = 0; lane < shape.numel(); ++lane) {
      const std::size_t i = test::source_lane(shape, shape_a, lane), j = test::source_lane(shape, shape_b, lane);
      Expected expected = expected_binary(draw.operation, common, draw.result, a[i], b[j]);
      expected.valid = expected.valid && (mask_a.empty() || mask_a[i]) && (mask_b.empty() || mask_b[j]);
      expect_same({actual.element(lane), actual.valid(lane)}, expected, draw.operation, common, draw.result);
    }
  }
}

TEST(Elementwise, ScalarsOnEitherSideAreRoundedAsTheRuleSays) {
  Executor executor(1, true);
  Random random(2);
  for (int round = 0; round < 6000; ++round) {
    const Draw draw = random_draw(random);
    const bool floating = random() % 2 == 0;
    const double number =
        floating ? static_cast<double>(random() % 1000) / 37 - 10 : static_cast<double>(random() % 9) - 4;
    const Scalar scalar = floating ? Scalar(number) : Scalar(static_cast<std::int64_t>(number));
    const DType meeting = promote(draw.a, scalar.kind());
    if (works_on_bits(draw.operation) && is_floating_point(meeting)) continue;
    const DType common = meeting_type(draw.operation, meeting, meeting);
    const Value x = test::tile(executor, draw.a, Shape{7}, random_operand(random, draw.a, 7));
    const std::vector<Scalar> numbers = scalars(executor, x);
    for (const ScalarRule rule : {ScalarRule::element, ScalarRule::computation}) {
      const Value right = binary(executor, draw.operation, x, scalar, draw.result, rule);
      const Value left = binary(executor, draw.operation, scalar, x, draw.result, ScalarRule::element);
      const TileView rights = view(executor, right), lefts = view(executor, left);
      for (std::int64_t i = 0; i < 7; ++i) {
        const Scalar element = numbers[static_cast<std::size_t>(i)];
        expect_same({rights.element(i), rights.valid(i)},
                    expected_binary(draw.operation, common, draw.result, element, scalar, rule), draw.operation, common,
                    draw.result);
        expect_same({lefts.element(i), lefts.valid(i)},
                    expected_binary(draw.operation, common, draw.result, scalar, element), draw.operation, common,
                    draw.result);
      }
    }
  }
}

TEST(Elementwise, AScalarIsFirstRoundedToTheTilesType) {
  Executor executor(1, true);
  const Value tenth = full(executor, Shape{1}, DType::f16, 0.1);
  const auto equal = [&](const Value& x, Scalar scalar, ScalarRule rule) {
    return test::numbers(executor, binary(executor, BinaryOperation::equal, x, scalar, DType::boolean, rule))[0];
  };
  EXPECT_EQ(equal(tenth, 0.1, ScalarRule::element), 1);
  EXPECT_EQ(equal(tenth, 0.1, ScalarRule::computation), 0);
  const Value zero = full(executor, Shape{1}, DType::f16, 0.0);
  EXPECT_EQ(test::numbers(executor, binary(executor, BinaryOperation::minimum, zero, 1e6, DType::f32))[0], 0);
  EXPECT_EQ(test::numbers(executor, binary(executor, BinaryOperation::maximum, zero, 1e6, DType::f32))[0], kInfinity);
  EXPECT_EQ(test::numbers(executor, binary(executor, BinaryOperation::maximum, zero, 1e6, DType::f32,
                                           ScalarRule::computation))[0],
            1e6);
}

TEST(Elementwise, DivisionsAndShiftsWithoutAResultAreInvalidZeros) {
  Executor executor(1, true);
  using enum BinaryOperation;
  for (const DType type : {DType::u8, DType::i8, DType::i32, DType::i64}) {
    const double width = static_cast<double>(8 * item_size(type));
    const Value x = full(executor, Shape{4}, type, 5);
    const Value divisors = test::tile(executor, type, Shape{4}, {0, 1, 2, 3});
    const Value counts = test::tile(executor, type, Shape{4}, {0, width - 1, width, is_signed(type) ? -1.0 : 200.0});
    for (const BinaryOperation operation : {truncate_divide, fmod}) {
      const Value value = binary(executor, operation, x, divisors, type);
      EXPECT_EQ(test::validity(executor, value), std::vector<std::uint8_t>({0, 1, 1, 1}));
      EXPECT_EQ(test::numbers(executor, value)[0], 0);
    }
    for (const BinaryOperation operation : {shift_left, shift_right}) {
      const Value value = binary(executor, operation, x, counts, type);
      EXPECT_EQ(test::validity(executor, value), std::vector<std::uint8_t>({1, 1, 0, 0})) << name(type);
      EXPECT_EQ(test::numbers(executor, value)[3], 0);
    }
  }
  const Value lowest = full(executor, Shape{1}, DType::i32, INT32_MIN);
  EXPECT_EQ(test::numbers(executor, binary(executor, truncate_divide, lowest, -1, DType::i32))[0], INT32_MIN);
  const Value lowest64 = full(executor, Shape{1}, DType::i64, INT64_MIN);
  EXPECT_EQ(item(executor, binary(executor, truncate_divide, lowest64, -1, DType::i64)).value.as_integer(), INT64_MIN);
  EXPECT_EQ(item(executor, binary(executor, fmod, lowest64, -1, DType::i64)).value.as_integer(), 0);
  // Bytes are without sign: the same bits shift in zeros, or the sign.
  EXPECT_EQ(test::numbers(executor,
                          binary(executor, shift_right, full(executor, Shape{1}, DType::u8, 0x80), 7, DType::u8))[0],
            1);
  EXPECT_EQ(test::numbers(executor,
                          binary(executor, shift_right, full(executor, Shape{1}, DType::i8, -128), 7, DType::i8))[0],
            -1);
}

TEST(Elementwise, BytesOfDifferentSignMeetUnsigned) {
  Executor executor(1, true);
  const Value minus_one = full(executor, Shape{1}, DType::i8, -1), three = full(executor, Shape{1}, DType::u8, 3);
  using enum BinaryOperation;
  EXPECT_EQ(test::numbers(executor, binary(executor, less, minus_one, three, DType::boolean))[0], 0);
  EXPECT_EQ(test::numbers(executor, binary(executor, maximum, minus_one, three, DType::u8))[0], 255);
  EXPECT_EQ(test::numbers(executor, binary(executor, shift_right, minus_one, three, DType::u8))[0], 31);
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
  EXPECT_EQ(test::numbers(executor, binary(executor, less, top, std::int64_t{1} << 40, DType::boolean,
                                           ScalarRule::computation))[1],
            1);
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
      {UnaryOperation::sign, [](long double x) { return static_cast<long double>((x > 0) - (x < 0)); }, 0.5},
      {UnaryOperation::exponential2, [](long double x) { return std::exp2(x); }, 0.501},
      {UnaryOperation::expm1, [](long double x) { return std::expm1(x); }, 0.501},
      {UnaryOperation::logarithm2, [](long double x) { return std::log2(x); }, 0.501},
      {UnaryOperation::logarithm10, [](long double x) { return std::log10(x); }, 0.501},
      {UnaryOperation::log1p, [](long double x) { return std::log1p(x); }, 0.501},
      {UnaryOperation::sine, [](long double x) { return std::sin(x); }, 0.501},
      {UnaryOperation::cosine, [](long double x) { return std::cos(x); }, 0.501},
      {UnaryOperation::error_function, [](long double x) { return std::erf(x); }, 0.501},
      {UnaryOperation::sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, 0.501},
      {UnaryOperation::reciprocal, [](long double x) { return 1 / x; }, 0.5},
      {UnaryOperation::hyperbolic_tangent, [](long double x) { return std::tanh(x); }, 0.501},
      {UnaryOperation::square_root, [](long double x) { return std::sqrt(x); }, 0.5},
      {UnaryOperation::reciprocal_square_root, [](long double x) { return 1 / std::sqrt(x); }, 0.501},
      {UnaryOperation::floor, [](long double x) { return std::floor(x); }, 0.5},
      {UnaryOperation::ceil, [](long double x) { return std::ceil(x); }, 0.5},
      {UnaryOperation::round, [](long double x) { return std::nearbyint(x); }, 0.5},
      {UnaryOperation::truncate, [](long double x) { return std::trunc(x); }, 0.5},
      {UnaryOperation::logical_not, [](long double x) { return x == 0 ? 1.0L : 0.0L; }, 0.5},
  };
  for (const Case& each : cases) {
    for (const DType type :
         {DType::u8, DType::i8, DType::i32, DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::f32}) {
      for (const DType result : {DType::f32, DType::f16, DType::f8e4m3}) {
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

TEST(Elementwise, BitsOfIntegersAndBooleansAreInverted) {
  Executor executor(1, true);
  const auto inverted = [&](DType type, double number) {
    return test::numbers(executor,
                         unary(executor, UnaryOperation::bit_not, full(executor, Shape{1}, type, number), type))[0];
  };
  EXPECT_EQ(inverted(DType::u8, 5), 250);
  EXPECT_EQ(inverted(DType::i8, 5), -6);
  EXPECT_EQ(inverted(DType::i32, INT32_MAX), INT32_MIN);
  EXPECT_EQ(inverted(DType::i64, -1), 0);
  EXPECT_EQ(inverted(DType::boolean, 1), 0);
  EXPECT_EQ(inverted(DType::boolean, 0), 1);
}

/// Operations on all pairs of bytes, in the type's own width.
TEST(Elementwise, AllPairsOfBytesWrapInTheirWidth) {
  Executor executor(1, true);
  std::vector<std::byte> rows;
  for (int i = 0; i < 256; ++i) rows.push_back(static_cast<std::byte>(i));
  const auto check = [&](DType type, auto example) {
    using T = decltype(example);
    const Value a = from_bytes(executor, type, Shape{256, 1}, rows), b = from_bytes(executor, type, Shape{256}, rows);
    using enum BinaryOperation;
    for (const BinaryOperation operation :
         {add, subtract, multiply, truncate_divide, fmod, bit_xor, shift_left, shift_right, minimum, maximum}) {
      const Value value = binary(executor, operation, a, b, type);
      const TileView actual = view(executor, value);
      for (int i = 0; i < 256; ++i) {
        for (int j = 0; j < 256; ++j) {
          const int x = static_cast<T>(i), y = static_cast<T>(j);
          const bool shifts = operation == shift_left || operation == shift_right;
          const bool divides = operation == truncate_divide || operation == fmod;
          const bool valid = shifts ? y >= 0 && y < 8 : !divides || y != 0;
          const int result = !valid                         ? 0
                             : operation == add             ? x + y
                             : operation == subtract        ? x - y
                             : operation == multiply        ? x * y
                             : operation == truncate_divide ? x / y
                             : operation == fmod            ? x % y
                             : operation == bit_xor         ? x ^ y
                             : operation == shift_left      ? x * (1 << y)
                             : operation == shift_right     ? x >> y
                             : operation == minimum         ? std::min(x, y)
                                                            : std::max(x, y);
          ASSERT_EQ(actual.element(256 * i + j).as_integer(), static_cast<T>(result))
              << x << " " << static_cast<int>(operation) << " " << y;
          ASSERT_EQ(actual.valid(256 * i + j), valid);
        }
      }
    }
  };
  check(DType::u8, std::uint8_t{});
  check(DType::i8, std::int8_t{});
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
    const std::vector<Scalar> elements[] = {{}, scalars(executor, values[1]), scalars(executor, values[2])};
    const auto actual = test::numbers(executor, value);
    const auto valid = test::validity(executor, value);
    for (std::int64_t lane = 0; lane < value.numel(); ++lane) {
      const std::size_t c = test::source_lane(value.shape(), shapes[0], lane);
      const int chosen = numbers[0][c] != 0 ? 1 : 2;
      const std::size_t i = test::source_lane(value.shape(), shapes[chosen], lane);
      ASSERT_EQ(actual[static_cast<std::size_t>(lane)], converted(result, elements[chosen][i]).as_double());
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
}  // namespace kernbench::numerics::elementwise_test
