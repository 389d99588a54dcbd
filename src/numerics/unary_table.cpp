// The rows of operations on one operand.
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "numerics/compositions.h"
#include "numerics/kernel_loops.h"
#include "numerics/portable_erf.h"
#include "numerics/portable_math.h"
#include "numerics/portable_trigonometry.h"

namespace kernbench::numerics {

namespace {

using Unary = UnaryOperation;

/// A function of floats: f32 by `Portable` (double to double, rounded once), f64 by `Reference` (the C library's).
template <class Portable, class Reference>
constexpr UnaryInfo function(UnaryOperation operation, const char* name, std::string_view call, VectorOperation cost,
                             Portable, Reference) {
  struct InDouble {
    float operator()(float x) const { return static_cast<float>(Portable{}(static_cast<double>(x))); }
  };
  return {{operation, name, Takes::any, Yields::floating, cost, call},
          {unary_loop<float, InDouble>, unary_loop<double, Reference>, nullptr}};
}

/// A function of floats that is one correctly rounded operation, or a few, in any type.
template <class Function>
constexpr UnaryInfo direct(UnaryOperation operation, const char* name, std::string_view call,
                           std::optional<VectorOperation> cost, Function) {
  return {{operation, name, Takes::any, Yields::floating, cost, call},
          {unary_loop<float, Function>, unary_loop<double, Function>, nullptr}};
}

/// To a whole number; integers are whole.
template <class Function>
constexpr UnaryInfo rounding(UnaryOperation operation, const char* name, std::string_view call, Function) {
  const auto same = [](std::int64_t x) { return x; };
  return {{operation, name, Takes::numbers, Yields::same, VectorOperation::round, call},
          {unary_loop<float, Function>, unary_loop<double, Function>, unary_loop<std::int64_t, decltype(same)>}};
}

/// A question to a float that has one answer for all integers.
template <class Function>
constexpr UnaryInfo question(UnaryOperation operation, const char* name, Function) {
  return {{operation, name, Takes::any, Yields::boolean}, unary_kernels(Function{})};
}

/// Made of several operations (numerics/compositions.h), of floats only.
template <class Function>
constexpr UnaryInfo composed(UnaryOperation operation, const char* name, Function) {
  return {{operation, name, Takes::floats, Yields::same},
          {unary_loop<float, Function>, unary_loop<double, Function>, nullptr}};
}

/// Passes the payload of a NaN on.
template <class T, class Function>
void exact_loop(const std::byte* x, std::byte* out, std::int64_t count) {
  const auto* in = reinterpret_cast<const T*>(x);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(Function{}(in[i]));
}
template <class Function>
constexpr UnaryInfo exact(UnaryOperation operation, const char* name, VectorOperation cost, Function) {
  return {{operation, name, Takes::numbers, Yields::same, cost},
          {exact_loop<float, Function>, exact_loop<double, Function>, exact_loop<std::int64_t, Function>}};
}

constexpr std::array kUnary{
    exact(Unary::negate, "neg", VectorOperation::add,
          [](auto x) {
            if constexpr (kIsFloating<decltype(x)>)
              return -x;
            else
              return 0 - wrapping(x);
          }),
    exact(Unary::absolute, "abs", VectorOperation::add,
          [](auto x) {
            if constexpr (kIsFloating<decltype(x)>)
              return std::abs(x);
            else
              return x < 0 ? 0 - wrapping(x) : wrapping(x);
          }),
    UnaryInfo{{Unary::sign, "sign"}, unary_kernels([](auto x) { return (x > 0) - (x < 0); })},

    function(
        Unary::exponential, "exp", "exp(x)", VectorOperation::exp, [](double x) { return portable_exp(x); },
        [](double x) { return std::exp(x); }),
    function(
        Unary::exponential2, "exp2", "exp2(x)", VectorOperation::exp, [](double x) { return portable_exp2(x); },
        [](double x) { return std::exp2(x); }),
    function(
        Unary::expm1, "expm1", "expm1(x)", VectorOperation::expm1, [](double x) { return portable_expm1(x); },
        [](double x) { return std::expm1(x); }),
    function(
        Unary::logarithm, "log", "log(x)", VectorOperation::log, [](double x) { return portable_log(x); },
        [](double x) { return std::log(x); }),
    function(
        Unary::logarithm2, "log2", "log2(x)", VectorOperation::log, [](double x) { return portable_log2(x); },
        [](double x) { return std::log2(x); }),
    function(
        Unary::logarithm10, "log10", "log10(x)", VectorOperation::log10, [](double x) { return portable_log10(x); },
        [](double x) { return std::log10(x); }),
    function(
        Unary::log1p, "log1p", "log1p(x)", VectorOperation::log1p, [](double x) { return portable_log1p(x); },
        [](double x) { return std::log1p(x); }),
    function(
        Unary::sine, "sin", "sin(x)", VectorOperation::sin, [](double x) { return portable_sine(x); },
        [](double x) { return std::sin(x); }),
    function(
        Unary::cosine, "cos", "cos(x)", VectorOperation::cos, [](double x) { return portable_cosine(x); },
        [](double x) { return std::cos(x); }),
    function(
        Unary::hyperbolic_sine, "sinh", "sinh(x)", VectorOperation::tanh, [](double x) { return portable_sinh(x); },
        [](double x) { return std::sinh(x); }),
    function(
        Unary::hyperbolic_cosine, "cosh", "cosh(x)", VectorOperation::tanh, [](double x) { return portable_cosh(x); },
        [](double x) { return std::cosh(x); }),
    function(
        Unary::hyperbolic_tangent, "tanh", "tanh(x)", VectorOperation::tanh, [](double x) { return portable_tanh(x); },
        [](double x) { return std::tanh(x); }),
    function(
        Unary::error_function, "erf", "erf(x)", VectorOperation::erf, [](double x) { return portable_erf(x); },
        [](double x) { return std::erf(x); }),
    function(
        Unary::sigmoid, "sigmoid", "sigmoid(x)", VectorOperation::sigmoid, [](double x) { return portable_sigmoid(x); },
        [](double x) { return 1 / (1 + std::exp(-x)); }),

    direct(Unary::square_root, "sqrt", "sqrt(x)", VectorOperation::sqrt, [](auto x) { return std::sqrt(x); }),
    function(
        Unary::reciprocal_square_root, "rsqrt", "rsqrt(x)", VectorOperation::rsqrt,
        [](double x) { return 1 / std::sqrt(x); }, [](double x) { return 1 / std::sqrt(x); }),
    direct(Unary::reciprocal, "reciprocal", {}, std::nullopt, [](auto x) { return 1 / x; }),

    rounding(Unary::floor, "floor", "floor(x)", [](auto x) { return std::floor(x); }),
    rounding(Unary::ceil, "ceil", "ceil(x)", [](auto x) { return std::ceil(x); }),
    rounding(Unary::round, "round", "round(x)", [](auto x) { return std::nearbyint(x); }),
    rounding(Unary::truncate, "trunc", "trunc(x)", [](auto x) { return std::trunc(x); }),

    UnaryInfo{{Unary::logical_not, "logical_not", Takes::any, Yields::boolean, VectorOperation::compare},
              unary_kernels([](auto x) { return x == 0; })},
    UnaryInfo{{Unary::bit_not, "bitwise_not", Takes::bits, Yields::same, VectorOperation::bitwise},
              {nullptr, nullptr, unary_loop<std::int64_t, std::bit_not<std::int64_t>>}},
    question(Unary::is_nan, "isnan", [](auto x) { return x != x; }),
    question(Unary::is_infinite, "isinf", [](auto x) { return std::isinf(static_cast<double>(x)); }),
    question(Unary::is_finite, "isfinite", [](auto x) { return std::isfinite(static_cast<double>(x)); }),

    UnaryInfo{{Unary::relu, "relu", Takes::numbers}, unary_kernels([](auto x) { return x < 0 ? decltype(x){0} : x; })},
    composed(Unary::silu, "silu", [](auto x) { return numerics::silu<NumberMath<decltype(x)>>(x); }),
    composed(Unary::gelu, "gelu", [](auto x) { return numerics::gelu<NumberMath<decltype(x)>>(x); }),
    composed(Unary::gelu_tanh, "gelu(approximate=tanh)",
             [](auto x) { return numerics::gelu_tanh<NumberMath<decltype(x)>>(x); }),
};

template <std::size_t... kIndices>
constexpr bool in_order(std::index_sequence<kIndices...>) {
  return (... && (std::get<UnaryOperation>(kUnary[kIndices].operation) == static_cast<UnaryOperation>(kIndices)));
}
static_assert(in_order(std::make_index_sequence<kUnary.size()>()), "rows stand in the order of the enumeration");

}  // namespace

std::span<const UnaryInfo> unary_table() {
  return kUnary;
}

const UnaryInfo& info(UnaryOperation operation) {
  return kUnary[static_cast<std::size_t>(operation)];
}

}  // namespace kernbench::numerics
