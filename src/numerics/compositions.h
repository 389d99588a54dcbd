// Functions that are made of several elementwise operations, written once for single numbers (host tensors) and for
// tiles (library kernels): every step rounds to the same type in both, so that the bits are the same.
//
// `Math` has a type Value with + - * / and comparisons, and: number(double), a constant; where(condition, a, b);
// at_least and at_most a number, which keep NaN; absolute; floor; fmod; exp; expm1; log; log1p; tanh; erf; sigmoid.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "numerics/operation.h"
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

/// Products of x, as libtorch has them; 1 / x where the exponent is -1. Of integers, too, where it is not.
template <class Math>
typename Math::Value small_power(const typename Math::Value& x, double exponent) {
  if (exponent == 2) return x * x;
  if (exponent == 3) return x * x * x;
  if (exponent == 1) return x * Math::number(1);
  return Math::number(1) / x;
}

/// x above 0, else x times the slope.
template <class Math>
typename Math::Value leaky_relu(const typename Math::Value& x, double slope) {
  return Math::where(x > 0, x, x * Math::number(slope));
}

/// log(1 + e^(beta x)) / beta, but x where beta x is above the threshold.
template <class Math>
typename Math::Value softplus(const typename Math::Value& x, double beta, double threshold) {
  if (beta == 1) return Math::where(x > Math::number(threshold), x, Math::log1p(Math::exp(x)));
  const auto scaled = x * Math::number(beta);
  const auto curve = Math::log1p(Math::exp(scaled)) / Math::number(beta);
  return Math::where(scaled > Math::number(threshold), x, curve);
}

/// above x above 0, else below (e^(inside x) - 1).
template <class Math>
typename Math::Value elu(const typename Math::Value& x, double below, double above, double inside) {
  const auto times = [](const auto& factor, double number) {
    return number == 1 ? factor : factor * Math::number(number);
  };
  const auto curve = times(Math::expm1(times(x, inside)), below);
  return Math::where(x > 0, times(x, above), curve);
}

template <class Math>
typename Math::Value nan_to_num(const typename Math::Value& x, double nan, double infinity, double low) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  auto result = Math::where(x == x, x, Math::number(nan));
  result = Math::where(x == Math::number(kInfinity), Math::number(infinity), result);
  return Math::where(x == Math::number(-kInfinity), Math::number(low), result);
}

/// a + weight (b - a) from the nearer end, so that it is exact at both.
template <class Math>
typename Math::Value lerp(const typename Math::Value& a, const typename Math::Value& b, double weight) {
  if (std::abs(weight) < 0.5) return (b - a) * Math::number(weight) + a;
  return (b - a) * Math::number(weight - 1) + b;
}
template <class Math>
typename Math::Value lerp_each(const typename Math::Value& a, const typename Math::Value& b,
                               const typename Math::Value& weight) {
  const auto way = b - a;
  const auto near = Math::absolute(weight) < Math::number(0.5);
  const auto share = Math::where(near, weight, weight - Math::number(1));
  return way * share + Math::where(near, a, b);
}

template <class Math>
typename Math::Value addcmul(const typename Math::Value& x, const typename Math::Value& a,
                             const typename Math::Value& b, double value) {
  return a * Math::number(value) * b + x;
}
template <class Math>
typename Math::Value addcdiv(const typename Math::Value& x, const typename Math::Value& a,
                             const typename Math::Value& b, double value) {
  const auto quotient = a / b;
  return value == 1 ? quotient + x : quotient * Math::number(value) + x;
}

/// Whether a and b are equal, or differ by no more than absolute + relative |b|, which is finite.
template <class Math>
auto isclose(const typename Math::Value& a, const typename Math::Value& b, double relative, double absolute,
             bool nan_is_close) {
  const auto error = Math::absolute(a - b),
             allowed = Math::absolute(b) * Math::number(relative) + Math::number(absolute);
  const auto close = (a == b) | ((error <= allowed) & (error < Math::number(std::numeric_limits<double>::infinity())));
  return nan_is_close ? close | ((a != a) & (b != b)) : close;
}

