// Functions that are made of several elementwise operations, written once for single numbers (host tensors) and for
// tiles (library kernels): every step rounds to the same type in both, so that the bits are the same.
//
// `Math` has a type Value with + - * / and comparisons, and: number(double), a constant; where(condition, a, b);
// at_least and at_most a number, which keep NaN; absolute; floor; fmod; exp; expm1; log; log1p; tanh; erf; sigmoid.
#pragma once

#include <cmath>

#include "numerics/portable_erf.h"
#include "numerics/portable_math.h"

namespace kernbench::numerics {

/// Numbers of a floating-point type; f32 by the portable functions, f64 by the C library's.
template <class T>
struct NumberMath {
  using Value = T;
  static T number(double value) { return static_cast<T>(value); }
  static T where(bool condition, T a, T b) { return condition ? a : b; }
  static T at_least(T x, T low) { return x < low ? low : x; }
  static T at_most(T x, T high) { return x > high ? high : x; }
  static T absolute(T x) { return std::abs(x); }
  static T floor(T x) { return std::floor(x); }
  static T fmod(T a, T b) { return std::fmod(a, b); }
  static T exp(T x) { return kPortable ? static_cast<T>(portable_exp(x)) : std::exp(x); }
  static T expm1(T x) { return kPortable ? static_cast<T>(portable_expm1(x)) : std::expm1(x); }
  static T log(T x) { return kPortable ? static_cast<T>(portable_log(x)) : std::log(x); }
  static T log1p(T x) { return kPortable ? static_cast<T>(portable_log1p(x)) : std::log1p(x); }
  static T tanh(T x) { return kPortable ? static_cast<T>(portable_tanh(x)) : std::tanh(x); }
  static T erf(T x) { return kPortable ? static_cast<T>(portable_erf(x)) : std::erf(x); }
  static T sigmoid(T x) { return kPortable ? static_cast<T>(portable_sigmoid(x)) : 1 / (1 + std::exp(-x)); }

 private:
  static constexpr bool kPortable = sizeof(T) == sizeof(float);
};

/// Where the remainder `r` of a C division by `b` has the other sign than b. Of any type.
template <class Value>
auto has_wrong_sign(const Value& r, const Value& b) {
  return (r != 0) & ((r < 0) != (b < 0));
}

/// As Python divides: the quotient that belongs to the remainder, which a / b rounded down may miss by one; a / b where
/// b is 0. A quotient of 0 has the sign of a / b.
template <class Math>
typename Math::Value floor_divide(const typename Math::Value& a, const typename Math::Value& b) {
  const auto one = Math::number(1);
  const auto left = Math::fmod(a, b);
  auto quotient = (a - left) / b;
  quotient = Math::where(has_wrong_sign(left, b), quotient - one, quotient);
  auto floored = Math::floor(quotient);
  floored = Math::where(quotient - floored > Math::number(0.5), floored + one, floored);
  const auto exact = a / b;
  floored = Math::where(quotient == Math::number(0), exact * Math::number(0), floored);
  return Math::where(b == Math::number(0), exact, floored);
}

/// a - b * floor_divide(a, b).
template <class Math>
typename Math::Value floored_remainder(const typename Math::Value& a, const typename Math::Value& b) {
  const auto left = Math::fmod(a, b);
  return Math::where(has_wrong_sign(left, b), left + b, left);
}

/// x / (1 + e^-x)
template <class Math>
typename Math::Value silu(const typename Math::Value& x) {
  return x * Math::sigmoid(x);
}

/// x (1 + erf(x / sqrt(2))) / 2
template <class Math>
typename Math::Value gelu(const typename Math::Value& x) {
  auto half = Math::erf(x * Math::number(0.70710678118654752440));
  half = half * Math::number(0.5) + Math::number(0.5);
  return half * x;
}

/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
template <class Math>
typename Math::Value gelu_tanh(const typename Math::Value& x) {
  auto inner = x * x;
  inner = inner * Math::number(0.044715) + Math::number(1);
  inner = Math::tanh(inner * x * Math::number(0.79788456080286535588));
  inner = inner * Math::number(0.5) + Math::number(0.5);
  return inner * x;
}

/// log(1 / (1 + e^-x)) as min(x, 0) - log(1 + e^-|x|), which neither overflows nor cancels.
template <class Math>
typename Math::Value log_sigmoid(const typename Math::Value& x) {
  const auto tail = Math::log1p(Math::exp(-Math::absolute(x)));
  return Math::at_most(x, Math::number(0)) - tail;
}

/// x tanh(log(1 + e^x))
template <class Math>
typename Math::Value mish(const typename Math::Value& x) {
  return x * Math::tanh(Math::log1p(Math::exp(x)));
}

/// x + 3 between 0 and 6.
template <class Math>
typename Math::Value six_steps(const typename Math::Value& x) {
  return Math::at_most(Math::at_least(x + Math::number(3), Math::number(0)), Math::number(6));
}
template <class Math>
typename Math::Value hardsigmoid(const typename Math::Value& x) {
  return six_steps<Math>(x) / Math::number(6);
}
template <class Math>
typename Math::Value hardswish(const typename Math::Value& x) {
  return x * six_steps<Math>(x) / Math::number(6);
}

/// scale x above 0, else scale alpha (e^x - 1), with the constants of Klambauer et al., arXiv:1706.02515.
template <class Math>
typename Math::Value selu(const typename Math::Value& x) {
  constexpr double kAlpha = 1.6732632423543772848, kScale = 1.0507009873554804934;
  const auto above = x * Math::number(kScale);
  return Math::where(x > 0, above, Math::expm1(x) * Math::number(kAlpha * kScale));
}

/// x log(y), and 0 where x is 0, but of a NaN that y is.
template <class Math>
typename Math::Value xlogy(const typename Math::Value& x, const typename Math::Value& y) {
  const auto product = x * Math::log(y);
  return Math::where((x == 0) & (y == y), x - x, product);
}

}  // namespace kernbench::numerics
