// Library kernel: sets elements of a tensor to one value.
#pragma once

#include <vector>

#include "kernbench/tl.h"

namespace kernbench::tile::library {

/// Each PE stores `value` to the part of `boxes` that lies in its own shards, one block after the other: at most
/// 32 Ki elements and an eighth of the TCM. TCM: one block.
void fill(tl::Tensor tensor, const std::vector<tl::Tensor::Box>& boxes, tl::Scalar value);

}  // namespace kernbench::tile::library
