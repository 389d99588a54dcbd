// A matrix product that results are compared with. It shares nothing with the simulator's own numerics.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace kernbench::runtime::reference {

/// Rows that are multiplied at once, and columns of a panel: the sums are registers of the widest instruction set.
inline constexpr std::int64_t kRows = 6;
template <class Real>
inline constexpr std::int64_t kColumns = 256 / static_cast<std::int64_t>(sizeof(Real));

/// Columns [first, first + width) of b, padded to kColumns, one step of k after the other.
template <class Real>
std::vector<Real> pack(std::span<const Real> b, std::int64_t first, std::int64_t width, std::int64_t n,
                       std::int64_t k) {
  std::vector<Real> panel(static_cast<std::size_t>(k * kColumns<Real>), Real(0));
  for (std::int64_t step = 0; step < k; ++step) {
    std::copy_n(b.data() + step * n + first, width, panel.data() + step * kColumns<Real>);
  }
  return panel;
}

template <class Real>
using Rows = std::array<const Real*, kRows>;
template <class Real>
using Block = std::array<Real, kRows * kColumns<Real>>;

/// kRows rows times one panel. The sums stay in registers over all of k.
template <class Real>
[[gnu::always_inline]] inline void multiply_body(const Rows<Real>& rows, const Real* panel, std::int64_t k,
                                                 Block<Real>& result) {
  Real sums[kRows * kColumns<Real>] = {};
  for (std::int64_t step = 0; step < k; ++step) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      const Real factor = rows[static_cast<std::size_t>(row)][step];
      for (std::int64_t column = 0; column < kColumns<Real>; ++column) {
        sums[row * kColumns<Real> + column] += factor * panel[step * kColumns<Real> + column];
      }
    }
  }
  std::copy_n(sums, kRows * kColumns<Real>, result.data());
}

// One for each instruction set; not target_clones, whose resolvers run before a sanitizer is ready for them.
template <class Real>
[[gnu::target("avx512f,fma")]] void multiply_avx512(const Rows<Real>& rows, const Real* panel, std::int64_t k,
                                                    Block<Real>& result) {
  multiply_body(rows, panel, k, result);
}
template <class Real>
[[gnu::target("avx2,fma")]] void multiply_avx2(const Rows<Real>& rows, const Real* panel, std::int64_t k,
                                               Block<Real>& result) {
  multiply_body(rows, panel, k, result);
}

template <class Real>
void multiply(const Rows<Real>& rows, const Real* panel, std::int64_t k, Block<Real>& result) {
  if (__builtin_cpu_supports("avx512f")) return multiply_avx512(rows, panel, k, result);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_avx2(rows, panel, k, result);
  multiply_body(rows, panel, k, result);
}

template <class Real>
void multiply_panel(std::span<const Real> a, std::span<const Real> b, std::span<Real> c, std::int64_t m, std::int64_t n,
                    std::int64_t k, std::int64_t first) {
  const std::int64_t width = std::min(kColumns<Real>, n - first);
  const auto panel = pack(b, first, width, n, k);
  Block<Real> block{};
  Rows<Real> rows{};
  for (std::int64_t row = 0; row < m; row += kRows) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      rows[static_cast<std::size_t>(i)] = a.data() + std::min(row + i, m - 1) * k;
    }
    multiply(rows, panel.data(), k, block);
    for (std::int64_t i = 0; i < std::min(kRows, m - row); ++i) {
      std::copy_n(block.data() + i * kColumns<Real>, width, c.data() + (row + i) * n + first);
    }
  }
}

/// c[m,n] = a[m,k] b[k,n], row-major, accumulated in the order of k.
template <class Real>
void plain_gemm(std::span<const Real> a, std::span<const Real> b, std::span<Real> c, std::int64_t m, std::int64_t n,
                std::int64_t k) {
  const std::int64_t panels = (n + kColumns<Real> - 1) / kColumns<Real>;
  const std::int64_t threads = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, panels);
  const auto every = [&](std::int64_t first) {
    for (std::int64_t panel = first; panel < panels; panel += threads)
      multiply_panel(a, b, c, m, n, k, panel * kColumns<Real>);
  };
  std::vector<std::jthread> pool;
  for (std::int64_t thread = 1; thread < threads; ++thread) pool.emplace_back(every, thread);
  every(0);
}

}  // namespace kernbench::runtime::reference
