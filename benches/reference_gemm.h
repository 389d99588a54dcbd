// A matrix product in double precision, independent of the simulator's own numerics.
#pragma once

#include <cstdint>
#include <span>

namespace kernbench::benches {

/// c[m,n] = a[m,k] b[k,n], row-major, accumulated in double in the order of k.
void reference_gemm(std::span<const double> a, std::span<const double> b, std::span<double> c, std::int64_t m,
                    std::int64_t n, std::int64_t k);

}  // namespace kernbench::benches
