#include "reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace kernbench::numerics::reference {

std::vector<double> matrix_multiply(std::span<const double> a, std::span<const double> b, std::int64_t m,
                                    std::int64_t n, std::int64_t k) {
  assert(static_cast<std::int64_t>(a.size()) == m * k && static_cast<std::int64_t>(b.size()) == k * n);
  std::vector<double> c(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    double* row = c.data() + i * n;
    for (std::int64_t p = 0; p < k; ++p) {
      const double factor = a[static_cast<std::size_t>(i * k + p)];
      const double* other = b.data() + p * n;
      for (std::int64_t j = 0; j < n; ++j) row[j] += factor * other[j];
    }
  }
  return c;
}

Difference difference(std::span<const double> actual, std::span<const double> expected) {
  assert(actual.size() == expected.size());
  Difference worst;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i]))) continue;
    double distance = std::abs(actual[i] - expected[i]);
    if (std::isnan(distance)) distance = std::numeric_limits<double>::infinity();
    worst.absolute = std::max(worst.absolute, distance);
    if (expected[i] == 0) continue;
    const double relative =
        std::isfinite(expected[i]) ? distance / std::abs(expected[i]) : std::numeric_limits<double>::infinity();
    worst.relative =
        std::max(worst.relative, std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative);
  }
  return worst;
}

}  // namespace kernbench::numerics::reference
