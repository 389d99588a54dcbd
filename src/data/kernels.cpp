#include "data/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "data/portable_math.h"

namespace kernbench::data {

namespace {

template <class T>
constexpr bool kIsFloating = std::is_floating_point_v<T>;

/// Which NaN comes out of an instruction depends on the order that a compiler gives its operands.
template <class T>
T canonical(T value) {
  if constexpr (kIsFloating<T>) return value == value ? value : std::numeric_limits<T>::quiet_NaN();
  return value;
}

/// Integers wrap.
template <class T, class Function>
T arithmetic(T a, T b, Function function) {
  if constexpr (kIsFloating<T>)
    return canonical(function(a, b));
  else
    return static_cast<T>(function(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

// ---- two operands ----------------------------------------------------------------------------------------------

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

template <BinaryOperation kOperation, class T>
T apply(T a, T b) {
  using enum BinaryOperation;
  if constexpr (kOperation == add)
    return arithmetic(a, b, [](auto x, auto y) { return x + y; });
  else if constexpr (kOperation == subtract)
    return arithmetic(a, b, [](auto x, auto y) { return x - y; });
  else if constexpr (kOperation == multiply)
    return arithmetic(a, b, [](auto x, auto y) { return x * y; });
  else if constexpr (kOperation == divide)
    return kIsFloating<T> ? canonical(static_cast<T>(a / b)) : T{};
  else if constexpr (kOperation == minimum)
    return minimum_of(a, b);
  else if constexpr (kOperation == maximum)
    return maximum_of(a, b);
  else if constexpr (kOperation == equal)
    return static_cast<T>(a == b);
  else if constexpr (kOperation == not_equal)
    return static_cast<T>(a != b);
  else if constexpr (kOperation == less)
    return static_cast<T>(a < b);
  else if constexpr (kOperation == less_equal)
    return static_cast<T>(a <= b);
  else if constexpr (kOperation == greater)
    return static_cast<T>(a > b);
  else if constexpr (kOperation == greater_equal)
    return static_cast<T>(a >= b);
  else if constexpr (kOperation == logical_and)
    return static_cast<T>((a != 0) & (b != 0));
  else
    return static_cast<T>((a != 0) | (b != 0));
}

template <BinaryOperation kOperation, class T>
void binary_loop(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count) {
  const auto* left = reinterpret_cast<const T*>(a);
  const auto* right = reinterpret_cast<const T*>(b);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = apply<kOperation, T>(left[i], right[i]);
}

template <class T>
BinaryKernel binary_kernel_of(BinaryOperation operation) {
  using enum BinaryOperation;
  switch (operation) {
    case add:
      return binary_loop<add, T>;
    case subtract:
      return binary_loop<subtract, T>;
    case multiply:
      return binary_loop<multiply, T>;
    case divide:
      // Integers are divided in f32 or f64 (see data/operations.h), never here.
      if constexpr (kIsFloating<T>)
        return binary_loop<divide, T>;
      else
        return nullptr;
    case minimum:
      return binary_loop<minimum, T>;
    case maximum:
      return binary_loop<maximum, T>;
    case equal:
      return binary_loop<equal, T>;
    case not_equal:
      return binary_loop<not_equal, T>;
    case less:
      return binary_loop<less, T>;
    case less_equal:
      return binary_loop<less_equal, T>;
    case greater:
      return binary_loop<greater, T>;
    case greater_equal:
      return binary_loop<greater_equal, T>;
    case logical_and:
      return binary_loop<logical_and, T>;
    case logical_or:
      break;
  }
  return binary_loop<logical_or, T>;
}

// ---- one operand -----------------------------------------------------------------------------------------------

template <UnaryOperation kOperation, class T>
T apply_floating(T x) {
  using enum UnaryOperation;
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  if constexpr (kOperation == exponential)
    return kIsFloat ? static_cast<T>(portable_exp(x)) : std::exp(x);
  else if constexpr (kOperation == logarithm)
    return kIsFloat ? static_cast<T>(portable_log(x)) : std::log(x);
  else if constexpr (kOperation == hyperbolic_tangent)
    return kIsFloat ? static_cast<T>(portable_tanh(x)) : std::tanh(x);
  else if constexpr (kOperation == square_root)
    return std::sqrt(x);
  else if constexpr (kOperation == reciprocal_square_root)
    return 1 / std::sqrt(x);
  else if constexpr (kOperation == floor)
    return std::floor(x);
  else
    return std::ceil(x);
}

template <UnaryOperation kOperation, class T>
T apply(T x) {
  using enum UnaryOperation;
  if constexpr (kOperation == logical_not)
    return static_cast<T>(x == 0);
  else if constexpr (kOperation == negate && kIsFloating<T>)
    return -x;
  else if constexpr (kOperation == absolute && kIsFloating<T>)
    return std::abs(x);
  else if constexpr (kOperation == negate)
    return static_cast<T>(0 - static_cast<std::uint64_t>(x));
  else if constexpr (kOperation == absolute)
    return x < 0 ? apply<negate, T>(x) : x;
  else if constexpr (kIsFloating<T>)
    return canonical(apply_floating<kOperation, T>(x));
  else
    return x;  // integers are their own floor and ceiling
}

template <UnaryOperation kOperation, class T>
void unary_loop(const std::byte* x, std::byte* out, std::int64_t count) {
  const auto* in = reinterpret_cast<const T*>(x);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = apply<kOperation, T>(in[i]);
}

template <class T>
UnaryKernel unary_kernel_of(UnaryOperation operation) {
  using enum UnaryOperation;
  switch (operation) {
    case negate:
      return unary_loop<negate, T>;
    case absolute:
      return unary_loop<absolute, T>;
    case exponential:
      return unary_loop<exponential, T>;
    case logarithm:
      return unary_loop<logarithm, T>;
    case hyperbolic_tangent:
      return unary_loop<hyperbolic_tangent, T>;
    case square_root:
      return unary_loop<square_root, T>;
    case reciprocal_square_root:
      return unary_loop<reciprocal_square_root, T>;
    case floor:
      return unary_loop<floor, T>;
    case ceil:
      return unary_loop<ceil, T>;
    case logical_not:
      break;
  }
  return unary_loop<logical_not, T>;
}

}  // namespace

DType computation_type(std::initializer_list<DType> types) {
  bool any_float = false, any_i64 = false, any_f64 = false;
  for (const DType type : types) {
    any_float = any_float || is_floating_point(type);
    any_i64 = any_i64 || type == DType::i64;
    any_f64 = any_f64 || type == DType::f64;
  }
  if (any_f64 || (any_float && any_i64)) return DType::f64;
  return any_float ? DType::f32 : DType::i64;
}

DType floating_computation_type(DType type) {
  return type == DType::i64 ? DType::f32 : type;
}

BinaryKernel binary_kernel(BinaryOperation operation, DType computation) {
  if (computation == DType::f32) return binary_kernel_of<float>(operation);
  if (computation == DType::f64) return binary_kernel_of<double>(operation);
  return binary_kernel_of<std::int64_t>(operation);
}

bool needs_floating_point(UnaryOperation operation) {
  return operation >= UnaryOperation::exponential && operation <= UnaryOperation::reciprocal_square_root;
}

UnaryKernel unary_kernel(UnaryOperation operation, DType computation) {
  if (computation == DType::f32) return unary_kernel_of<float>(operation);
  if (computation == DType::f64) return unary_kernel_of<double>(operation);
  return unary_kernel_of<std::int64_t>(operation);
}

}  // namespace kernbench::data
