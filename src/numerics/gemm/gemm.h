// Matrix multiply on one thread, the same bits on every instruction set.
//
// Every output is one chain of f32 fused multiply-adds over k in order. Chains of different outputs are independent, so
// the result depends neither on the register tile nor on the blocking: between blocks of k the chain's value rests
// exactly in the f32 output.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernbench/dtype.h"

namespace kernbench::numerics {

enum class InstructionSet : std::uint8_t { portable, avx2, avx512 };

/// The best one that this processor has.
InstructionSet best_instruction_set();
bool supported(InstructionSet set);

/// A row-major operand of f8e4m3, f8e5m2, f16, bf16 or f32 elements.
struct MatrixView {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row_stride = 0;  // elements
};

/// c [m,n] (row stride `c_stride`) += a [m,k] times b [k,n].
void multiply_accumulate(InstructionSet set, std::int64_t m, std::int64_t n, std::int64_t k, MatrixView a, MatrixView b,
                         float* c, std::int64_t c_stride);

// ---- what an instruction set provides --------------------------------------------------------------------------

namespace gemm {

/// Blocks of k; a packed row of `a` has a fixed stride so that its rows are constant offsets in the inner loop. The
/// stride is not a power of two, which would put all rows into few cache sets.
inline constexpr std::int64_t kDepth = 256;
inline constexpr std::int64_t kRowStride = kDepth + 16;

/// c[r][j] = fma chain over p < depth of a[r * kRowStride + p] * b[p * tile_columns + j], for `rows` rows and `columns`
/// columns of c. b is padded to tile_columns.
using TileFunction = void (*)(std::int64_t depth, const float* a, const float* b, float* c, std::int64_t c_stride,
                              std::int64_t rows, std::int64_t columns);

struct Kernel {
  std::int64_t tile_rows;
  std::int64_t tile_columns;
  TileFunction multiply_tile;  // rows <= tile_rows, columns <= tile_columns
};

Kernel portable_kernel();
Kernel avx2_kernel();
Kernel avx512_kernel();

}  // namespace gemm

}  // namespace kernbench::numerics
