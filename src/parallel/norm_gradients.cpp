// Gradients of the norms of kernbench/tp/gradients.h. With h = (x - mean) r, r = 1 / sqrt(mean((x - mean)^2) + eps) and
// g = grad * weight, that of x is r (g - mean(g) - h mean(g h)); the norm by the root mean square has no means.
#include "kernbench/torch/operations.h"
#include "kernbench/tp/gradients.h"
#include "parallel/computed_in.h"
#include "parallel/rows_of.h"
#include "parallel/saved.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

/// Weight and bias may be undefined.
struct NormOperands {
  Tensor input, weight, bias;
};

NormGrads norm_backward(const NormOperands& operands, const Tensor& above, double eps, bool centred) {
  const auto& [given, weight, bias] = operands;
  const torch::ScalarType type = computed_in(given);
  const Tensor grad = above.to(type);
  Tensor x = given.to(type);
  if (centred) x = x - x.mean(-1, true);
  const Tensor scale = ((x * x).mean(-1, true) + eps).rsqrt();
  const Tensor normed = x * scale, inner = weight.defined() ? grad * weight.to(type) : grad;
  Tensor below = inner - normed * (inner * normed).mean(-1, true);
  if (centred) below = below - inner.mean(-1, true);
  const auto over_rows = [](const Tensor& each, const Tensor& parameter) {
    return rows_of(each).sum(0).to(parameter.scalar_type());
  };
  NormGrads grads;
  grads.input = (below * scale).to(given.scalar_type());
  if (weight.defined()) grads.weight = over_rows(grad * normed, weight);
  if (bias.defined()) grads.bias = over_rows(grad, bias);
  return grads;
}

}  // namespace

Forward rms_norm_forward(const Tensor& x, const Tensor& weight, double eps, Where where) {
  const tensor::HostCall here("rms_norm_forward", where);
  return {torch::rms_norm(x, {x.size(-1)}, weight, eps), {x, weight}};
}

NormGrads rms_norm_backward(const Saved& saved, const Tensor& grad, double eps, Where where) {
  const tensor::HostCall here("rms_norm_backward", where);
  check_saved("rms_norm_backward", saved, 1, 2);
  check_grad("rms_norm_backward", grad, saved.at(0).sizes().vec());
  return norm_backward({saved[0], saved_or_none(saved, 1), {}}, grad, eps, false);
}

Forward layer_norm_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Where where) {
  const tensor::HostCall here("layer_norm_forward", where);
  return {torch::layer_norm(x, {x.size(-1)}, weight, bias, eps), {x, weight, bias}};
}

NormGrads layer_norm_backward(const Saved& saved, const Tensor& grad, double eps, Where where) {
  const tensor::HostCall here("layer_norm_backward", where);
  check_saved("layer_norm_backward", saved, 1, 3);
  check_grad("layer_norm_backward", grad, saved.at(0).sizes().vec());
  return norm_backward({saved[0], saved_or_none(saved, 1), saved_or_none(saved, 2)}, grad, eps, true);
}

}  // namespace kernbench::tp
