// Elementwise operations of a device against scalar functions in double, over random types, views and placements.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using tensor::BinaryOperation;
using tensor::TernaryOperation;
using tensor::UnaryOperation;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class Operation>
void elementwise(Operation operation, std::initializer_list<tensor::DeviceOperand> operands, DType compute,
                 const torch::Tensor& out) {
  operations().elementwise(numerics::info(operation), std::span(operands.begin(), operands.size()), compute, out);
}

double floor_mod(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double apply(BinaryOperation operation, double a, double b) {
  const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  switch (operation) {
    case BinaryOperation::add:
      return a + b;
    case BinaryOperation::subtract:
      return a - b;
    case BinaryOperation::multiply:
      return a * b;
    case BinaryOperation::divide:
      return a / b;
    case BinaryOperation::floor_divide:
      return std::floor(a / b);
    case BinaryOperation::truncate_divide:
      return std::trunc(a / b);
    case BinaryOperation::remainder:
      return floor_mod(a, b);
    case BinaryOperation::fmod:
      return std::fmod(a, b);
    case BinaryOperation::power:
      return std::pow(a, b);
    case BinaryOperation::tensor_maximum:
      return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
    case BinaryOperation::tensor_minimum:
      return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
    case BinaryOperation::equal:
      return a == b;
    case BinaryOperation::not_equal:
      return a != b;
    case BinaryOperation::less:
      return a < b;
    case BinaryOperation::less_equal:
      return a <= b;
    case BinaryOperation::greater:
      return a > b;
    case BinaryOperation::greater_equal:
      return a >= b;
    case BinaryOperation::logical_and:
      return a != 0 && b != 0;
    case BinaryOperation::logical_or:
      return a != 0 || b != 0;
    case BinaryOperation::logical_xor:
      return (a != 0) != (b != 0);
    case BinaryOperation::bit_and:
      return static_cast<double>(x & y);
    case BinaryOperation::bit_or:
      return static_cast<double>(x | y);
    case BinaryOperation::bit_xor:
      return static_cast<double>(x ^ y);
    case BinaryOperation::shift_left:
      return static_cast<double>(x << y);
    case BinaryOperation::shift_right:
      return static_cast<double>(x >> y);
    default:
      return kNan;
  }
  return kNan;
}

enum class Domain : std::uint8_t { floats, numbers, integers, small_integers, any };

struct BinaryCase {
  BinaryOperation operation;
  Domain domain;
  bool boolean = false;  // gives bool
  double ulps = 0;       // of the result's type, beside its own rounding
};

const std::vector<BinaryCase>& binary_cases() {
  using enum BinaryOperation;
  static const std::vector<BinaryCase> cases{{add, Domain::numbers},
                                             {subtract, Domain::numbers},
                                             {multiply, Domain::numbers},
                                             {divide, Domain::floats},
                                             {floor_divide, Domain::integers},
                                             {floor_divide, Domain::floats, false, 1e9},
                                             {truncate_divide, Domain::integers},
                                             {remainder, Domain::integers},
                                             {remainder, Domain::floats, false, 2},
                                             {fmod, Domain::integers},
                                             {fmod, Domain::floats, false, 1},
                                             {power, Domain::floats, false, 1},
                                             {power, Domain::small_integers},
                                             {tensor_maximum, Domain::numbers},
                                             {tensor_minimum, Domain::numbers},
                                             {equal, Domain::any, true},
                                             {not_equal, Domain::any, true},
                                             {less, Domain::any, true},
                                             {less_equal, Domain::any, true},
                                             {greater, Domain::any, true},
                                             {greater_equal, Domain::any, true},
                                             {logical_and, Domain::any, true},
                                             {logical_or, Domain::any, true},
                                             {logical_xor, Domain::any, true},
                                             {bit_and, Domain::integers},
                                             {bit_or, Domain::integers},
                                             {bit_xor, Domain::integers},
                                             {shift_left, Domain::small_integers},
                                             {shift_right, Domain::small_integers}};
  return cases;
}

DType type_of(Draw& draw, Domain domain) {
  switch (domain) {
    case Domain::floats:
      return draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
    case Domain::integers:
      return draw.of(std::vector{DType::i32, DType::i64, DType::i8});
    case Domain::small_integers:
      return draw.of(std::vector{DType::i32, DType::i64});
    case Domain::numbers:
      return draw.of(
          std::vector{DType::f32, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8, DType::f8e5m2});
    case Domain::any:
      return draw.of(std::vector{DType::f32, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8, DType::i8});
  }
  return DType::f32;
}

Values values_for(const BinaryCase& test, DType dtype, bool right) {
  if (test.operation == BinaryOperation::power && is_floating_point(dtype)) {
    return right ? normal(dtype, 1.5) : whole_numbers(dtype, 1, 20);
  }
  if (test.domain == Domain::small_integers) return right ? whole_numbers(dtype, 0, 5) : whole_numbers(dtype, -3, 3);
  if (dtype == DType::u8) return whole_numbers(dtype, right ? 1 : 0, 9);
  if (!is_floating_point(dtype)) {
    // No divisor is zero; products stay in i8.
    return right ? whole_numbers(dtype, 1, 9) : whole_numbers(dtype, -11, 11);
  }
  return test.domain == Domain::any ? whole_numbers(dtype, -2, 2) : normal(dtype, 2);
}

TEST(DeviceElementwise, BinaryOperationsAreThoseOfNumbersForEveryTypeViewAndPlacement) {
  for_random_cases(static_cast<int>(binary_cases().size()) * 6, [case_number = 0](Draw& draw) mutable {
    const BinaryCase& test = binary_cases()[static_cast<std::size_t>(case_number++) % binary_cases().size()];
    const DType dtype = type_of(draw, test.domain);
    const Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(0, 4)), 6000);
    const bool scalar = draw.chance(4);
    Pair a = random_pair(draw, sizes, values_for(test, dtype, false));
    Pair b = random_pair(draw, sizes, values_for(test, dtype, true));
    tensor::DeviceOperand right = b.device;
    if (scalar) {
      b.host = torch::full(sizes, 3, dtype);
      right = torch::Scalar(3);
    }
    const DType type = test.boolean ? DType::boolean : dtype;
    const auto out = random_output(draw, sizes, type);
    elementwise(test.operation, {a.device, right}, dtype, out);
    const auto x = elements(a.host), y = elements(b.host);
    std::vector<double> expected;
    for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(apply(test.operation, x[i], y[i]));
    expected = rounded(expected, type);
    const std::string what = std::string(tensor::name(test.operation)) + " of " + name(dtype);
    if (test.operation == BinaryOperation::floor_divide && is_floating_point(dtype)) {
      // The quotient of rounded operands may lie on either side of a whole number.
      expect_near(out, expected, 4 * unit(dtype), 1, what);
    } else {
      const double narrow = is_floating_point(dtype) && item_size(dtype) < 4 ? 2 * unit(dtype) : 0;
      expect_near(out, expected, test.ulps * 0x1p-24 + (test.ulps > 0 ? narrow : 0), test.ulps > 0 ? 1e-6 : 0, what);
    }
  });
}

