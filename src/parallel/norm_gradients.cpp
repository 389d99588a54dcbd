// Gradients of the norms of kernbench/tp/gradients.h. With h = (x - mean) r, r = 1 / sqrt(mean((x - mean)^2) + eps) and
// g = grad * weight, that of x is r (g - mean(g) - h mean(g h)); the norm by the root mean square has no means.
#include "kernbench/torch/operations.h"
#include "kernbench/tp/gradients.h"
#include "parallel/computed_in.h"
#include "parallel/saved.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

NormGrads norm_backward(const Tensor& given, const Tensor& weight, const Tensor& above, double eps, bool centred) {
  const torch::ScalarType type = computed_in(given);
  const Tensor grad = above.to(type);
  Tensor x = given.to(type);
  if (centred) x = x - x.mean(-1, true);
  const Tensor scale = ((x * x).mean(-1, true) + eps).rsqrt();
  const Tensor normed = x * scale, inner = grad * weight.to(type);
  Tensor below = inner - normed * (inner * normed).mean(-1, true);
  if (centred) below = below - inner.mean(-1, true);
  const auto over_rows = [&](const Tensor& each) {
    return each.reshape({each.numel() / each.size(-1), each.size(-1)}).sum(0).to(weight.scalar_type());
  };
  NormGrads grads;
  grads.input = (below * scale).to(given.scalar_type());
  grads.weight = over_rows(grad * normed);
  if (centred) grads.bias = over_rows(grad);
  return grads;
}

}  // namespace

Forward rms_norm_forward(const Tensor& x, const Tensor& weight, double eps, Where where) {
  const tensor::HostCall here("rms_norm_forward", where);
  return {torch::rms_norm(x, {x.size(-1)}, weight, eps), {x, weight}};
}

NormGrads rms_norm_backward(const Saved& saved, const Tensor& grad, double eps, Where where) {
  const tensor::HostCall here("rms_norm_backward", where);
  check_saved("rms_norm_backward", saved, 2);
  return norm_backward(saved.at(0), saved.at(1), grad, eps, false);
}

Forward layer_norm_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Where where) {
  const tensor::HostCall here("layer_norm_forward", where);
  return {torch::layer_norm(x, {x.size(-1)}, weight, bias, eps), {x, weight}};
}

NormGrads layer_norm_backward(const Saved& saved, const Tensor& grad, double eps, Where where) {
  const tensor::HostCall here("layer_norm_backward", where);
  check_saved("layer_norm_backward", saved, 2);
  return norm_backward(saved.at(0), saved.at(1), grad, eps, true);
}

}  // namespace kernbench::tp
