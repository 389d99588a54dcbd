#include "benches/reference_gemm.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace kernbench::benches {

namespace {

constexpr std::int64_t kRows = 8, kColumns = 512;

/// A block of up to kRows rows and kColumns columns of c. The row loop is inside, so that a row of b is used kRows times
/// while it is in the cache.
__attribute__((target_clones("avx512f", "avx2", "default"))) void block(const double* a, const double* b, double* c,
                                                                        std::int64_t rows, std::int64_t columns,
                                                                        std::int64_t n, std::int64_t k) {
  for (std::int64_t step = 0; step < k; ++step) {
    const double* b_row = b + step * n;
    for (std::int64_t row = 0; row < rows; ++row) {
      const double factor = a[row * k + step];
      double* c_row = c + row * n;
      for (std::int64_t column = 0; column < columns; ++column) c_row[column] += factor * b_row[column];
    }
  }
}

}  // namespace

void reference_gemm(std::span<const double> a, std::span<const double> b, std::span<double> c, std::int64_t m,
                    std::int64_t n, std::int64_t k) {
  std::fill(c.begin(), c.end(), 0.0);
  const auto rows_of = [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; row += kRows) {
      for (std::int64_t column = 0; column < n; column += kColumns) {
        block(a.data() + row * k, b.data() + column, c.data() + row * n + column, std::min(kRows, end - row),
              std::min(kColumns, n - column), n, k);
      }
    }
  };
  const std::int64_t threads = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, 16);
  const std::int64_t share = (m + threads - 1) / threads;
  std::vector<std::jthread> pool;
  for (std::int64_t first = share; first < m; first += share) {
    pool.emplace_back(rows_of, first, std::min(first + share, m));
  }
  rows_of(0, std::min(share, m));
}

}  // namespace kernbench::benches
