// Operations in pairs: a forward that keeps what its backward needs, and the backward, which yields the gradients.
#pragma once

#include <vector>

#include "kernbench/torch/tensor.h"
#include "kernbench/torch/transformer.h"

namespace kernbench::tp {

/// What a forward keeps for its backward.
using Saved = std::vector<torch::Tensor>;
struct Forward {
  torch::Tensor output;
  Saved saved;
};

// Of host and device tensors. A backward takes what its forward has kept and the gradient of the output; each gradient
// has the shape and type of what it belongs to, and is undefined where that is.

/// x Aᵀ + b; x is [..., in], A [out, in].
Forward linear_forward(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias = {},
                       Where where = Where::current());
struct LinearGrads {
  torch::Tensor input, weight, bias;
};
LinearGrads linear_backward(const Saved& saved, const torch::Tensor& grad, Where where = Where::current());

/// x Φ(x), exact; its backward in f32 (f64 in f64), rounded once.
Forward gelu_forward(const torch::Tensor& x, Where where = Where::current());
torch::Tensor gelu_backward(const Saved& saved, const torch::Tensor& grad, Where where = Where::current());

/// silu(a) * b, where x [..., 2 n] is [a, b] along its last dimension: SwiGLU of a product with both weights, cut so
/// that each rank has its parts of both (torch::ahbm::swiglu). Its backward in f32 (f64 in f64), rounded once.
/// ValueError for an odd dimension.
Forward swiglu_forward(const torch::Tensor& x, Where where = Where::current());
torch::Tensor swiglu_backward(const Saved& saved, const torch::Tensor& grad, Where where = Where::current());

/// torch::ahbm::rotary_embedding; its backward turns back. Both take the same options; positions have no gradient.
Forward rotary_forward(const torch::Tensor& x, const torch::Tensor& frequencies,
                       const torch::ahbm::RotaryOptions& options = {}, Where where = Where::current());
torch::Tensor rotary_backward(const Saved& saved, const torch::Tensor& grad,
                              const torch::ahbm::RotaryOptions& options = {}, Where where = Where::current());

/// parameter -= learning_rate * grad, in place: a step of SGD. Shards of a parameter take it alone.
void sgd_step(const torch::Tensor& parameter, const torch::Tensor& grad, double learning_rate,
              Where where = Where::current());

}  // namespace kernbench::tp
