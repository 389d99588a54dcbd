// The plans of collectives whose input and output are not one tensor: which blocks there are, and which PE moves what.
#pragma once

#include <memory>
#include <vector>

#include "distributed/collective.h"
#include "runtime/context.h"

namespace kernbench::distributed {

/// A plan, and what it goes by: its shares are the same on all ranks whose tensors are placed so.
struct PlacedPlan {
  std::shared_ptr<BlockPlan> plan;
  std::string placement;             // in words
  std::uint64_t placement_hash = 0;  // of the shares
};

/// Equal parts of a tensor in row-major order, one for each rank; or one tensor for each rank.
std::vector<torch::Tensor> as_blocks(const torch::Tensor& tensor, int ranks);

// `placed_as`: the tensor that the blocks are parts of, or one of the list, to say how they are placed.

/// `outputs`: one block for each rank, into which the PEs that hold it receive it.
PlacedPlan plan_all_gather(const std::vector<torch::Tensor>& outputs, const torch::Tensor& input,
                           const torch::Tensor& placed_as, const runtime::HostContext& context);
/// `inputs`: one block for each rank. The PEs that hold a block fold it, and store the result wherever `output` lies;
/// with replicas, not in place, the PEs that hold the output do. `in_place`: the output is the rank's own block.
PlacedPlan plan_reduce_scatter(const torch::Tensor& output, const std::vector<torch::Tensor>& inputs, bool in_place,
                               const torch::Tensor& placed_as, const runtime::HostContext& context);
/// `outputs`: at the root one for each rank, else none. The PEs that hold `input` send it.
PlacedPlan plan_gather(const std::vector<torch::Tensor>& outputs, const torch::Tensor& input, int ranks,
                       const runtime::HostContext& context);
/// `inputs`: at the root one for each rank, else none. The PEs that hold `output` receive it.
PlacedPlan plan_scatter(const torch::Tensor& output, const std::vector<torch::Tensor>& inputs, int ranks,
                        const runtime::HostContext& context);
/// One block for each rank on both sides, of any sizes. All PEs of the outputs' placement share each block evenly.
PlacedPlan plan_all_to_all(const std::vector<torch::Tensor>& outputs, const std::vector<torch::Tensor>& inputs,
                           const torch::Tensor& placed_as, const runtime::HostContext& context);

}  // namespace kernbench::distributed
