// Steps of optimisers on shards: a parameter that is cut over ranks takes its step alone, without communication.
#pragma once

#include <cstdint>

#include "kernbench/torch/tensor.h"

namespace kernbench::tp {

/// parameter -= learning_rate * grad, in place: a step of SGD. Shards of a parameter take it alone. ValueError for a
/// gradient of another shape or device, a parameter that is no floating-point tensor or has several elements in one
/// place, and a rate that is negative or not finite.
void sgd_step(const torch::Tensor& parameter, const torch::Tensor& grad, double learning_rate,
              Where where = Where::current());

/// With the names and defaults of torch.optim.Adam.
struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  /// AdamW (whose weight_decay is 0.01 by default): the parameter shrinks by lr * weight_decay of itself; else the
  /// decay is added to the gradient.
  bool decoupled_weight_decay = false;
};

/// What a parameter's steps keep: running means of the gradient and of its square, f32 (f64 of f64) whatever the type
/// of the parameter, which lie as the parameter does; made by the first step.
struct AdamState {
  torch::Tensor exp_avg, exp_avg_sq;
  std::int64_t step = 0;
};

/// A step of Adam, or AdamW, by PyTorch's formula, in place:
///   g = grad + weight_decay * parameter, or AdamW: parameter -= lr * weight_decay * parameter
///   exp_avg = beta1 exp_avg + (1 - beta1) g;  exp_avg_sq = beta2 exp_avg_sq + (1 - beta2) g^2
///   parameter -= lr / (1 - beta1^step) * exp_avg / (sqrt(exp_avg_sq / (1 - beta2^step)) + eps)
/// On a device one launch, in f32, the parameter rounded once. ValueError for a gradient or state of another shape or
/// device, a state of another type, a parameter that is no floating-point tensor or has several elements in one place,
/// and options out of their ranges (lr, eps, weight_decay >= 0 and finite, betas in [0, 1)). A call that throws has
/// changed nothing.
void adam_step(const torch::Tensor& parameter, const torch::Tensor& grad, AdamState& state,
               const AdamOptions& options = {}, Where where = Where::current());

}  // namespace kernbench::tp
