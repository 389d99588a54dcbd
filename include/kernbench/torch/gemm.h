// The device's matrix product with its knobs: what torch::matmul does on device tensors, for measuring and tuning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch::ahbm {

struct MatmulOptions {
  /// false: each PE may begin with the part of k that lies nearest, and k may be split; the order of the sums is then a
  /// function of shapes, placement and machine. true: each element is one chain of products in the order of k, so that
  /// the result has the same bits on every machine and for every placement, and on the host.
  bool exact_order = false;
  /// Parts of k that are summed by a second launch; must divide the number of PEs. 0: chosen (1 when exact_order).
  std::int64_t split_k = 0;
  /// Extents of the tiles that a PE multiplies; 0: chosen.
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 0;
  /// Of the result; by default the operands' type (f32 for 8-bit floats, i32 for 8-bit integers).
  std::optional<ScalarType> out_dtype = std::nullopt;
  /// Of the result; by default that of `a`.
  std::optional<DPPolicy> placement = std::nullopt;
  std::string name = "gemm";     // of the launch
  std::string result_name = {};  // of the result
};

/// Whether the products of torch::matmul and its like (mm, bmm, addmm, linear, …) of device tensors keep the exact
/// order (MatmulOptions) in this simulation from now on; off at first, since split sums and reads of what lies nearest
/// take less time.
void set_exact_matmul_order(bool exact);
bool exact_matmul_order();

/// a [m,k] times b [k,n] on their device. Any views; transposed ones are permuted on their way into the TCM.
Tensor matmul(const TensorOperand& a, const Tensor& b, const MatmulOptions& options = {});

}  // namespace kernbench::torch::ahbm
