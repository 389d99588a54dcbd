#pragma once

#include "kernbench/torch/tensor.h"

namespace kernbench::tp {

/// All dimensions but the last, which may be empty, as one. REQUIRES: one dimension at least.
inline torch::Tensor rows_of(const torch::Tensor& x) {
  return x.dim() == 1 ? x.unsqueeze(0) : x.flatten(0, -2);
}

}  // namespace kernbench::tp
