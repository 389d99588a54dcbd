// The rows of operations on two and three operands.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "numerics/compositions.h"
#include "numerics/kernel_loops.h"
#include "numerics/portable_math.h"

namespace kernbench::numerics {

namespace {

using Binary = BinaryOperation;

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
template <class T, T (*kFunction)(T, T)>
void choose_loop(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count) {
  const auto *left = reinterpret_cast<const T*>(a), *right = reinterpret_cast<const T*>(b);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = kFunction(left[i], right[i]);
}

template <class Function>
constexpr BinaryInfo arithmetic(BinaryOperation operation, const char* name, VectorOperation cost, Function) {
  return {{operation, name, Takes::any, Yields::same, cost}, binary_kernels(Function{})};
}

/// A division, whose loops of integers are checked ones.
template <class Function>
constexpr BinaryInfo division(BinaryOperation operation, const char* name, std::optional<VectorOperation> cost,
                              Function) {
  return {{operation, name, Takes::numbers, Yields::same, cost},
          {binary_loop<float, Function>, binary_loop<double, Function>, nullptr}};
}

template <class Function>
constexpr BinaryInfo of_bits(BinaryOperation operation, const char* name, Function) {
  return {{operation, name, Takes::bits, Yields::same, VectorOperation::bitwise},
          {nullptr, nullptr, binary_loop<std::int64_t, Function>}};
}

template <class Function>
constexpr BinaryInfo comparison(BinaryOperation operation, const char* name, Function) {
  return {{operation, name, Takes::any, Yields::boolean, VectorOperation::compare}, binary_kernels(Function{})};
}

template <class Function>
constexpr BinaryInfo logical(BinaryOperation operation, const char* name, Function) {
  return {{operation, name, Takes::any, Yields::boolean}, binary_kernels(Function{})};
}

constexpr std::array kBinary{
    arithmetic(Binary::add, "add", VectorOperation::add, [](auto a, auto b) { return wrapping(a) + wrapping(b); }),
    arithmetic(Binary::subtract, "sub", VectorOperation::add, [](auto a, auto b) { return wrapping(a) - wrapping(b); }),
    arithmetic(Binary::multiply, "mul", VectorOperation::multiply,
               [](auto a, auto b) { return wrapping(a) * wrapping(b); }),
    BinaryInfo{{Binary::divide, "div", Takes::any, Yields::floating, VectorOperation::divide},
               {binary_loop<float, std::divides<>>, binary_loop<double, std::divides<>>, nullptr}},
    division(Binary::truncate_divide, "div(rounding_mode=trunc)", VectorOperation::integer_divide,
             [](auto a, auto b) { return std::trunc(a / b); }),
    // Exact, so that every C library gives the same bits.
    division(Binary::fmod, "fmod", VectorOperation::remainder, [](auto a, auto b) { return std::fmod(a, b); }),
    BinaryInfo{{Binary::power, "pow", Takes::numbers, Yields::same, VectorOperation::pow, "pow(a, b)"},
               binary_kernels(Power{})},
    BinaryInfo{
        {Binary::minimum, "minimum"},
        {choose_loop<float, minimum_of>, choose_loop<double, minimum_of>, choose_loop<std::int64_t, minimum_of>}},
    BinaryInfo{
        {Binary::maximum, "maximum"},
        {choose_loop<float, maximum_of>, choose_loop<double, maximum_of>, choose_loop<std::int64_t, maximum_of>}},
    arithmetic(Binary::minimum_nan, "minimum", VectorOperation::minimum, MinimumNan{}),
    arithmetic(Binary::maximum_nan, "maximum", VectorOperation::minimum, MaximumNan{}),
    of_bits(Binary::bit_and, "bitwise_and", std::bit_and<>{}),
    of_bits(Binary::bit_or, "bitwise_or", std::bit_or<>{}),
    of_bits(Binary::bit_xor, "bitwise_xor", std::bit_xor<>{}),
    BinaryInfo{{Binary::shift_left, "bitwise_left_shift", Takes::integers, Yields::same, VectorOperation::shift}, {}},
    BinaryInfo{{Binary::shift_right, "bitwise_right_shift", Takes::integers, Yields::same, VectorOperation::shift}, {}},
    comparison(Binary::equal, "eq", std::equal_to<>{}),
    comparison(Binary::not_equal, "ne", std::not_equal_to<>{}),
    comparison(Binary::less, "lt", std::less<>{}),
    comparison(Binary::less_equal, "le", std::less_equal<>{}),
    comparison(Binary::greater, "gt", std::greater<>{}),
    comparison(Binary::greater_equal, "ge", std::greater_equal<>{}),
    logical(Binary::logical_and, "logical_and", [](auto a, auto b) { return (a != 0) & (b != 0); }),
    logical(Binary::logical_or, "logical_or", [](auto a, auto b) { return (a != 0) | (b != 0); }),
    logical(Binary::logical_xor, "logical_xor", [](auto a, auto b) { return (a != 0) != (b != 0); }),
    division(Binary::floor_divide, "floor_divide", std::nullopt,
             [](auto a, auto b) { return numerics::floor_divide<NumberMath<decltype(a)>>(a, b); }),
    division(Binary::remainder, "remainder", std::nullopt,
             [](auto a, auto b) { return floored_remainder<NumberMath<decltype(a)>>(a, b); }),
    arithmetic(Binary::tensor_maximum, "maximum", VectorOperation::minimum, TensorMaximum{}),
    arithmetic(Binary::tensor_minimum, "minimum", VectorOperation::minimum, TensorMinimum{}),
    BinaryInfo{{Binary::clamp_min, "clamp", Takes::numbers, Yields::same, VectorOperation::minimum},
               binary_kernels(TensorMaximum{})},
    BinaryInfo{{Binary::clamp_max, "clamp", Takes::numbers, Yields::same, VectorOperation::minimum},
               binary_kernels(TensorMinimum{})},
};

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
                  return TensorMinimum{}(TensorMaximum{}(x, low), high);
                })},
    // The condition is brought to the type of the others, as 0 or 1. A NaN that is chosen keeps its payload.
    TernaryInfo{{TernaryOperation::where, "where", Takes::any, Yields::same, VectorOperation::select},
                {where_loop<float>, where_loop<double>, where_loop<std::int64_t>}},
};

template <class Operation, class Table, std::size_t... kIndices>
constexpr bool in_order(const Table& table, std::index_sequence<kIndices...>) {
  return (... && (std::get<Operation>(table[kIndices].operation) == static_cast<Operation>(kIndices)));
}
static_assert(in_order<BinaryOperation>(kBinary, std::make_index_sequence<kBinary.size()>()));
static_assert(in_order<TernaryOperation>(kTernary, std::make_index_sequence<kTernary.size()>()));

}  // namespace

std::span<const BinaryInfo> binary_table() {
  return kBinary;
}
std::span<const TernaryInfo> ternary_table() {
  return kTernary;
}

const BinaryInfo& info(BinaryOperation operation) {
  return kBinary[static_cast<std::size_t>(operation)];
}
const TernaryInfo& info(TernaryOperation operation) {
  return kTernary[static_cast<std::size_t>(operation)];
}

}  // namespace kernbench::numerics
