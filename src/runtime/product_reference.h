// What a product of two host matrices should be, apart from the simulator's own numerics.
#pragma once

#include "kernbench/torch.h"

namespace kernbench::runtime {

/// The values that `product` [m, n], a contiguous host tensor, should have as the product of a [m, k] and b [k, n], in
/// its type. Of whole numbers, rows whose sums with random signs over the columns are right are those of `product` (see
/// check_product); all others are multiplied out: as floats where every partial sum is exact in them, else as doubles.
torch::Tensor expected_product(const torch::Tensor& product, const torch::Tensor& a, const torch::Tensor& b);

}  // namespace kernbench::runtime
