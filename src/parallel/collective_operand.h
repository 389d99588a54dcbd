// Tensors as collectives take them.
#pragma once

#include "kernbench/torch/tensor.h"

namespace kernbench::tp {

/// The elements of x in their order, dense in their shards. A view of all of a tensor in another shape ([tokens, batch,
/// hidden] of a product's [tokens * batch, hidden]) may be no operand of a kernel, but the tensor is: then that one,
/// whose elements are those of x, if its first dimension has `parts` equal parts. Else a copy.
torch::Tensor collective_operand(const torch::Tensor& x, int parts);

}  // namespace kernbench::tp
