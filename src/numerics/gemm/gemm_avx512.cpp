// A register tile of 12 x 32: 24 accumulators, two vectors of b, one broadcast of a.
#include <immintrin.h>

#include <array>
#include <utility>

#include "numerics/gemm/gemm.h"

namespace kernbench::numerics::gemm {

namespace {

constexpr std::int64_t kRows = 12;
constexpr std::int64_t kColumns = 32;

/// kTileRows rows, and 16 * kVectors columns of which the last vector takes the lanes of `mask`.
template <int kTileRows, int kVectors>
__attribute__((target("avx512f"))) void multiply(std::int64_t depth, const float* a, const float* b, float* c,
                                                 std::int64_t c_stride, __mmask16 mask) {
  __m512 sum[kTileRows][kVectors];
  for (int r = 0; r < kTileRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const __mmask16 lanes = v == kVectors - 1 ? mask : static_cast<__mmask16>(0xFFFF);
      sum[r][v] = _mm512_maskz_loadu_ps(lanes, c + r * c_stride + 16 * v);
    }
  }
  // The tile below is next; its rows are far apart, and a chain cannot start before its first value is there.
  for (int r = 0; r < kTileRows; ++r) {
    const auto* below = reinterpret_cast<const char*>(c + (kTileRows + r) * c_stride);
    for (int v = 0; v < kVectors; ++v) _mm_prefetch(below + 64 * v, _MM_HINT_T0);
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    __m512 row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = _mm512_loadu_ps(b + p * kColumns + 16 * v);
    for (int r = 0; r < kTileRows; ++r) {
      const __m512 factor = _mm512_set1_ps(a[r * kRowStride + p]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_fmadd_ps(factor, row[v], sum[r][v]);
    }
  }
  for (int r = 0; r < kTileRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const __mmask16 lanes = v == kVectors - 1 ? mask : static_cast<__mmask16>(0xFFFF);
      _mm512_mask_storeu_ps(c + r * c_stride + 16 * v, lanes, sum[r][v]);
    }
  }
}

using Function = void (*)(std::int64_t, const float*, const float*, float*, std::int64_t, __mmask16);

template <int kVectors, std::size_t... kIndex>
constexpr std::array<Function, kRows> functions(std::index_sequence<kIndex...>) {
  return {multiply<static_cast<int>(kIndex) + 1, kVectors>...};
}

constexpr std::array<Function, kRows> kOneVector = functions<1>(std::make_index_sequence<kRows>());
constexpr std::array<Function, kRows> kTwoVectors = functions<2>(std::make_index_sequence<kRows>());

void multiply_tile(std::int64_t depth, const float* a, const float* b, float* c, std::int64_t c_stride,
                   std::int64_t rows, std::int64_t columns) {
  const std::int64_t in_last = (columns - 1) % 16 + 1;
  const auto mask = static_cast<__mmask16>((1u << in_last) - 1);
  const auto& table = columns <= 16 ? kOneVector : kTwoVectors;
  table[static_cast<std::size_t>(rows - 1)](depth, a, b, c, c_stride, mask);
}

}  // namespace

Kernel avx512_kernel() {
  return {kRows, kColumns, multiply_tile};
}

}  // namespace kernbench::numerics::gemm
