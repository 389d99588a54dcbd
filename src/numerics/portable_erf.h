// The error function of every float, from correctly rounded operations only (see portable_math.h).
#pragma once

#include <array>
#include <cstddef>

#include "numerics/portable_math.h"

namespace kernbench::numerics {

namespace portable {

inline constexpr double kTwoOverSqrtPi = 1.12837916709551257390;

/// erf(x) = 2/sqrt(pi) (x - x^3 / (3 1!) + x^5 / (5 2!) - …), for |x| <= 1/2: thirteen terms.
constexpr double erf_near_zero(double x) {
  const double square = x * x;
  double sum = 0, scale = 1;
  std::array<double, 13> terms{};
  for (int n = 0; n < 13; ++n) {
    terms[static_cast<std::size_t>(n)] = scale / (2 * n + 1);
    scale = -scale / (n + 1);
  }
  for (std::size_t n = terms.size(); n-- > 0;) sum = sum * square + terms[n];
  return x * (sum * kTwoOverSqrtPi);
}

/// erf(x) = 2/sqrt(pi) e^-x^2 (x + 2 x^3 / 3 + 4 x^5 / 15 + …): all terms are positive, so nothing cancels.
constexpr double erf_by_positive_series(double x) {
  double term = x, sum = x;
  for (int n = 1; n < 150; ++n) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return kTwoOverSqrtPi * portable_exp(-x * x) * sum;
}

/// The Taylor polynomial of erf around `centre`. Its derivative g = 2/sqrt(pi) e^-x^2 obeys g' = -2 x g, so that g's
/// coefficients follow from (n + 1) g[n + 1] = -2 (centre g[n] + g[n - 1]).
inline constexpr std::size_t kErfDegree = 17;
constexpr std::array<double, kErfDegree + 1> erf_around(double centre) {
  std::array<double, kErfDegree + 1> result{};
  result[0] = erf_by_positive_series(centre);
  double before = 0, current = kTwoOverSqrtPi * portable_exp(-centre * centre);
  for (std::size_t n = 0; n < kErfDegree; ++n) {
    result[n + 1] = current / static_cast<double>(n + 1);
    const double next = -2 * (centre * current + before) / static_cast<double>(n + 1);
    before = current;
    current = next;
  }
  return result;
}

/// Polynomials for [1/2, 1), [1, 3/2), … [7/2, 4).
inline constexpr auto kErfPieces = [] {
  std::array<std::array<double, kErfDegree + 1>, 7> pieces{};
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = erf_around(0.75 + 0.5 * static_cast<double>(i));
  return pieces;
}();

}  // namespace portable

/// erf x in double for every float x; from 4 on it is 1, which is right for floats.
constexpr double portable_erf(double x) {
  const double size = x < 0 ? -x : x;
  if (size < 0.5) return portable::erf_near_zero(x);
  if (size != size) return x;
  double value = 1;
  if (size < 4) {
    const auto piece = static_cast<std::size_t>((size - 0.5) * 2);
    const double t = size - (0.75 + 0.5 * static_cast<double>(piece));
    const auto& coefficients = portable::kErfPieces[piece];
    value = coefficients[portable::kErfDegree];
    for (std::size_t n = portable::kErfDegree; n-- > 0;) value = value * t + coefficients[n];
  }
  return x < 0 ? -value : value;
}

}  // namespace kernbench::numerics