/// g where x is above the threshold, or NaN, else 0. The product makes every NaN the same one.
template <class Math>
typename Math::Value threshold_backward(const typename Math::Value& g, const typename Math::Value& x,
                                        double threshold) {
  return Math::where(x <= Math::number(threshold), Math::number(0), g) * Math::number(1);
}
template <class Math>
typename Math::Value leaky_relu_backward(const typename Math::Value& g, const typename Math::Value& x, double slope) {
  return g * Math::where(x > 0, Math::number(1), Math::number(slope));
}
template <class Math>
typename Math::Value sigmoid_backward(const typename Math::Value& g, const typename Math::Value& y) {
  return g * (Math::number(1) - y) * y;
}
template <class Math>
typename Math::Value tanh_backward(const typename Math::Value& g, const typename Math::Value& y) {
  return g * (Math::number(1) - y * y);
}
/// With s = sigmoid(x): g s (1 + x (1 - s)).
template <class Math>
typename Math::Value silu_backward(const typename Math::Value& g, const typename Math::Value& x) {
  const auto share = Math::sigmoid(x);
  return g * share * ((Math::number(1) - share) * x + Math::number(1));
}
/// g (P(x) + x p(x)), where P is the normal distribution and p its density.
template <class Math>
typename Math::Value gelu_backward(const typename Math::Value& g, const typename Math::Value& x) {
  auto slope = Math::exp(x * x * Math::number(-0.5)) * x * Math::number(0.39894228040143267794);
  slope = Math::erf(x * Math::number(0.70710678118654752440)) * Math::number(0.5) + Math::number(0.5) + slope;
  return g * slope;
}
/// With t = tanh(u), u = sqrt(2 / pi) (x + 0.044715 x^3): g ((1 + t) / 2 + x / 2 (1 - t^2) u').
template <class Math>
typename Math::Value gelu_tanh_backward(const typename Math::Value& g, const typename Math::Value& x) {
  const auto square = x * x;
  const auto tanh =
      Math::tanh((square * Math::number(0.044715) + Math::number(1)) * x * Math::number(0.79788456080286535588));
  // First what is 0 for large numbers, of which the rest would overflow.
  auto slope = (Math::number(1) - tanh * tanh) * x * (square * Math::number(0.134145) + Math::number(1));
  slope = slope * Math::number(0.39894228040143267794) + (tanh * Math::number(0.5) + Math::number(0.5));
  return g * slope;
}
template <class Math>
typename Math::Value mse_backward(const typename Math::Value& g, const typename Math::Value& x,
                                  const typename Math::Value& target, double factor) {
  return (x - target) * Math::number(factor) * g;
}
/// The difference, between -bound and bound.
template <class Math>
typename Math::Value huber_backward(const typename Math::Value& g, const typename Math::Value& x,
                                    const typename Math::Value& target, double bound, double factor) {
  const auto capped = Math::at_most(Math::at_least(x - target, Math::number(-bound)), Math::number(bound));
  return capped * Math::number(factor) * g;
}
/// Of probabilities x: (x - target) / (x (1 - x)), where PyTorch's divisor is 1e-12 at least.
template <class Math>
typename Math::Value bce_backward(const typename Math::Value& g, const typename Math::Value& x,
                                  const typename Math::Value& target, double factor) {
  const auto divisor = Math::at_least((Math::number(1) - x) * x, Math::number(1e-12));
  return (x - target) / divisor * Math::number(factor) * g;
}
template <class Math>
typename Math::Value softmax_backward(const typename Math::Value& g, const typename Math::Value& y,
                                      const typename Math::Value& sum) {
  return (g - sum) * y;
}
template <class Math>
typename Math::Value log_softmax_backward(const typename Math::Value& g, const typename Math::Value& y,
                                          const typename Math::Value& sum) {
  return g - Math::exp(y) * sum;
}

/// How many operands a composition has.
constexpr std::size_t operand_count(Composition kind) {
  switch (kind) {
    case Composition::lerp:
    case Composition::isclose:
    case Composition::threshold_backward:
    case Composition::leaky_relu_backward:
    case Composition::sigmoid_backward:
    case Composition::tanh_backward:
    case Composition::silu_backward:
    case Composition::gelu_backward:
    case Composition::gelu_tanh_backward:
      return 2;
    case Composition::lerp_each:
    case Composition::addcmul:
    case Composition::addcdiv:
    case Composition::mse_backward:
    case Composition::huber_backward:
    case Composition::bce_backward:
    case Composition::softmax_backward:
    case Composition::log_softmax_backward:
      return 3;
    default:
      return 1;
  }
}

