// Operations in pairs: a forward that keeps what its backward needs, and the backward, which yields the gradients.
#pragma once

#include <optional>
#include <string_view>
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

// Of host and device tensors. A backward takes what its forward has kept (ValueError for another number of tensors) and
// the gradient of the output (ValueError for another shape); each gradient has the shape and type of what it belongs
// to, and is undefined where that is. What is kept shares its elements with the operands: changing them in place before
// the backward changes the gradients, silently.

/// x Aᵀ + b; x is [..., in], A [out, in].
Forward linear_forward(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias = {},
                       Where where = Where::current());
struct LinearGrads {
  torch::Tensor input, weight, bias;
};
LinearGrads linear_backward(const Saved& saved, const torch::Tensor& grad, Where where = Where::current());

/// x Φ(x), exact or with approximate "tanh" (torch::gelu); its backward, which takes the same name, in f32 (f64 in
/// f64), rounded once. ValueError for another name.
Forward gelu_forward(const torch::Tensor& x, std::string_view approximate = "none", Where where = Where::current());
torch::Tensor gelu_backward(const Saved& saved, const torch::Tensor& grad, std::string_view approximate = "none",
                            Where where = Where::current());

/// silu(a) * b, where x [..., 2 n] is [a, b] along its last dimension: SwiGLU of a product with both weights, cut so
/// that each rank has its parts of both (torch::ahbm::swiglu). Its backward in f32 (f64 in f64), rounded once.
/// ValueError for an odd dimension.
Forward swiglu_forward(const torch::Tensor& x, Where where = Where::current());
torch::Tensor swiglu_backward(const Saved& saved, const torch::Tensor& grad, Where where = Where::current());

/// torch::ahbm::rotary_embedding; its backward turns back. Both take the same options; positions have no gradient. The
/// frequencies alone are kept, so that the backward cannot know the shape of its gradient.
Forward rotary_forward(const torch::Tensor& x, const torch::Tensor& frequencies,
                       const torch::ahbm::RotaryOptions& options = {}, Where where = Where::current());
torch::Tensor rotary_backward(const Saved& saved, const torch::Tensor& grad,
                              const torch::ahbm::RotaryOptions& options = {}, Where where = Where::current());

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension (torch::rms_norm); its backward takes the same eps. In
/// f32 (f64 in f64), rounded once. The weight, and the bias below, may be undefined.
Forward rms_norm_forward(const torch::Tensor& x, const torch::Tensor& weight, double eps,
                         Where where = Where::current());
struct NormGrads {
  torch::Tensor input, weight, bias;
};
NormGrads rms_norm_backward(const Saved& saved, const torch::Tensor& grad, double eps, Where where = Where::current());

/// (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension (torch::layer_norm); likewise.
Forward layer_norm_forward(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                           double eps = 1e-5, Where where = Where::current());
NormGrads layer_norm_backward(const Saved& saved, const torch::Tensor& grad, double eps = 1e-5,
                              Where where = Where::current());

struct AttentionOptions {
  bool is_causal = false;
  std::optional<double> scale = {};  // 1 / sqrt(size of a head) without one
  bool enable_gqa = false;           // query has a multiple of the heads of key and value
};
/// torch::scaled_dot_product_attention of query [batch, heads, L, E], key [batch, kv_heads, S, E] and value [batch,
/// kv_heads, S, Ev]; its backward takes the same options. The backward computes the weights anew, in f32 (f64 in f64),
/// from products, a softmax and elementwise operations: unlike the forward it stores L x S numbers for each head.
Forward scaled_dot_product_attention_forward(const torch::Tensor& query, const torch::Tensor& key,
                                             const torch::Tensor& value, const AttentionOptions& options = {},
                                             Where where = Where::current());
struct AttentionGrads {
  torch::Tensor query, key, value;
};
AttentionGrads scaled_dot_product_attention_backward(const Saved& saved, const torch::Tensor& grad,
                                                     const AttentionOptions& options = {},
                                                     Where where = Where::current());

}  // namespace kernbench::tp
