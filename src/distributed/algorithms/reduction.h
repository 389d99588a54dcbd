// The element operation of an all-reduce.
#pragma once

#include <cstdint>

#include "kernbench/distributed.h"
#include "kernbench/tl.h"

namespace kernbench::distributed {

/// Whether tensors of the type can be reduced so: SUM, PRODUCT, MIN and MAX of integers and floating-point numbers but
/// f8, AVG of the latter, BAND, BOR and BXOR of integers and booleans.
bool can_reduce(torch::distributed::ReduceOp op, DType dtype);

/// a ∘ b, in the type of both; AVG adds.
tl::Tile reduce(torch::distributed::ReduceOp op, const tl::Tile& a, const tl::Tile& b);

/// What a fold over all ranks ends with: for AVG it is divided by their number, once.
tl::Tile finish_reduction(torch::distributed::ReduceOp op, const tl::Tile& folded, std::int64_t ranks);

}  // namespace kernbench::distributed
