// The places of the elements of a rank's tensor, for comparison with those of other ranks.
#pragma once

#include <cstdint>
#include <string>

#include "addressing/tensor_descriptor.h"
#include "kernbench/torch/tensor.h"
#include "runtime/context.h"

namespace kernbench::distributed {

/// For tensors of one shape: equal if each element lies at the same place in the same shard of the same cube and PE, of
/// whatever SIP, and different otherwise. Without `pes`, for tensors on one PE each: on whatever PE.
std::uint64_t element_places(const addressing::TensorDescriptor& tensor, bool pes = true);

/// The placement in the program's words: "row_wise over 4 cubes, column_wise over 8 PEs of each"; of a range of a
/// larger tensor also which. Tensors of one shape with one text have the same element_places.
std::string placement_text(const torch::Tensor& tensor, const runtime::HostContext& context);

/// Whether the elements lie where those of a new tensor of this shape and placement policy would: not so for most
/// ranges of a larger tensor. `descriptor` is the tensor's.
bool lies_as_if_new(const torch::Tensor& tensor, const addressing::TensorDescriptor& descriptor);

}  // namespace kernbench::distributed