struct UnaryCase {
  UnaryOperation operation;
  double (*function)(double);
  Domain domain;
  bool boolean = false;
  double ulps = 2;
};

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

double six_steps(double x) {
  return x != x ? x : std::clamp(x + 3, 0.0, 6.0);
}

const std::vector<UnaryCase>& unary_cases() {
  using enum UnaryOperation;
  static const std::vector<UnaryCase> cases{
      {negate, [](double x) { return -x; }, Domain::numbers, false, 0},
      {absolute, [](double x) { return std::abs(x); }, Domain::numbers, false, 0},
      {square_root, [](double x) { return std::sqrt(x); }, Domain::floats, false, 0},
      {reciprocal_square_root, [](double x) { return 1 / std::sqrt(x); }, Domain::floats},
      {reciprocal, [](double x) { return 1 / x; }, Domain::floats, false, 0},
      {exponential, [](double x) { return std::exp(x); }, Domain::floats},
      {exponential2, [](double x) { return std::exp2(x); }, Domain::floats},
      {UnaryOperation::expm1, [](double x) { return std::expm1(x); }, Domain::floats},
      {logarithm, [](double x) { return std::log(x); }, Domain::floats},
      {logarithm2, [](double x) { return std::log2(x); }, Domain::floats},
      {logarithm10, [](double x) { return std::log10(x); }, Domain::floats},
      {UnaryOperation::log1p, [](double x) { return std::log1p(x); }, Domain::floats},
      {sine, [](double x) { return std::sin(x); }, Domain::floats},
      {cosine, [](double x) { return std::cos(x); }, Domain::floats},
      {hyperbolic_tangent, [](double x) { return std::tanh(x); }, Domain::floats},
      {tangent, [](double x) { return std::tan(x); }, Domain::floats},
      {arcsine, [](double x) { return std::asin(x); }, Domain::floats},
      {arccosine, [](double x) { return std::acos(x); }, Domain::floats},
      {arctangent, [](double x) { return std::atan(x); }, Domain::floats},
      {inverse_hyperbolic_sine, [](double x) { return std::asinh(x); }, Domain::floats},
      {inverse_hyperbolic_cosine, [](double x) { return std::acosh(x); }, Domain::floats},
      {error_function, [](double x) { return std::erf(x); }, Domain::floats},
      {UnaryOperation::sigmoid, logistic, Domain::floats},
      {floor, [](double x) { return std::floor(x); }, Domain::numbers, false, 0},
      {ceil, [](double x) { return std::ceil(x); }, Domain::numbers, false, 0},
      {round, [](double x) { return std::nearbyint(x); }, Domain::numbers, false, 0},
      {truncate, [](double x) { return std::trunc(x); }, Domain::numbers, false, 0},
      {sign, [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }, Domain::numbers, false, 0},
      {bit_not, [](double x) { return -x - 1; }, Domain::integers, false, 0},
      {logical_not, [](double x) { return x == 0 ? 1.0 : 0.0; }, Domain::any, true, 0},
      {is_nan, [](double x) { return std::isnan(x) ? 1.0 : 0.0; }, Domain::any, true, 0},
      {is_infinite, [](double x) { return std::isinf(x) ? 1.0 : 0.0; }, Domain::any, true, 0},
      {is_finite, [](double x) { return std::isfinite(x) ? 1.0 : 0.0; }, Domain::any, true, 0},
      {relu, [](double x) { return std::isnan(x) ? x : std::max(x, 0.0); }, Domain::numbers, false, 0},
      {silu, [](double x) { return x * logistic(x); }, Domain::floats, false, 4},
      {gelu, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, Domain::floats, false, 8},
      {gelu_tanh, [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); },
       Domain::floats, false, 16},
      {UnaryOperation::log_sigmoid,
       [](double x) { return x != x ? x : std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }, Domain::floats,
       false, 4},
      {UnaryOperation::mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, Domain::floats, false,
       16},
      {UnaryOperation::hardsigmoid, [](double x) { return six_steps(x) / 6; }, Domain::floats, false, 4},
      {UnaryOperation::hardswish, [](double x) { return x * six_steps(x) / 6; }, Domain::floats, false, 4},
      {UnaryOperation::selu,
       [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }, Domain::floats,
       false, 4}};
  return cases;
}

