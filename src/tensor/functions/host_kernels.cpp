#include "tensor/functions/host_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kernbench/error.h"
#include "numerics/portable_math.h"

namespace kernbench::tensor {

namespace {

template <class T>
constexpr bool kFloats = std::is_floating_point_v<T>;

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

template <class T, class Function>
HostLoop loop_of(Function function) {
  if constexpr (std::is_invocable_v<Function, T, T>) {
    return [function](std::span<const std::byte* const> in, std::byte* out, std::int64_t count) {
      const auto *a = reinterpret_cast<const T*>(in[0]), *b = reinterpret_cast<const T*>(in[1]);
      auto* result = reinterpret_cast<T*>(out);
      for (std::int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(function(a[i], b[i]));
    };
  } else {
    return [function](std::span<const std::byte* const> in, std::byte* out, std::int64_t count) {
      const auto* x = reinterpret_cast<const T*>(in[0]);
      auto* result = reinterpret_cast<T*>(out);
      for (std::int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(function(x[i]));
    };
  }
}

/// Integers wrap.
template <class T>
auto wrapping(T value) {
  if constexpr (kFloats<T>)
    return value;
  else
    return static_cast<std::uint64_t>(value);
}

// ---- division ----------------------------------------------------------------------------------------------------

void check_divisor(std::int64_t divisor) {
  if (divisor == 0)
    throw ValueError(
        "ZeroDivisionError: an integer tensor is divided by zero; divide floating-point tensors (.to(torch::kFloat)), "
        "or mask the zeros");
}

template <class T>
T truncated_quotient(T a, T b) {
  if constexpr (kFloats<T>) {
    return std::trunc(a / b);
  } else {
    check_divisor(b);
    return b == -1 ? static_cast<T>(0 - wrapping(a)) : a / b;
  }
}

template <class T>
T truncated_remainder(T a, T b) {
  if constexpr (kFloats<T>) {
    return std::fmod(a, b);
  } else {
    check_divisor(b);
    return b == -1 ? T{0} : a % b;
  }
}

template <class T>
T floored_remainder(T a, T b) {
  const T rest = truncated_remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Floats as Python divides them: the quotient that belongs to the remainder, which a / b rounded down may miss by one.
template <class T>
T floored_quotient(T a, T b) {
  if constexpr (kFloats<T>) {
    if (b == 0) return a / b;
    const T rest = std::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T{0}, a / b);
    const T whole = std::floor(quotient);
    return quotient - whole > T(0.5) ? whole + 1 : whole;
  } else {
    const T quotient = truncated_quotient(a, b);
    return truncated_remainder(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  }
}

// ---- powers, extremes ------------------------------------------------------------------------------------------

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::uint64_t result = 1;
  for (auto factor = static_cast<std::uint64_t>(base); exponent > 0; exponent /= 2, factor *= factor)
    if (exponent % 2 != 0) result *= factor;
  return static_cast<std::int64_t>(result);
}

template <class T>
T power(T base, T exponent) {
  if constexpr (!kFloats<T>)
    return integer_power(base, exponent);
  else if (exponent == 2)
    return base * base;
  else
    return static_cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
}

template <class T>
T larger(T a, T b) {
  if constexpr (kFloats<T>)
    if (a != a || b != b) return kNan<T>;
  return std::max(a, b);
}
template <class T>
T smaller(T a, T b) {
  if constexpr (kFloats<T>)
    if (a != a || b != b) return kNan<T>;
  return std::min(a, b);
}

/// A shift by a count that the type does not have gives what is left when every bit has gone.
std::int64_t shifted_left(std::int64_t value, std::int64_t count) {
  return count < 0 || count > 63 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << count);
}
std::int64_t shifted_right(std::int64_t value, std::int64_t count) {
  return value >> (count < 0 || count > 63 ? 63 : count);
}

template <class T>
HostLoop binary_loop(BinaryOperation operation) {
  using enum BinaryOperation;
  switch (operation) {
    case add:
      return loop_of<T>([](T a, T b) { return wrapping(a) + wrapping(b); });
    case subtract:
      return loop_of<T>([](T a, T b) { return wrapping(a) - wrapping(b); });
    case multiply:
      return loop_of<T>([](T a, T b) { return wrapping(a) * wrapping(b); });
    case divide:
      if constexpr (kFloats<T>) return loop_of<T>([](T a, T b) { return a / b; });
      break;
    case floor_divide:
      return loop_of<T>(floored_quotient<T>);
    case truncate_divide:
      return loop_of<T>(truncated_quotient<T>);
    case remainder:
      return loop_of<T>(floored_remainder<T>);
    case fmod:
      return loop_of<T>(truncated_remainder<T>);
    case BinaryOperation::power:
      return loop_of<T>(tensor::power<T>);
    case maximum:
      return loop_of<T>(larger<T>);
    case minimum:
      return loop_of<T>(smaller<T>);
    case equal:
      return loop_of<T>([](T a, T b) { return a == b; });
    case not_equal:
      return loop_of<T>([](T a, T b) { return a != b; });
    case less:
      return loop_of<T>([](T a, T b) { return a < b; });
    case less_equal:
      return loop_of<T>([](T a, T b) { return a <= b; });
    case greater:
      return loop_of<T>([](T a, T b) { return a > b; });
    case greater_equal:
      return loop_of<T>([](T a, T b) { return a >= b; });
    case logical_and:
      return loop_of<T>([](T a, T b) { return a != 0 && b != 0; });
    case logical_or:
      return loop_of<T>([](T a, T b) { return a != 0 || b != 0; });
    case logical_xor:
      return loop_of<T>([](T a, T b) { return (a != 0) != (b != 0); });
    case bitwise_and:
      if constexpr (!kFloats<T>) return loop_of<T>([](T a, T b) { return a & b; });
      break;
    case bitwise_or:
      if constexpr (!kFloats<T>) return loop_of<T>([](T a, T b) { return a | b; });
      break;
    case bitwise_xor:
      if constexpr (!kFloats<T>) return loop_of<T>([](T a, T b) { return a ^ b; });
      break;
    case shift_left:
      if constexpr (!kFloats<T>) return loop_of<T>(shifted_left);
      break;
    case shift_right:
      if constexpr (!kFloats<T>) return loop_of<T>(shifted_right);
      break;
  }
  throw ValueError(std::string(name(operation)) + " is not defined for this kind of elements");
}

// ---- one operand ---------------------------------------------------------------------------------------------------

/// f32 is computed in double and rounded once; exp, log and tanh by the project's own series, the same on all machines.
template <class T, class InDouble>
T through_double(T x, InDouble function) {
  return static_cast<T>(function(static_cast<double>(x)));
}

template <class T>
T exponential_of(T x) {
  return std::is_same_v<T, float> ? static_cast<T>(numerics::portable_exp(x)) : static_cast<T>(std::exp(x));
}
template <class T>
T logarithm_of(T x) {
  return std::is_same_v<T, float> ? static_cast<T>(numerics::portable_log(x)) : static_cast<T>(std::log(x));
}
template <class T>
T tanh_of(T x) {
  return std::is_same_v<T, float> ? static_cast<T>(numerics::portable_tanh(x)) : static_cast<T>(std::tanh(x));
}

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}
double gelu_of(double x) {
  return 0.5 * x * (1 + std::erf(x * (std::numbers::sqrt2 / 2)));
}
double gelu_tanh_of(double x) {
  constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
  return 0.5 * x * (1 + std::tanh(kScale * (x + 0.044715 * x * x * x)));
}

template <class T>
HostLoop floating_loop(UnaryOperation operation) {
  using enum UnaryOperation;
  switch (operation) {
    case square_root:
      return loop_of<T>([](T x) { return std::sqrt(x); });
    case reciprocal_square_root:
      return loop_of<T>([](T x) { return 1 / std::sqrt(x); });
    case reciprocal:
      return loop_of<T>([](T x) { return 1 / x; });
    case exponential:
      return loop_of<T>(exponential_of<T>);
    case exponential_2:
      return loop_of<T>([](T x) { return through_double(x, [](double v) { return std::exp2(v); }); });
    case exponential_minus_1:
      return loop_of<T>([](T x) { return through_double(x, [](double v) { return std::expm1(v); }); });
    case logarithm:
      return loop_of<T>(logarithm_of<T>);
    case logarithm_2:
      return loop_of<T>([](T x) { return through_double(x, [](double v) { return std::log2(v); }); });
    case logarithm_10:
      return loop_of<T>([](T x) { return through_double(x, [](double v) { return std::log10(v); }); });
    case logarithm_1_plus:
      return loop_of<T>([](T x) { return through_double(x, [](double v) { return std::log1p(v); }); });
    case sine:
      return loop_of<T>([](T x) { return through_double(x, [](double v) { return std::sin(v); }); });
    case cosine:
      return loop_of<T>([](T x) { return through_double(x, [](double v) { return std::cos(v); }); });
    case hyperbolic_tangent:
      return loop_of<T>(tanh_of<T>);
    case error_function:
      return loop_of<T>([](T x) { return through_double(x, [](double v) { return std::erf(v); }); });
    case sigmoid:
      return loop_of<T>([](T x) { return through_double(x, sigmoid_of); });
    case silu:
      return loop_of<T>([](T x) { return through_double(x, [](double v) { return v * sigmoid_of(v); }); });
    case gelu:
      return loop_of<T>([](T x) { return through_double(x, gelu_of); });
    case gelu_tanh:
      return loop_of<T>([](T x) { return through_double(x, gelu_tanh_of); });
    case UnaryOperation::floor:
      return loop_of<T>([](T x) { return std::floor(x); });
    case UnaryOperation::ceil:
      return loop_of<T>([](T x) { return std::ceil(x); });
    case UnaryOperation::round:
      return loop_of<T>([](T x) { return std::nearbyint(x); });
    case truncate:
      return loop_of<T>([](T x) { return std::trunc(x); });
    case is_nan:
      return loop_of<T>([](T x) { return x != x; });
    case is_infinite:
      return loop_of<T>([](T x) { return std::isinf(x); });
    case is_finite:
      return loop_of<T>([](T x) { return std::isfinite(x); });
    default:
      throw ValueError(std::string(name(operation)) + " is not defined for floating-point elements");
  }
}

HostLoop integer_loop(UnaryOperation operation) {
  using enum UnaryOperation;
  using T = std::int64_t;
  switch (operation) {
    case UnaryOperation::floor:
    case UnaryOperation::ceil:
    case UnaryOperation::round:
    case truncate:
      return loop_of<T>([](T x) { return x; });
    case is_nan:
    case is_infinite:
      return loop_of<T>([](T) { return 0; });
    case is_finite:
      return loop_of<T>([](T) { return 1; });
    case bitwise_not:
      return loop_of<T>([](T x) { return ~x; });
    default:
      throw ValueError(std::string(name(operation)) + " is not defined for integer elements");
  }
}

template <class T>
HostLoop unary_loop(UnaryOperation operation) {
  using enum UnaryOperation;
  switch (operation) {
    case negate:
      if constexpr (kFloats<T>) return loop_of<T>([](T x) { return -x; });
      return loop_of<T>([](T x) { return 0 - wrapping(x); });
    case absolute:
      if constexpr (kFloats<T>) return loop_of<T>([](T x) { return std::abs(x); });
      return loop_of<T>([](T x) { return x < 0 ? 0 - wrapping(x) : wrapping(x); });
    case sign:
      return loop_of<T>([](T x) { return (x > 0) - (x < 0); });
    case logical_not:
      return loop_of<T>([](T x) { return x == 0; });
    case relu:
      return loop_of<T>([](T x) { return x < 0 ? T{0} : x; });
    default:
      break;
  }
  if constexpr (kFloats<T>)
    return floating_loop<T>(operation);
  else
    return integer_loop(operation);
}

// ---- three operands ------------------------------------------------------------------------------------------------

template <class T>
void multiply_add_chunk(std::span<const std::byte* const> in, std::byte* out, std::int64_t count) {
  const auto *a = reinterpret_cast<const T*>(in[0]), *b = reinterpret_cast<const T*>(in[1]),
             *c = reinterpret_cast<const T*>(in[2]);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(wrapping(a[i]) * wrapping(b[i]) + wrapping(c[i]));
}

template <class T>
T clamped(T x, const T* low, const T* high) {
  if constexpr (kFloats<T>)
    if (x != x) return x;
  if (low != nullptr) x = larger(x, *low);
  if (high != nullptr) x = smaller(x, *high);
  return x;
}

template <class T>
HostLoop clamp_loop_of(bool low, bool high) {
  return [low, high](std::span<const std::byte* const> in, std::byte* out, std::int64_t count) {
    const auto* x = reinterpret_cast<const T*>(in[0]);
    const T* lows = low ? reinterpret_cast<const T*>(in[1]) : nullptr;
    const T* highs = high ? reinterpret_cast<const T*>(in[low ? 2 : 1]) : nullptr;
    auto* result = reinterpret_cast<T*>(out);
    for (std::int64_t i = 0; i < count; ++i)
      result[i] = clamped(x[i], low ? lows + i : nullptr, high ? highs + i : nullptr);
  };
}

template <class T>
void where_chunk(std::span<const std::byte* const> in, std::byte* out, std::int64_t count) {
  const auto* condition = reinterpret_cast<const std::int64_t*>(in[0]);
  const auto *a = reinterpret_cast<const T*>(in[1]), *b = reinterpret_cast<const T*>(in[2]);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = condition[i] != 0 ? a[i] : b[i];
}

}  // namespace

HostLoop host_loop(BinaryOperation operation, DType arithmetic) {
  if (arithmetic == DType::f32) return binary_loop<float>(operation);
  if (arithmetic == DType::f64) return binary_loop<double>(operation);
  return binary_loop<std::int64_t>(operation);
}

HostLoop host_loop(UnaryOperation operation, DType arithmetic) {
  if (arithmetic == DType::f32) return unary_loop<float>(operation);
  if (arithmetic == DType::f64) return unary_loop<double>(operation);
  return unary_loop<std::int64_t>(operation);
}

HostLoop multiply_add_loop(DType arithmetic) {
  if (arithmetic == DType::f32) return multiply_add_chunk<float>;
  if (arithmetic == DType::f64) return multiply_add_chunk<double>;
  return multiply_add_chunk<std::int64_t>;
}

HostLoop clamp_loop(bool low, bool high, DType arithmetic) {
  if (arithmetic == DType::f32) return clamp_loop_of<float>(low, high);
  if (arithmetic == DType::f64) return clamp_loop_of<double>(low, high);
  return clamp_loop_of<std::int64_t>(low, high);
}

HostLoop where_loop(DType arithmetic) {
  if (arithmetic == DType::f32) return where_chunk<float>;
  if (arithmetic == DType::f64) return where_chunk<double>;
  return where_chunk<std::int64_t>;
}

}  // namespace kernbench::tensor
