// The element operation of an all-reduce.
#pragma once

#include <cstdint>

#include "kernbench/distributed.h"
#include "kernbench/tl.h"

namespace kernbench::distributed {

/// Whether tensors of the type can be reduced so: SUM, PRODUCT, MIN and MAX of integers and floating-point numbers but
/// f8, AVG of these, BAND, BOR and BXOR of integers. Of booleans all but AVG: SUM and MAX are BOR, PRODUCT and MIN
/// BAND.
bool can_reduce(torch::distributed::ReduceOp op, DType dtype);

/// a ∘ b, in the type of both; AVG adds. Sums of booleans are "or" in the tile language, and products "and".
tl::Tile reduce(torch::distributed::ReduceOp op, const tl::Tile& a, const tl::Tile& b);

/// What goes into a fold of so many: the own elements, of an AVG of floating-point numbers times 1 / contributions, so
/// that no sum is above the largest of them.
tl::Tile contribution(torch::distributed::ReduceOp op, const tl::Tile& own, std::int64_t contributions);

/// What a fold of so many contributions ends with: an AVG of integers is divided, toward zero.
tl::Tile finish_reduction(torch::distributed::ReduceOp op, const tl::Tile& folded, std::int64_t contributions);

}  // namespace kernbench::distributed
