// Products beside the communication that they need: what tp_comm_overlap of the linear layers does. Where there is
// nothing to communicate (a group of one rank, no rows) these are the plain product.
#pragma once

#include <cstdint>

#include "kernbench/tp/parallel_state.h"

namespace kernbench::tp {

struct OverlapOptions {
  /// The tensor parallel group; empty: that of initialize_model_parallel.
  ProcessGroup tp_group = {};
  /// Of linear_reduce_overlapped: each rank gets its part of the first dimension, not all of it.
  bool sequence_parallel = false;
  /// Of linear_reduce_overlapped: chunks of rows, fewer where there are fewer rows. 0: chosen by the bytes of the
  /// result (docs/tensor-parallelism.md). ValueError below 0.
  std::int64_t num_splits = 0;
};

// x is [..., in], A [out, in], device tensors of one type: ValueError else, and for a first dimension that
// sequence_parallel cannot share.

/// The sum over the ranks of x Aᵀ. The reduction of a chunk of rows runs beside the product of the next chunk.
torch::Tensor linear_reduce_overlapped(const torch::Tensor& x, const torch::Tensor& weight,
                                       const OverlapOptions& options = {}, Where where = Where::current());

struct GatheredLinear {
  torch::Tensor output;  // of all ranks' rows
  torch::Tensor input;   // all ranks' rows
};
/// All ranks' x, one behind the other along the first dimension, times Aᵀ, plus b (undefined: none). The all-gather
/// runs beside the product of the rank's own rows.
GatheredLinear gather_linear_overlapped(const torch::Tensor& x, const torch::Tensor& weight,
                                        const torch::Tensor& bias = {}, const OverlapOptions& options = {},
                                        Where where = Where::current());

}  // namespace kernbench::tp
