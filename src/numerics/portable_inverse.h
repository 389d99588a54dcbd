// Inverse trigonometric and hyperbolic functions in double, of correctly rounded operations only: the same bits on
// every machine. They are exact to some units of 1e-16, far more than f32 needs.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "numerics/portable_math.h"
#include "numerics/portable_trigonometry.h"

namespace kernbench::numerics {

namespace portable {

/// The arctangent's series, x - x^3 / 3 + x^5 / 5 - …, for |x| <= tan(pi / 8): what it leaves out is below 1e-17 of x.
inline double arctangent_series(double x) {
  constexpr int kTerms = 21;
  const double square = x * x;
  double sum = 0;
  for (int k = kTerms - 1; k >= 0; --k) sum = 1.0 / (2 * k + 1) - square * sum;
  return x * sum;
}

}  // namespace portable

/// Arguments above tan(pi / 8) by atan x = pi / 4 + atan((x - 1) / (x + 1)), those above tan(3 pi / 8) by
/// atan x = pi / 2 - atan(1 / x).
inline double portable_atan(double x) {
  constexpr double kEighth = 0.41421356237309503, kThreeEighths = 2.4142135623730951;
  const double size = std::abs(x);
  double angle = 0;
  if (size > kThreeEighths)
    angle = std::numbers::pi / 2 - portable::arctangent_series(1 / size);
  else if (size > kEighth)
    angle = std::numbers::pi / 4 + portable::arctangent_series((size - 1) / (size + 1));
  else
    return portable::arctangent_series(x);
  return std::copysign(angle, x);
}

/// The angle of the point (x, y), with C's special cases.
inline double portable_atan2(double y, double x) {
  if (x != x || y != y) return std::numeric_limits<double>::quiet_NaN();
  const double rise = std::abs(y), run = std::abs(x);
  double angle = 0;
  if (std::isinf(rise) && std::isinf(run))
    angle = std::numbers::pi / 4;
  else if (rise != 0)
    angle = portable_atan(rise / run);
  if (std::signbit(x)) angle = std::numbers::pi - angle;
  return std::copysign(angle, y);
}

/// Squares of floats do not overflow in double.
inline double portable_hypot(double x, double y) {
  if (std::isinf(x) || std::isinf(y)) return std::numeric_limits<double>::infinity();
  return std::sqrt(x * x + y * y);
}

/// By the arctangent of x / sqrt(1 - x^2); NaN beyond [-1, 1].
inline double portable_asin(double x) {
  return portable_atan(x / std::sqrt((1 - x) * (1 + x)));
}
inline double portable_acos(double x) {
  return std::numbers::pi / 2 - portable_asin(x);
}

inline double portable_tan(double x) {
  return portable_sine(x) / portable_cosine(x);
}

/// log(x + sqrt(x^2 + 1)) without cancellation, with the sign of x.
inline double portable_asinh(double x) {
  if (std::isinf(x)) return x;
  const double size = std::abs(x);
  return std::copysign(portable_log1p(size + size * size / (1 + std::sqrt(size * size + 1))), x);
}

/// log(x + sqrt(x^2 - 1)) without cancellation; NaN below 1.
inline double portable_acosh(double x) {
  if (!(x >= 1)) return std::numeric_limits<double>::quiet_NaN();
  const double beyond = x - 1;
  return portable_log1p(beyond + std::sqrt(beyond * (x + 1)));
}

}  // namespace kernbench::numerics
