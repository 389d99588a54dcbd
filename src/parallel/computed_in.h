// The type that gradients and losses are computed in.
#pragma once

#include "kernbench/torch/tensor.h"

namespace kernbench::tp {

/// f32 for narrower types, whose sums would lose too much; f64 stays.
inline torch::ScalarType computed_in(const torch::Tensor& x) {
  return x.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
}

}  // namespace kernbench::tp
