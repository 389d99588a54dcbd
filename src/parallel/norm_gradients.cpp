// Gradients of the norms of kernbench/tp/gradients.h. With h = (x - mean) r, r = 1 / sqrt(mean((x - mean)^2) + eps) and
// g = grad * weight, that of x is r (g - mean(g) - h mean(g h)); the norm by the root mean square has no means. On a
// device a kernel makes it; on the host it is put together from elementwise functions and sums.
#include <vector>

#include "kernbench/torch/operations.h"
#include "kernbench/tp/gradients.h"
#include "parallel/computed_in.h"
#include "parallel/rows_of.h"
#include "parallel/saved.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

/// Weight and bias may be undefined.
struct NormOperands {
  Tensor input, weight, bias;
};

/// Whether the device's kernel takes these: floats of one device, and parameters of a line's shape.
bool has_kernel(const NormOperands& operands, const Tensor& grad) {
  const Tensor& x = operands.input;
  if (x.is_cpu() || x.numel() == 0 || !x.is_floating_point() || !grad.is_floating_point()) return false;
  for (const Tensor* parameter : {&operands.weight, &operands.bias}) {
    if (!parameter->defined()) continue;
    if (!parameter->is_floating_point() || parameter->dim() != 1 || parameter->size(0) != x.size(-1)) return false;
  }
  return true;
}

NormGrads norm_backward_on_device(const char* call, const NormOperands& operands, const Tensor& grad, double eps,
                                  bool centred) {
  const auto& [x, weight, bias] = operands;
  std::vector<tensor::DeviceOperand> together{grad, x};
  for (const Tensor* parameter : {&weight, &bias})
    if (parameter->defined()) together.emplace_back(*parameter);
  const tensor::ComputePlace place = tensor::place_of(call, together);
  const auto like = [call](const Tensor& parameter) {
    if (!parameter.defined()) return Tensor();
    return tensor::new_result(call, tensor::place_of(call, {parameter}), parameter.sizes().vec(),
                              parameter.scalar_type());
  };
  NormGrads grads;
  grads.input = tensor::new_result(call, place, x.sizes().vec(), x.scalar_type());
  grads.weight = like(weight);
  grads.bias = like(bias);
  tensor::device_kernels(call).normalize_backward({.x = x,
                                                   .grad = grad,
                                                   .weight = weight,
                                                   .epsilon = eps,
                                                   .centred = centred,
                                                   .input = grads.input,
                                                   .of_weight = grads.weight,
                                                   .of_bias = grads.bias});
  return grads;
}

NormGrads norm_backward(const char* call, const NormOperands& operands, const Tensor& above, double eps, bool centred) {
  if (has_kernel(operands, above)) return norm_backward_on_device(call, operands, above, eps, centred);
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
  return norm_backward("rms_norm_backward", {saved[0], saved_or_none(saved, 1), {}}, grad, eps, false);
}

Forward layer_norm_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Where where) {
  const tensor::HostCall here("layer_norm_forward", where);
  return {torch::layer_norm(x, {x.size(-1)}, weight, bias, eps), {x, weight, bias}};
}

NormGrads layer_norm_backward(const Saved& saved, const Tensor& grad, double eps, Where where) {
  const tensor::HostCall here("layer_norm_backward", where);
  check_saved("layer_norm_backward", saved, 1, 3);
  check_grad("layer_norm_backward", grad, saved.at(0).sizes().vec());
  return norm_backward("layer_norm_backward", {saved[0], saved_or_none(saved, 1), saved_or_none(saved, 2)}, grad, eps,
                       true);
}

}  // namespace kernbench::tp
