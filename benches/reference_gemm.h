// A matrix product in double precision, independent of the simulator's own numerics.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace benches {

inline constexpr std::int64_t kRows = 4, kColumns = 32;

/// Columns [first, first + width) of b, padded to kColumns, one step of k after the other.
inline std::vector<double> pack(std::span<const double> b, std::int64_t first, std::int64_t width, std::int64_t n,
                                std::int64_t k) {
  std::vector<double> panel(static_cast<std::size_t>(k * kColumns), 0.0);
  for (std::int64_t step = 0; step < k; ++step) {
    std::copy_n(b.data() + step * n + first, width, panel.data() + step * kColumns);
  }
  return panel;
}

using Rows = std::array<const double*, kRows>;
using Block = std::array<double, kRows * kColumns>;

/// kRows rows times one panel. The sums stay in registers over all of k.
[[gnu::always_inline]] inline void multiply_body(const Rows& rows, const double* panel, std::int64_t k, Block& result) {
  double sums[kRows * kColumns] = {};
  for (std::int64_t step = 0; step < k; ++step) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      const double factor = rows[static_cast<std::size_t>(row)][step];
      for (std::int64_t column = 0; column < kColumns; ++column) {
        sums[row * kColumns + column] += factor * panel[step * kColumns + column];
      }
    }
  }
  std::copy_n(sums, kRows * kColumns, result.data());
}

// One for each instruction set; not target_clones, whose resolvers run before a sanitizer is ready for them.
[[gnu::target("avx512f")]] inline void multiply_avx512(const Rows& rows, const double* panel, std::int64_t k,
                                                       Block& result) {
  multiply_body(rows, panel, k, result);
}
[[gnu::target("avx2")]] inline void multiply_avx2(const Rows& rows, const double* panel, std::int64_t k,
                                                  Block& result) {
  multiply_body(rows, panel, k, result);
}

inline void multiply(const Rows& rows, const double* panel, std::int64_t k, Block& result) {
  if (__builtin_cpu_supports("avx512f")) return multiply_avx512(rows, panel, k, result);
  if (__builtin_cpu_supports("avx2")) return multiply_avx2(rows, panel, k, result);
  multiply_body(rows, panel, k, result);
}

inline void multiply_panel(std::span<const double> a, std::span<const double> b, std::span<double> c, std::int64_t m,
                           std::int64_t n, std::int64_t k, std::int64_t first) {
  const std::int64_t width = std::min(kColumns, n - first);
  const auto panel = pack(b, first, width, n, k);
  Block block{};
  Rows rows{};
  for (std::int64_t row = 0; row < m; row += kRows) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      rows[static_cast<std::size_t>(i)] = a.data() + std::min(row + i, m - 1) * k;
    }
    multiply(rows, panel.data(), k, block);
    for (std::int64_t i = 0; i < std::min(kRows, m - row); ++i) {
      std::copy_n(block.data() + i * kColumns, width, c.data() + (row + i) * n + first);
    }
  }
}

/// c[m,n] = a[m,k] b[k,n], row-major, accumulated in double in the order of k.
inline void reference_gemm(std::span<const double> a, std::span<const double> b, std::span<double> c, std::int64_t m,
                           std::int64_t n, std::int64_t k) {
  const std::int64_t panels = (n + kColumns - 1) / kColumns;
  const std::int64_t threads = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, panels);
  const auto every = [&](std::int64_t first) {
    for (std::int64_t panel = first; panel < panels; panel += threads)
      multiply_panel(a, b, c, m, n, k, panel * kColumns);
  };
  std::vector<std::jthread> pool;
  for (std::int64_t thread = 1; thread < threads; ++thread) pool.emplace_back(every, thread);
  every(0);
}

}  // namespace benches
