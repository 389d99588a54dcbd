#pragma once

#include "kernbench/torch/tensor.h"

namespace kernbench::tp {

/// All dimensions but the last as one.
inline torch::Tensor rows_of(const torch::Tensor& x) {
  return x.reshape({x.numel() / x.size(-1), x.size(-1)});
}

}  // namespace kernbench::tp
