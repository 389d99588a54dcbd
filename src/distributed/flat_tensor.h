// A device tensor as collectives see it: the elements of its shards in a row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernbench/torch/tensor.h"
#include "kernel/tensor_descriptor.h"

namespace kernbench::distributed {

/// The tensor's shards one after the other, each row-major: what element stands where does not matter to a collective,
/// as long as it is the same on all ranks. Replicas stand at one place. ValueError, naming `parameter`, for a host
/// tensor and for a view that is not dense in its shards.
std::shared_ptr<const kernel::TensorDescriptor> flat_tensor(const torch::Tensor& tensor, const std::string& parameter);

/// Whether the elements lie where those of a new tensor of this shape and placement policy would: not so for most
/// ranges of a larger tensor.
bool lies_as_if_new(const torch::Tensor& tensor, const kernel::TensorDescriptor& flat);

/// Equal for two flat tensors whose elements lie in the same order on the same cubes and PEs, of whatever SIPs. Without
/// `pes`, for those that lie on one PE each: on whatever PE.
std::uint64_t placement_hash(const kernel::TensorDescriptor& flat, bool pes = true);
/// "16 shards on 8 PEs from cube0.pe0 to cube0.pe7, the first of 1024 elements"
std::string placement_text(const kernel::TensorDescriptor& flat);

}  // namespace kernbench::distributed
