// The part of a linear layer's backward that no other rank waits for.
#pragma once

#include "kernbench/tp/gradients.h"

namespace kernbench::tp {

/// Gradients of weight and bias as linear_backward yields them; that of the input is undefined.
LinearGrads linear_parameter_grads(const Saved& saved, const torch::Tensor& grad);

}  // namespace kernbench::tp
