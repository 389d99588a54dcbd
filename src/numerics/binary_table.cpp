// What the rows of kernbench/elementwise/binary.def make their values and costs from, the table of them, and the table
// of operations on three operands.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "numerics/compositions.h"
#include "numerics/kernel_loops.h"
#include "numerics/portable_inverse.h"
#include "numerics/portable_math.h"

namespace kernbench::numerics {

namespace {

namespace binary_rows {

/// All of a row but its names.
struct Values {
  Takes takes;
  Yields yields;
  std::optional<VectorOperation> cost;
  Kernels<BinaryKernel> kernels;
  std::string_view call = {};
};

struct Sum {
  template <class T>
  auto operator()(T a, T b) const {
    return wrapping(a) + wrapping(b);
  }
};
struct Difference {
  template <class T>
  auto operator()(T a, T b) const {
    return wrapping(a) - wrapping(b);
  }
};
struct Product {
  template <class T>
  auto operator()(T a, T b) const {
    return wrapping(a) * wrapping(b);
  }
};

template <class T>
T maximum_of(T a, T b) {
  if constexpr (kIsFloating<T>) {
    // +0 is above -0; a NaN gives way to the other operand.
    const bool take_a = a > b || b != b || (a == b && !std::signbit(a));
    return take_a ? a : b;
  } else {
    return std::max(a, b);
  }
}

template <class T>
T minimum_of(T a, T b) {
  if constexpr (kIsFloating<T>) {
    const bool take_a = a < b || b != b || (a == b && std::signbit(a));
    return take_a ? a : b;
  } else {
    return std::min(a, b);
  }
}

struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    return maximum_of(a, b);
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    return minimum_of(a, b);
  }
};
struct MaximumNan {
  template <class T>
  T operator()(T a, T b) const {
    return a != a || b != b ? canonical(static_cast<T>(a + b)) : maximum_of(a, b);
  }
};
struct MinimumNan {
  template <class T>
  T operator()(T a, T b) const {
    return a != a || b != b ? canonical(static_cast<T>(a + b)) : minimum_of(a, b);
  }
};

struct TensorMaximum {
  template <class T>
  T operator()(T a, T b) const {
    return a != a || a >= b ? a : b;  // b when it is NaN
  }
};
struct TensorMinimum {
  template <class T>
  T operator()(T a, T b) const {
    return a != a || a <= b ? a : b;
  }
};

/// Of integers, with wrapping products; a negative exponent leaves 1 and -1 only.
std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::uint64_t result = 1;
  for (auto factor = static_cast<std::uint64_t>(base); exponent > 0; exponent /= 2, factor *= factor) {
    if (exponent % 2 != 0) result *= factor;
  }
  return static_cast<std::int64_t>(result);
}

struct Power {
  float operator()(float base, float exponent) const {
    return static_cast<float>(portable_power(static_cast<double>(base), static_cast<double>(exponent)));
  }
  double operator()(double base, double exponent) const { return std::pow(base, exponent); }
  std::int64_t operator()(std::int64_t base, std::int64_t exponent) const { return integer_power(base, exponent); }
};

/// Passes the payload of the NaN that it chooses on.
template <class T, class Choice>
void choose_loop(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count) {
  const auto *left = reinterpret_cast<const T*>(a), *right = reinterpret_cast<const T*>(b);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = Choice{}(left[i], right[i]);
}

template <class Choice>
constexpr Values choice() {
  return {Takes::any,
          Yields::same,
          std::nullopt,
          {choose_loop<float, Choice>, choose_loop<double, Choice>, choose_loop<std::int64_t, Choice>}};
}

template <class Function>
constexpr Values arithmetic(VectorOperation cost, Function) {
  return {Takes::any, Yields::same, cost, binary_kernels(Function{})};
}

constexpr Values quotient() {
  return {Takes::any,
          Yields::floating,
          VectorOperation::divide,
          {binary_loop<float, std::divides<>>, binary_loop<double, std::divides<>>, nullptr}};
}

/// A function of floats, as those on one operand.
template <double (*kPortable)(double, double), double (*kReference)(double, double)>
constexpr Values function(VectorOperation cost) {
  const auto portable = [](float a, float b) { return static_cast<float>(kPortable(a, b)); };
  const auto reference = [](double a, double b) { return kReference(a, b); };
  return {Takes::any,
          Yields::floating,
          cost,
          {binary_loop<float, decltype(portable)>, binary_loop<double, decltype(reference)>, nullptr}};
}

template <double (*kPortable)(double, double), double (*kReference)(double, double)>
constexpr Values function_of_floats(VectorOperation cost) {
  Values values = function<kPortable, kReference>(cost);
  values.takes = Takes::floats;
  values.yields = Yields::same;
  return values;
}

