#include "numerics/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "numerics/portable_erf.h"
#include "numerics/portable_math.h"
#include "numerics/portable_trigonometry.h"

namespace kernbench::numerics {

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

template <class T>
bool is_nan(T value) {
  return value != value;
}

/// Of integers, with wrapping products; a negative exponent leaves 1 and -1 only.
std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::uint64_t result = 1;
  for (auto factor = static_cast<std::uint64_t>(base); exponent > 0; exponent /= 2, factor *= factor) {
    if (exponent % 2 != 0) result *= factor;
  }
  return static_cast<std::int64_t>(result);
}

template <class T>
T power_of(T base, T exponent) {
  if constexpr (std::is_same_v<T, float>)
    return canonical(static_cast<float>(portable_power(static_cast<double>(base), static_cast<double>(exponent))));
  else if constexpr (kIsFloating<T>)
    return canonical(std::pow(base, exponent));
  else
    return integer_power(base, exponent);
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
  else if constexpr (kOperation == integer_divide)
    return canonical(std::trunc(a / b));
  else if constexpr (kOperation == remainder)
    return canonical(std::fmod(a, b));  // exact, so that every C library gives the same bits
  else if constexpr (kOperation == power)
    return power_of(a, b);
  else if constexpr (kOperation == minimum)
    return minimum_of(a, b);
  else if constexpr (kOperation == maximum)
    return maximum_of(a, b);
  else if constexpr (kOperation == minimum_nan)
    return is_nan(a) || is_nan(b) ? canonical(static_cast<T>(a + b)) : minimum_of(a, b);
  else if constexpr (kOperation == maximum_nan)
    return is_nan(a) || is_nan(b) ? canonical(static_cast<T>(a + b)) : maximum_of(a, b);
  else if constexpr (kOperation == bit_and)
    return a & b;
  else if constexpr (kOperation == bit_or)
    return a | b;
  else if constexpr (kOperation == bit_xor)
    return a ^ b;
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

/// The kernel of one of `kOperations`; null for another operation.
template <class T, BinaryOperation... kOperations>
BinaryKernel pick(BinaryOperation operation) {
  BinaryKernel kernel = nullptr;
  ((operation == kOperations ? void(kernel = binary_loop<kOperations, T>) : void()), ...);
  return kernel;
}

template <class T>
BinaryKernel binary_kernel_of(BinaryOperation operation) {
  using enum BinaryOperation;
  if (const auto kernel =
          pick<T, add, subtract, multiply, power, minimum, maximum, minimum_nan, maximum_nan, equal, not_equal, less,
               less_equal, greater, greater_equal, logical_and, logical_or>(operation)) {
    return kernel;
  }
  // Integers are divided in f32 or f64 (see numerics/operations.h), or checked; floats have no bits.
  if constexpr (kIsFloating<T>)
    return pick<T, divide, integer_divide, remainder>(operation);
  else
    return pick<T, bit_and, bit_or, bit_xor>(operation);
}

// ---- two operands that may have no result ----------------------------------------------------------------------

/// REQUIRES: b != 0. The lowest value divided by -1 wraps.
template <BinaryOperation kOperation>
std::int64_t divide_integers(std::int64_t a, std::int64_t b) {
  if (b == -1)
    return kOperation == BinaryOperation::remainder ? 0 : static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
  return kOperation == BinaryOperation::remainder ? a % b : a / b;
}

template <BinaryOperation kOperation>
bool checked_loop(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count, std::int64_t bits,
                  std::uint8_t* good) {
  using enum BinaryOperation;
  const auto* left = reinterpret_cast<const std::int64_t*>(a);
  const auto* right = reinterpret_cast<const std::int64_t*>(b);
  auto* result = reinterpret_cast<std::int64_t*>(out);
  bool all_good = true;
  for (std::int64_t i = 0; i < count; ++i) {
    constexpr bool kShifts = kOperation == shift_left || kOperation == shift_right;
    const bool fine = kShifts ? right[i] >= 0 && right[i] < bits : right[i] != 0;
    good[i] = static_cast<std::uint8_t>(fine);
    all_good = all_good && fine;
    if (!fine)
      result[i] = 0;
    else if constexpr (kOperation == shift_left)
      result[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(left[i]) << right[i]);
    else if constexpr (kOperation == shift_right)
      result[i] = left[i] >> right[i];
    else
      result[i] = divide_integers<kOperation>(left[i], right[i]);
  }
  return all_good;
}

// ---- one operand -----------------------------------------------------------------------------------------------

/// f32 by the portable functions, f64 by the C library's.
template <UnaryOperation kOperation, class T>
T apply_floating(T x) {
  using enum UnaryOperation;
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  [[maybe_unused]] const auto wide = static_cast<double>(x);
  if constexpr (kOperation == exponential)
    return static_cast<T>(kIsFloat ? portable_exp(wide) : std::exp(wide));
  else if constexpr (kOperation == exponential2)
    return static_cast<T>(kIsFloat ? portable_exp2(wide) : std::exp2(wide));
  else if constexpr (kOperation == expm1)
    return static_cast<T>(kIsFloat ? portable_expm1(wide) : std::expm1(wide));
  else if constexpr (kOperation == logarithm)
    return static_cast<T>(kIsFloat ? portable_log(wide) : std::log(wide));
  else if constexpr (kOperation == logarithm2)
    return static_cast<T>(kIsFloat ? portable_log2(wide) : std::log2(wide));
  else if constexpr (kOperation == log1p)
    return static_cast<T>(kIsFloat ? portable_log1p(wide) : std::log1p(wide));
  else if constexpr (kOperation == sine)
    return static_cast<T>(kIsFloat ? portable_sine(wide) : std::sin(wide));
  else if constexpr (kOperation == cosine)
    return static_cast<T>(kIsFloat ? portable_cosine(wide) : std::cos(wide));
  else if constexpr (kOperation == hyperbolic_tangent)
    return static_cast<T>(kIsFloat ? portable_tanh(wide) : std::tanh(wide));
  else if constexpr (kOperation == error_function)
    return static_cast<T>(kIsFloat ? portable_erf(wide) : std::erf(wide));
  else if constexpr (kOperation == sigmoid)
    return static_cast<T>(kIsFloat ? portable_sigmoid(wide) : 1 / (1 + std::exp(-wide)));
  else if constexpr (kOperation == square_root)
    return std::sqrt(x);
  else if constexpr (kOperation == reciprocal_square_root)
    return 1 / std::sqrt(x);
  else if constexpr (kOperation == reciprocal)
    return 1 / x;
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
  else if constexpr (kOperation == sign)
    return static_cast<T>((x > 0) - (x < 0));
  else if constexpr (kOperation == negate && kIsFloating<T>)
    return -x;
  else if constexpr (kOperation == absolute && kIsFloating<T>)
    return std::abs(x);
  else if constexpr (kOperation == negate)
    return static_cast<T>(0 - static_cast<std::uint64_t>(x));
  else if constexpr (kOperation == absolute)
    return x < 0 ? apply<negate, T>(x) : x;
  else if constexpr (kOperation == bit_not)
    return ~x;
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

template <class T, UnaryOperation... kOperations>
UnaryKernel pick(UnaryOperation operation) {
  UnaryKernel kernel = nullptr;
  ((operation == kOperations ? void(kernel = unary_loop<kOperations, T>) : void()), ...);
  return kernel;
}

template <class T>
UnaryKernel unary_kernel_of(UnaryOperation operation) {
  using enum UnaryOperation;
  if (const auto kernel = pick<T, negate, absolute, sign, floor, ceil, logical_not>(operation)) return kernel;
  if constexpr (kIsFloating<T>)
    return pick<T, exponential, exponential2, expm1, logarithm, logarithm2, log1p, sine, cosine, hyperbolic_tangent,
                error_function, sigmoid, square_root, reciprocal_square_root, reciprocal>(operation);
  else
    return pick<T, bit_not>(operation);
}

}  // namespace

DType computation_type(std::initializer_list<DType> types) {
  bool any_float = false;
  for (const DType type : types) {
    if (type == DType::f64) return DType::f64;
    any_float = any_float || is_floating_point(type);
  }
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

bool is_checked(BinaryOperation operation, DType computation) {
  using enum BinaryOperation;
  const bool can_fail =
      operation == integer_divide || operation == remainder || operation == shift_left || operation == shift_right;
  return can_fail && computation == DType::i64;
}

CheckedKernel checked_kernel(BinaryOperation operation) {
  using enum BinaryOperation;
  switch (operation) {
    case integer_divide:
      return checked_loop<integer_divide>;
    case remainder:
      return checked_loop<remainder>;
    case shift_left:
      return checked_loop<shift_left>;
    default:
      return checked_loop<shift_right>;
  }
}

bool needs_floating_point(UnaryOperation operation) {
  return operation >= UnaryOperation::exponential && operation <= UnaryOperation::reciprocal;
}

UnaryKernel unary_kernel(UnaryOperation operation, DType computation) {
  if (computation == DType::f32) return unary_kernel_of<float>(operation);
  if (computation == DType::f64) return unary_kernel_of<double>(operation);
  return unary_kernel_of<std::int64_t>(operation);
}

}  // namespace kernbench::numerics
