#include <cmath>

#include "numerics/gemm/gemm.h"

namespace kernbench::numerics::gemm {

namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kColumns = 8;

void multiply_tile(std::int64_t depth, const float* a, const float* b, float* c, std::int64_t c_stride,
                   std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = c[r * c_stride + j];
      for (std::int64_t p = 0; p < depth; ++p) sum = std::fma(a[r * kRowStride + p], b[p * kColumns + j], sum);
      c[r * c_stride + j] = sum;
    }
  }
}

}  // namespace

Kernel portable_kernel() {
  return {kRows, kColumns, multiply_tile};
}

}  // namespace kernbench::numerics::gemm