constexpr Values power() {
  return {Takes::numbers, Yields::same, VectorOperation::pow, binary_kernels(Power{}), "pow(a, b)"};
}

/// A division, whose loops of integers are checked ones.
template <class Function>
constexpr Values division(std::optional<VectorOperation> cost, Function) {
  return {Takes::numbers, Yields::same, cost, {binary_loop<float, Function>, binary_loop<double, Function>, nullptr}};
}
template <class Function>
constexpr Values composed_division(Function function) {
  return division(std::nullopt, function);
}

template <class Function>
constexpr Values of_bits(Function) {
  return {Takes::bits, Yields::same, VectorOperation::bitwise, {nullptr, nullptr, binary_loop<std::int64_t, Function>}};
}

/// By the width of the result: numerics/operations.h.
constexpr Values shift() {
  return {Takes::integers, Yields::same, VectorOperation::shift, {}};
}

template <class Function>
constexpr Values comparison(Function) {
  return {Takes::any, Yields::boolean, VectorOperation::compare, binary_kernels(Function{})};
}

template <class Function>
constexpr Values logical(Function) {
  return {Takes::any, Yields::boolean, std::nullopt, binary_kernels(Function{})};
}

template <class Function>
constexpr Values of_floats(Function) {
  return {Takes::floats,
          Yields::same,
          std::nullopt,
          {binary_loop<float, Function>, binary_loop<double, Function>, nullptr}};
}

/// Several commands of a device; integers become f32.
template <class Function>
constexpr Values composed_of_floats(Function function) {
  Values values = of_floats(function);
  values.takes = Takes::any;
  values.yields = Yields::floating;
  return values;
}

template <class Function>
constexpr Values bound(Function) {
  return {Takes::numbers, Yields::same, VectorOperation::minimum, binary_kernels(Function{})};
}

constexpr BinaryInfo row(BinaryOperation operation, const char* name, const Values& values) {
  return {{operation, name, values.takes, values.yields, values.cost, values.call}, values.kernels};
}

constexpr std::array kBinary{
#define KERNBENCH_BINARY(operation, name, ...) row(BinaryOperation::operation, name, __VA_ARGS__),
#define KERNBENCH_PAIR_FUNCTION(operation, name, ...) row(BinaryOperation::operation, #name, __VA_ARGS__),
#define KERNBENCH_COMPARISON KERNBENCH_PAIR_FUNCTION
#define KERNBENCH_BINARY_FUNCTION KERNBENCH_PAIR_FUNCTION
#include "kernbench/elementwise/binary.def"
};

}  // namespace binary_rows

template <class T>
void where_loop(const std::byte* condition, const std::byte* a, const std::byte* b, std::byte* out,
                std::int64_t count) {
  const auto* chosen = reinterpret_cast<const T*>(condition);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* source = chosen[i] != 0 ? a : b;
    std::memcpy(out + i * static_cast<std::int64_t>(sizeof(T)), source + i * static_cast<std::int64_t>(sizeof(T)),
                sizeof(T));
  }
}

constexpr std::array kTernary{
    TernaryInfo{{TernaryOperation::multiply_add, "multiply_add"}, ternary_kernels([](auto a, auto b, auto c) {
                  return static_cast<decltype(a)>(wrapping(a) * wrapping(b) + wrapping(c));
                })},
    TernaryInfo{{TernaryOperation::clamp, "clamp", Takes::numbers}, ternary_kernels([](auto x, auto low, auto high) {
                  return binary_rows::TensorMinimum{}(binary_rows::TensorMaximum{}(x, low), high);
                })},
    // The condition is brought to the type of the others, as 0 or 1. A NaN that is chosen keeps its payload.
    TernaryInfo{{TernaryOperation::where, "where", Takes::any, Yields::same, VectorOperation::select},
                {where_loop<float>, where_loop<double>, where_loop<std::int64_t>}},
};

template <class Operation, class Table, std::size_t... kIndices>
constexpr bool in_order(const Table& table, std::index_sequence<kIndices...>) {
  return (... && (std::get<Operation>(table[kIndices].operation) == static_cast<Operation>(kIndices)));
}
static_assert(in_order<TernaryOperation>(kTernary, std::make_index_sequence<kTernary.size()>()));

}  // namespace

std::span<const BinaryInfo> binary_table() {
  return binary_rows::kBinary;
}

const BinaryInfo& info(BinaryOperation operation) {
  return binary_rows::kBinary[static_cast<std::size_t>(operation)];
}
const TernaryInfo& info(TernaryOperation operation) {
  return kTernary[static_cast<std::size_t>(operation)];
}

}  // namespace kernbench::numerics