/// Normal numbers, halves, and the values that are special.
Values unary_values(Draw& draw, DType dtype) {
  const bool special = draw.chance(3);
  return [=](const Sizes& sizes) {
    auto values = torch::randn(sizes, torch::kDouble);
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      double& x = values.data_ptr<double>()[i];
      x *= 3;
      if (i % 5 == 0) x = std::round(x * 2) / 2;
      if (special && is_floating_point(dtype) && !is_float8(dtype)) {
        const double specials[] = {kNan, HUGE_VAL, -HUGE_VAL, 0.0, -0.0};
        if (i % 7 == 0) x = specials[i / 7 % 5];
      }
      if (!is_floating_point(dtype)) x = std::round(dtype == DType::u8 ? std::abs(x) : x);
    }
    return values.to(dtype);
  };
}

TEST(DeviceElementwise, UnaryFunctionsAreThoseOfDoubleRoundedOnce) {
  for_random_cases(static_cast<int>(unary_cases().size()) * 6, [case_number = 0](Draw& draw) mutable {
    const UnaryCase& test = unary_cases()[static_cast<std::size_t>(case_number++) % unary_cases().size()];
    DType dtype = type_of(draw, test.domain);
    if (dtype == DType::u8 && test.operation == UnaryOperation::negate) dtype = DType::i8;
    const Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(0, 4)), 4000);
    const Pair x = random_pair(draw, sizes, unary_values(draw, dtype));
    const DType type = test.boolean ? DType::boolean : dtype;
    const auto out = random_output(draw, sizes, type);
    elementwise(test.operation, {x.device}, dtype, out);
    std::vector<double> expected;
    for (const double value : elements(x.host)) expected.push_back(test.function(value));
    expected = rounded(expected, type);
    const double rounding = test.ulps > 0 ? 2 * unit(dtype) : 0;
    expect_near(out, expected, test.ulps * 0x1p-23 + rounding, test.ulps > 0 ? test.ulps * 0x1p-25 : 0,
                std::string(tensor::name(test.operation)) + " of " + name(dtype));
  });
}

