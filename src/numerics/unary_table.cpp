// What the rows of kernbench/elementwise/unary.def make their values and costs from, and the table of them.
#include <array>
#include <cmath>
#include <functional>

#include "numerics/compositions.h"
#include "numerics/kernel_loops.h"
#include "numerics/portable_erf.h"
#include "numerics/portable_inverse.h"
#include "numerics/portable_math.h"
#include "numerics/portable_trigonometry.h"

namespace kernbench::numerics {

namespace {

namespace unary_rows {

/// All of a row but its names.
struct Values {
  Takes takes;
  Yields yields;
  std::optional<VectorOperation> cost;
  Kernels<UnaryKernel> kernels;
};

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}
double inverse_root(double x) {
  return 1 / std::sqrt(x);
}

struct Negative {
  template <class T>
  auto operator()(T x) const {
    if constexpr (kIsFloating<T>)
      return -x;
    else
      return 0 - wrapping(x);
  }
};

struct Absolute {
  template <class T>
  auto operator()(T x) const {
    if constexpr (kIsFloating<T>)
      return std::abs(x);
    else
      return x < 0 ? 0 - wrapping(x) : wrapping(x);
  }
};

template <auto kPortable>
struct InDouble {
  float operator()(float x) const { return static_cast<float>(kPortable(static_cast<double>(x))); }
};
template <double (*kReference)(double)>
struct OfDouble {
  double operator()(double x) const { return kReference(x); }
};

/// A function of floats: f32 by `kPortable` (double to double, rounded once), f64 by `kReference` (the C library's).
template <auto kPortable, double (*kReference)(double)>
constexpr Values function(VectorOperation cost) {
  return {Takes::any,
          Yields::floating,
          cost,
          {unary_loop<float, InDouble<kPortable>>, unary_loop<double, OfDouble<kReference>>, nullptr}};
}

/// A function of floats that is one correctly rounded operation, or a few, in any type.
template <class Function>
constexpr Values direct(Function, std::optional<VectorOperation> cost = std::nullopt) {
  return {Takes::any, Yields::floating, cost, {unary_loop<float, Function>, unary_loop<double, Function>, nullptr}};
}

/// To a whole number; integers are whole.
template <class Function>
constexpr Values rounding(Function) {
  const auto same = [](std::int64_t x) { return x; };
  return {Takes::numbers,
          Yields::same,
          VectorOperation::round,
          {unary_loop<float, Function>, unary_loop<double, Function>, unary_loop<std::int64_t, decltype(same)>}};
}

template <class Function>
constexpr Values comparison(Function) {
  return {Takes::any, Yields::boolean, VectorOperation::compare, unary_kernels(Function{})};
}

/// A question to a float that has one answer for all integers.
template <class Function>
constexpr Values question(Function) {
  return {Takes::any, Yields::boolean, std::nullopt, unary_kernels(Function{})};
}

template <class Function>
constexpr Values of_bits(Function) {
  return {Takes::bits, Yields::same, VectorOperation::bitwise, {nullptr, nullptr, unary_loop<std::int64_t, Function>}};
}

/// Several commands of a device.
template <class Function>
constexpr Values composed(Function, Takes takes = Takes::any) {
  return {takes, Yields::same, std::nullopt, unary_kernels(Function{})};
}
template <class Function>
constexpr Values of_floats(Function) {
  return {
      Takes::floats, Yields::same, std::nullopt, {unary_loop<float, Function>, unary_loop<double, Function>, nullptr}};
}

/// Passes the payload of a NaN on.
template <class T, class Function>
void exact_loop(const std::byte* x, std::byte* out, std::int64_t count) {
  const auto* in = reinterpret_cast<const T*>(x);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(Function{}(in[i]));
}
template <class Function>
constexpr Values exact(VectorOperation cost, Function) {
  return {Takes::numbers,
          Yields::same,
          cost,
          {exact_loop<float, Function>, exact_loop<double, Function>, exact_loop<std::int64_t, Function>}};
}

constexpr UnaryInfo row(UnaryOperation operation, const char* name, std::string_view call, const Values& values) {
  return {{operation, name, values.takes, values.yields, values.cost, call}, values.kernels};
}

constexpr std::array kUnary{
#define KERNBENCH_UNARY(operation, name, ...) row(UnaryOperation::operation, name, {}, __VA_ARGS__),
#define KERNBENCH_QUESTION(operation, name, ...) row(UnaryOperation::operation, #name, {}, __VA_ARGS__),
#define KERNBENCH_TENSOR_FUNCTION KERNBENCH_QUESTION
#define KERNBENCH_FUNCTION(operation, name, ...) row(UnaryOperation::operation, #name, #name "(x)", __VA_ARGS__),
#include "kernbench/elementwise/unary.def"
};

}  // namespace unary_rows

}  // namespace

std::span<const UnaryInfo> unary_table() {
  return unary_rows::kUnary;
}

const UnaryInfo& info(UnaryOperation operation) {
  return unary_rows::kUnary[static_cast<std::size_t>(operation)];
}

}  // namespace kernbench::numerics
