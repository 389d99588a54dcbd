// A register tile of 6 x 16: 12 accumulators, two vectors of b, one broadcast of a.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <utility>

#include "numerics/gemm/gemm.h"

namespace kernbench::numerics::gemm {

namespace {

constexpr std::int64_t kRows = 6;
constexpr std::int64_t kColumns = 16;

template <int kTileRows>
__attribute__((target("avx2,fma"))) void multiply(std::int64_t depth, const float* a, const float* b, float* c,
                                                  std::int64_t c_stride) {
  __m256 sum[kTileRows][2];
  for (int r = 0; r < kTileRows; ++r) {
    for (int v = 0; v < 2; ++v) sum[r][v] = _mm256_loadu_ps(c + r * c_stride + 8 * v);
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    const __m256 left = _mm256_loadu_ps(b + p * kColumns);
    const __m256 right = _mm256_loadu_ps(b + p * kColumns + 8);
    for (int r = 0; r < kTileRows; ++r) {
      const __m256 factor = _mm256_set1_ps(a[r * kRowStride + p]);
      sum[r][0] = _mm256_fmadd_ps(factor, left, sum[r][0]);
      sum[r][1] = _mm256_fmadd_ps(factor, right, sum[r][1]);
    }
  }
  for (int r = 0; r < kTileRows; ++r) {
    for (int v = 0; v < 2; ++v) _mm256_storeu_ps(c + r * c_stride + 8 * v, sum[r][v]);
  }
}

using Function = void (*)(std::int64_t, const float*, const float*, float*, std::int64_t);

template <std::size_t... kIndex>
constexpr std::array<Function, kRows> functions(std::index_sequence<kIndex...>) {
  return {multiply<static_cast<int>(kIndex) + 1>...};
}

constexpr std::array<Function, kRows> kFunctions = functions(std::make_index_sequence<kRows>());

void multiply_tile(std::int64_t depth, const float* a, const float* b, float* c, std::int64_t c_stride,
                   std::int64_t rows, std::int64_t columns) {
  const Function function = kFunctions[static_cast<std::size_t>(rows - 1)];
  if (columns == kColumns) {
    function(depth, a, b, c, c_stride);
    return;
  }
  // A narrow tile goes through a full one.
  float tile[kRows * kColumns] = {};
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(c + r * c_stride, columns, tile + r * kColumns);
  function(depth, a, b, tile, kColumns);
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(tile + r * kColumns, columns, c + r * c_stride);
}

}  // namespace

Kernel avx2_kernel() {
  return {kRows, kColumns, multiply_tile};
}

}  // namespace kernbench::numerics::gemm
