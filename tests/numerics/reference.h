// Simple loops in double precision: what computed values are checked against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kernbench::numerics::reference {

/// a [m,k] times b [k,n] in double, row-major.
std::vector<double> matrix_multiply(std::span<const double> a, std::span<const double> b, std::int64_t m,
                                    std::int64_t n, std::int64_t k);

/// The largest |actual - expected| and the largest |actual - expected| / |expected| (over expected != 0). Equal values
/// (infinities too) and two NaNs differ by 0; one NaN alone differs by infinity.
struct Difference {
  double absolute = 0;
  double relative = 0;
};
Difference difference(std::span<const double> actual, std::span<const double> expected);

}  // namespace kernbench::numerics::reference
