// Tensors between the ranks of a tensor parallel group, as Megatron-LM's mappings move them: forward, and beside it
// what its gradient takes backward.
#pragma once

#include "kernbench/tp/parallel_state.h"

namespace kernbench::tp {

// Every rank of the group calls these. An empty group stands for the tensor parallel one; in a group of one rank all
// are the identity. ValueError for a dimension that the group's size does not divide. "First" and "last" are
// dimensions: that of the sequence, and that of the hidden state.
//
//   forward                                      | backward
//   copy_to_tensor_model_parallel_region         | identity                | all-reduce
//   reduce_from_tensor_model_parallel_region     | all-reduce              | identity
//   scatter_to_tensor_model_parallel_region      | own part of the last    | gather along the last
//   gather_from_tensor_model_parallel_region     | gather along the last   | own part of the last
//   scatter_to_sequence_parallel_region          | own part of the first   | gather along the first
//   gather_from_sequence_parallel_region         | gather along the first  | reduce-scatter along the first
//   reduce_scatter_to_sequence_parallel_region   | reduce-scatter, first   | gather along the first

torch::Tensor copy_to_tensor_model_parallel_region(const torch::Tensor& x, const ProcessGroup& group = {},
                                                   Where where = Where::current());
torch::Tensor copy_to_tensor_model_parallel_region_backward(const torch::Tensor& grad, const ProcessGroup& group = {},
                                                            Where where = Where::current());
/// A contiguous input is reduced in place, as Megatron does it.
torch::Tensor reduce_from_tensor_model_parallel_region(const torch::Tensor& x, const ProcessGroup& group = {},
                                                       Where where = Where::current());
torch::Tensor reduce_from_tensor_model_parallel_region_backward(const torch::Tensor& grad,
                                                                const ProcessGroup& group = {},
                                                                Where where = Where::current());
torch::Tensor scatter_to_tensor_model_parallel_region(const torch::Tensor& x, const ProcessGroup& group = {},
                                                      Where where = Where::current());
torch::Tensor scatter_to_tensor_model_parallel_region_backward(const torch::Tensor& grad,
                                                               const ProcessGroup& group = {},
                                                               Where where = Where::current());
torch::Tensor gather_from_tensor_model_parallel_region(const torch::Tensor& x, const ProcessGroup& group = {},
                                                       Where where = Where::current());
torch::Tensor gather_from_tensor_model_parallel_region_backward(const torch::Tensor& grad,
                                                                const ProcessGroup& group = {},
                                                                Where where = Where::current());
torch::Tensor scatter_to_sequence_parallel_region(const torch::Tensor& x, const ProcessGroup& group = {},
                                                  Where where = Where::current());
torch::Tensor scatter_to_sequence_parallel_region_backward(const torch::Tensor& grad, const ProcessGroup& group = {},
                                                           Where where = Where::current());
torch::Tensor gather_from_sequence_parallel_region(const torch::Tensor& x, const ProcessGroup& group = {},
                                                   Where where = Where::current());
torch::Tensor gather_from_sequence_parallel_region_backward(const torch::Tensor& grad, const ProcessGroup& group = {},
                                                            Where where = Where::current());
torch::Tensor reduce_scatter_to_sequence_parallel_region(const torch::Tensor& x, const ProcessGroup& group = {},
                                                         Where where = Where::current());
torch::Tensor reduce_scatter_to_sequence_parallel_region_backward(const torch::Tensor& grad,
                                                                  const ProcessGroup& group = {},
                                                                  Where where = Where::current());
/// Block s of the result := the calling rank's block of rank s; equal blocks of the first dimension. Its backward is
/// itself.
torch::Tensor all_to_all(const torch::Tensor& x, const ProcessGroup& group = {}, Where where = Where::current());

}  // namespace kernbench::tp