TEST(DeviceElementwise, TernariesBroadcastScalarsAndViews) {
  for_random_cases(40, [](Draw& draw) {
    const Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(1, 3)), 4000);
    const Pair a = random_pair(draw, sizes, whole_numbers(DType::f32, -9, 9));
    const Pair b = random_pair(draw, sizes, whole_numbers(DType::f32, -9, 9));
    const Pair c = random_pair(draw, sizes, whole_numbers(DType::f32, -9, 9));
    const Pair condition = random_pair(draw, sizes, whole_numbers(DType::boolean, 0, 1));
    const auto x = elements(a.host), y = elements(b.host), z = elements(c.host), chosen = elements(condition.host);
    std::vector<double> sums, choices, clamped, high;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sums.push_back(x[i] * y[i] + z[i]);
      choices.push_back(chosen[i] != 0 ? x[i] : 2.5);
      clamped.push_back(std::min(std::max(x[i], -3.0), y[i]));
      high.push_back(std::min(x[i], 4.0));
    }
    const auto out = random_output(draw, sizes, DType::f32);
    elementwise(TernaryOperation::multiply_add, {a.device, b.device, c.device}, DType::f32, out);
    expect_equal(out, sums, "multiply_add");
    elementwise(TernaryOperation::where, {condition.device, a.device, torch::Scalar(2.5)}, DType::f32, out);
    expect_equal(out, choices, "where");
    elementwise(TernaryOperation::clamp, {a.device, torch::Scalar(-3), b.device}, DType::f32, out);
    expect_equal(out, clamped, "clamp");
    elementwise(BinaryOperation::clamp_max, {a.device, torch::Scalar(4)}, DType::f32, out);
    expect_equal(out, high, "clamp from above");
  });
}

TEST(DeviceElementwise, CopiesConvertAndReachEveryReplicaOfAnyView) {
  for_random_cases(80, [](Draw& draw) {
    const std::vector<DType> types{DType::f32, DType::f16, DType::bf16,    DType::i32,   DType::i8,
                                   DType::u8,  DType::i64, DType::boolean, DType::f8e4m3};
    const DType from = draw.of(types), to = draw.of(types);
    const Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(0, 4)), 8000);
    const bool negative = from != DType::u8 && to != DType::u8;
    const Pair source = random_pair(draw, sizes, whole_numbers(from, negative ? -8 : 0, 8));
    const auto out = random_output(draw, sizes, to);
    ASSERT_TRUE(operations().copy(source.device, out));
    expect_equal(out, rounded(elements(source.host), to), std::string(name(from)) + " to " + name(to));
  });
}

TEST(DeviceElementwise, ReshapedViewsThatCrossShardsAreCopied) {
  for_random_cases(24, [](Draw& draw) {
    const auto host = whole_numbers(DType::f32, -99, 99)({12, 10, 14});
    const auto device = host.to(torch::device("ahbm").placement(draw.placement()));
    const auto view = [](const torch::Tensor& t) { return t.view({60, 28}).narrow(0, 3, 50).transpose(0, 1); };
    const auto out = torch::empty({28, 50}, torch::dtype(torch::kFloat).device("ahbm").placement(draw.placement()));
    operations().copy(view(device), out);
    expect_equal(out, elements(view(host)), "read");
    const auto target =
        torch::zeros({12, 10, 14}, torch::dtype(torch::kFloat).device("ahbm").placement(draw.placement()));
    operations().copy(view(device), view(target));
    const auto expected = torch::zeros({12, 10, 14}, torch::kFloat);
    view(expected).copy_(view(host));
    expect_equal(target, elements(expected), "write");
  });
}

TEST(DeviceElementwise, TrianglesAreCutAtTheirDiagonal) {
  for_random_cases(24, [](Draw& draw) {
    Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(2, 3)), 4000);
    const Pair x = random_pair(draw, sizes, whole_numbers(DType::f32, 1, 9));
    const std::int64_t diagonal = draw.integer(-4, 4);
    const bool upper = draw.chance(2);
    const auto out = random_output(draw, sizes, DType::f32);
    operations().triangle(x.device, diagonal, upper, out);
    auto expected = elements(x.host);
    const std::int64_t columns = sizes.back(), rows = sizes[sizes.size() - 2];
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t offset = at % columns - at / columns % rows;
      if (upper ? offset < diagonal : offset > diagonal) expected[i] = 0;
    }
    expect_equal(out, expected, upper ? "triu" : "tril");
  });
}

}  // namespace
}  // namespace kernbench
