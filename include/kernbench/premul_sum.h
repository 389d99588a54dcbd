// PREMUL_SUM: a sum of what each rank has multiplied by a factor of its own, as NCCL and torch.distributed have it.
#pragma once

#include <optional>
#include <vector>

#include "kernbench/distributed.h"

namespace kernbench::torch::distributed {

/// ReduceOp::PREMUL_SUM with its factor: a number, or a tensor of one element.
struct PremulSum {
  double factor = 1;
  Tensor tensor = {};  // in place of the number, if it is defined
};
/// PyTorch's name of the function that makes one. ValueError for a tensor that has not one element.
PremulSum _make_nccl_premul_sum(double factor);
PremulSum _make_nccl_premul_sum(const Tensor& factor);

// SUM of factor * tensor, the product rounded to the type of the tensor, which must be f16, bf16, f32 or f64; a factor
// that is a tensor must be of that type and on the tensor's device: ValueError. The product is a launch of its own
// before the collective.

/// tensor := the sum; see all_reduce.
WorkRef all_reduce(const Tensor& tensor, const PremulSum& op, const ProcessGroup& group = {}, bool async_op = false,
                   Where where = Where::current());
/// The root's tensor := the sum; the others' do not change.
WorkRef reduce(const Tensor& tensor, std::optional<int> dst, const PremulSum& op, const ProcessGroup& group = {},
               bool async_op = false, std::optional<int> group_dst = {}, Where where = Where::current());
/// output := block r of the sum on rank r. The input does not change, unless the output is a block of it.
WorkRef reduce_scatter_tensor(const Tensor& output, const Tensor& input, const PremulSum& op,
                              const ProcessGroup& group = {}, bool async_op = false, Where where = Where::current());
/// The same with a tensor for each block.
WorkRef reduce_scatter(const Tensor& output, const std::vector<Tensor>& input_list, const PremulSum& op,
                       const ProcessGroup& group = {}, bool async_op = false, Where where = Where::current());

}  // namespace kernbench::torch::distributed
