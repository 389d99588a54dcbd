#include "numerics/gemm/gemm.h"

#include <algorithm>
#include <cstring>

#include "numerics/conversion.h"
#include "numerics/memory/storage.h"

namespace kernbench::numerics {

namespace {

// Rows of `a` packed at a time: with kDepth they take half a megabyte, which stays in a second-level cache.
constexpr std::int64_t kBlockRows = 480;
// Columns of `b` packed at a time: with kDepth they take two megabytes.
constexpr std::int64_t kBlockColumns = 2048;

gemm::Kernel kernel_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::avx512:
      return gemm::avx512_kernel();
    case InstructionSet::avx2:
      return gemm::avx2_kernel();
    case InstructionSet::portable:
      break;
  }
  return gemm::portable_kernel();
}

void convert_row(float* out, MatrixView matrix, std::int64_t row, std::int64_t column, std::int64_t count) {
  const std::int64_t start = row * matrix.row_stride + column;
  const std::byte* in = matrix.data + start * item_size(matrix.dtype);
  switch (matrix.dtype) {
    case DType::f16:
      return to_float(out, reinterpret_cast<const half*>(in), count);
    case DType::bf16:
      return to_float(out, reinterpret_cast<const bfloat16*>(in), count);
    case DType::f8e4m3:
      return to_float(out, reinterpret_cast<const float8_e4m3*>(in), count);
    case DType::f8e5m2:
      return to_float(out, reinterpret_cast<const float8_e5m2*>(in), count);
    default:
      std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
  }
}

void pack_rows(float* out, MatrixView a, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t count) {
  for (std::int64_t r = 0; r < rows; ++r) convert_row(out + r * gemm::kRowStride, a, row + r, column, count);
}

/// Panels of tile_columns columns, one after another, each [depth, tile_columns], the last padded with zeros.
void pack_panels(float* out, MatrixView b, std::int64_t row, std::int64_t depth, std::int64_t column,
                 std::int64_t columns, std::int64_t width) {
  for (std::int64_t p = 0; p < depth; ++p) {
    for (std::int64_t j = 0; j < columns; j += width) {
      float* panel = out + j * depth + p * width;
      const std::int64_t count = std::min(width, columns - j);
      convert_row(panel, b, row + p, column + j, count);
      std::fill(panel + count, panel + width, 0.0f);
    }
  }
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Packing space, kept for the thread's next product. Its vectors never straddle cache lines.
float* scratch(AlignedBytes& space, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  if (space.size() < bytes) space = AlignedBytes(static_cast<std::int64_t>(bytes));
  return reinterpret_cast<float*>(space.data());
}

}  // namespace

InstructionSet best_instruction_set() {
  static const InstructionSet best = supported(InstructionSet::avx512) ? InstructionSet::avx512
                                     : supported(InstructionSet::avx2) ? InstructionSet::avx2
                                                                       : InstructionSet::portable;
  return best;
}

bool supported(InstructionSet set) {
  switch (set) {
    case InstructionSet::avx512:
      return __builtin_cpu_supports("avx512f") != 0;
    case InstructionSet::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case InstructionSet::portable:
      break;
  }
  return true;
}

void multiply_accumulate(InstructionSet set, std::int64_t m, std::int64_t n, std::int64_t k, MatrixView a, MatrixView b,
                         float* c, std::int64_t c_stride) {
  thread_local AlignedBytes row_space, panel_space;
  if (m == 0 || n == 0) return;
  const gemm::Kernel kernel = kernel_of(set);
  const std::int64_t width = kernel.tile_columns;
  const std::int64_t panel_columns = divide_up(std::min(n, kBlockColumns), width) * width;
  float* rows = scratch(row_space, std::min(m, kBlockRows) * gemm::kRowStride);
  float* panels = scratch(panel_space, std::min(k, gemm::kDepth) * panel_columns);
  for (std::int64_t column = 0; column < n; column += kBlockColumns) {
    const std::int64_t columns = std::min(kBlockColumns, n - column);
    for (std::int64_t p = 0; p < k; p += gemm::kDepth) {
      const std::int64_t depth = std::min(gemm::kDepth, k - p);
      pack_panels(panels, b, p, depth, column, columns, width);
      for (std::int64_t block = 0; block < m; block += kBlockRows) {
        const std::int64_t block_rows = std::min(kBlockRows, m - block);
        pack_rows(rows, a, block, block_rows, p, depth);
        // Rows are dealt evenly: 64 rows are four tiles of 11 and two of 10, not five of 12 and one of 4.
        const std::int64_t tiles = divide_up(block_rows, kernel.tile_rows);
        for (std::int64_t j = 0; j < columns; j += width) {
          const std::int64_t tile_columns = std::min(width, columns - j);
          for (std::int64_t t = 0; t < tiles; ++t) {
            const std::int64_t first = block_rows * t / tiles;
            const std::int64_t last = block_rows * (t + 1) / tiles;
            kernel.multiply_tile(depth, rows + first * gemm::kRowStride, panels + j * depth,
                                 c + (block + first) * c_stride + column + j, c_stride, last - first, tile_columns);
          }
        }
      }
    }
  }
}

}  // namespace kernbench::numerics