/// The value of a composition; its operands begin at `x`. A question yields 1 or 0 (a boolean tile).
template <class Math, Composition kKind>
typename Math::Value composed(const std::array<double, 3>& numbers, const typename Math::Value* x) {
  if constexpr (kKind == Composition::power)
    return small_power<Math>(x[0], numbers[0]);
  else if constexpr (kKind == Composition::leaky_relu)
    return leaky_relu<Math>(x[0], numbers[0]);
  else if constexpr (kKind == Composition::softplus)
    return softplus<Math>(x[0], numbers[0], numbers[1]);
  else if constexpr (kKind == Composition::elu)
    return elu<Math>(x[0], numbers[0], numbers[1], numbers[2]);
  else if constexpr (kKind == Composition::nan_to_num)
    return nan_to_num<Math>(x[0], numbers[0], numbers[1], numbers[2]);
  else if constexpr (kKind == Composition::lerp)
    return lerp<Math>(x[0], x[1], numbers[0]);
  else if constexpr (kKind == Composition::lerp_each)
    return lerp_each<Math>(x[0], x[1], x[2]);
  else if constexpr (kKind == Composition::addcmul)
    return addcmul<Math>(x[0], x[1], x[2], numbers[0]);
  else if constexpr (kKind == Composition::addcdiv)
    return addcdiv<Math>(x[0], x[1], x[2], numbers[0]);
  else if constexpr (kKind == Composition::threshold_backward)
    return threshold_backward<Math>(x[0], x[1], numbers[0]);
  else if constexpr (kKind == Composition::leaky_relu_backward)
    return leaky_relu_backward<Math>(x[0], x[1], numbers[0]);
  else if constexpr (kKind == Composition::sigmoid_backward)
    return sigmoid_backward<Math>(x[0], x[1]);
  else if constexpr (kKind == Composition::tanh_backward)
    return tanh_backward<Math>(x[0], x[1]);
  else if constexpr (kKind == Composition::silu_backward)
    return silu_backward<Math>(x[0], x[1]);
  else if constexpr (kKind == Composition::gelu_backward)
    return gelu_backward<Math>(x[0], x[1]);
  else if constexpr (kKind == Composition::gelu_tanh_backward)
    return gelu_tanh_backward<Math>(x[0], x[1]);
  else if constexpr (kKind == Composition::mse_backward)
    return mse_backward<Math>(x[0], x[1], x[2], numbers[0]);
  else if constexpr (kKind == Composition::huber_backward)
    return huber_backward<Math>(x[0], x[1], x[2], numbers[0], numbers[1]);
  else if constexpr (kKind == Composition::bce_backward)
    return bce_backward<Math>(x[0], x[1], x[2], numbers[0]);
  else if constexpr (kKind == Composition::softmax_backward)
    return softmax_backward<Math>(x[0], x[1], x[2]);
  else if constexpr (kKind == Composition::log_softmax_backward)
    return log_softmax_backward<Math>(x[0], x[1], x[2]);
  else
    return static_cast<typename Math::Value>(isclose<Math>(x[0], x[1], numbers[0], numbers[1], numbers[2] != 0));
}

/// visit(std::integral_constant<Composition, kind>), so that what is made for a kind is chosen once.
template <class Visit>
decltype(auto) visit_composition(Composition kind, Visit&& visit) {
  const auto with = [&]<Composition kKind>() { return visit(std::integral_constant<Composition, kKind>()); };
  switch (kind) {
    case Composition::power:
      return with.template operator()<Composition::power>();
    case Composition::leaky_relu:
      return with.template operator()<Composition::leaky_relu>();
    case Composition::softplus:
      return with.template operator()<Composition::softplus>();
    case Composition::elu:
      return with.template operator()<Composition::elu>();
    case Composition::nan_to_num:
      return with.template operator()<Composition::nan_to_num>();
    case Composition::lerp:
      return with.template operator()<Composition::lerp>();
    case Composition::lerp_each:
      return with.template operator()<Composition::lerp_each>();
    case Composition::addcmul:
      return with.template operator()<Composition::addcmul>();
    case Composition::addcdiv:
      return with.template operator()<Composition::addcdiv>();
    case Composition::threshold_backward:
      return with.template operator()<Composition::threshold_backward>();
    case Composition::leaky_relu_backward:
      return with.template operator()<Composition::leaky_relu_backward>();
    case Composition::sigmoid_backward:
      return with.template operator()<Composition::sigmoid_backward>();
    case Composition::tanh_backward:
      return with.template operator()<Composition::tanh_backward>();
    case Composition::silu_backward:
      return with.template operator()<Composition::silu_backward>();
    case Composition::gelu_backward:
      return with.template operator()<Composition::gelu_backward>();
    case Composition::gelu_tanh_backward:
      return with.template operator()<Composition::gelu_tanh_backward>();
    case Composition::mse_backward:
      return with.template operator()<Composition::mse_backward>();
    case Composition::huber_backward:
      return with.template operator()<Composition::huber_backward>();
    case Composition::bce_backward:
      return with.template operator()<Composition::bce_backward>();
    case Composition::softmax_backward:
      return with.template operator()<Composition::softmax_backward>();
    case Composition::log_softmax_backward:
      return with.template operator()<Composition::log_softmax_backward>();
    case Composition::isclose:
      break;
  }
  return with.template operator()<Composition::isclose>();
}

}  // namespace kernbench::numerics
