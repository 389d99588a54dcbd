// Composite commands: one command to the PE's scheduler, which runs a pipeline of loads, products and stores by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kernbench/tl/types.h"

namespace kernbench::tl {

/// A matrix operand of composite_gemm: a tensor, a block of one, or a tile.
class MatrixOperand {
 public:
  /// The whole tensor, of rank 2.
  MatrixOperand(Tensor tensor);  // NOLINT(google-explicit-constructor)
  /// The box of `shape` at `offsets`; lanes past the end read as zero and are not written.
  MatrixOperand(Tensor tensor, Extents offsets, Extents shape);
  MatrixOperand(Tile tile);  // NOLINT(google-explicit-constructor)
  bool in_hbm() const { return tensor_.has_value(); }
  const Tensor& tensor() const { return *tensor_; }
  const Extents& offsets() const { return offsets_; }
  const Extents& shape() const { return shape_; }
  const Tile& tile() const { return tile_; }

 private:
  std::optional<Tensor> tensor_;
  Tile tile_;
  Extents offsets_, shape_;
};

struct CompositeGemmOptions {
  /// Extents m, n, k of a step of the pipeline; 0: chosen from the array and the free TCM.
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 0;
  /// Adds to what `c` holds.
  bool accumulate = false;
};

/// c = a [m,k] times b [k,n] as one command of the control processor: the PE's scheduler loads tiles of the operands in
/// HBM, multiplies with f32 accumulation in the order of k, and stores the tiles of c, two steps in flight. Takes its
/// TCM at once. Later operations of the program on the bytes of c wait for it.
void composite_gemm(const MatrixOperand& a, const MatrixOperand& b, const MatrixOperand& c,
                    CompositeGemmOptions options = {}, Where where = Where::current());
/// The same with the result as a tile of `out_dtype`.
Tile composite_gemm(const MatrixOperand& a, const MatrixOperand& b, DType out_dtype, CompositeGemmOptions options = {},
                    Where where = Where::current());

}  // namespace kernbench::tl
