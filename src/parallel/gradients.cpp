#include "kernbench/tp/gradients.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/backward.h"
#include "kernbench/torch/operations.h"
#include "kernbench/torch/transformer.h"
#include "kernbench/tp/primitives.h"
#include "parallel/computed_in.h"
#include "parallel/parameter_grads.h"
#include "parallel/rows_of.h"
#include "parallel/saved.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

using torch::Tensor;

Forward linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, Where where) {
  const tensor::HostCall here("linear_forward", where);
  Saved saved{x, weight};
  if (bias.defined()) saved.push_back(bias);
  return {torch::linear(x, weight, bias.defined() ? std::optional(bias) : std::nullopt), std::move(saved)};
}

LinearGrads linear_backward(const Saved& saved, const Tensor& grad, Where where) {
  const tensor::HostCall here("linear_backward", where);
  check_saved("linear_backward", saved, 2, 3);
  check_grad("linear_backward", grad, with_last(saved.at(0), saved.at(1).size(0)));
  const Tensor input = torch::matmul(grad, saved.at(1));
  LinearGrads grads = linear_parameter_grads(saved, grad);
  grads.input = input;
  return grads;
}

LinearGrads linear_parameter_grads(const Saved& saved, const Tensor& grad) {
  const Tensor rows = rows_of(grad);
  LinearGrads grads;
  grads.weight = torch::matmul(rows.t(), rows_of(saved.at(0)));
  if (saved_or_none(saved, 2).defined()) grads.bias = rows.sum(0);
  return grads;
}

Forward gelu_forward(const Tensor& x, std::string_view approximate, Where where) {
  const tensor::HostCall here("gelu_forward", where);
  return {torch::gelu(x, approximate), {x}};
}

Tensor gelu_backward(const Saved& saved, const Tensor& grad, std::string_view approximate, Where where) {
  const tensor::HostCall here("gelu_backward", where);
  check_saved("gelu_backward", saved, 1);
  check_grad("gelu_backward", grad, saved.at(0).sizes().vec());
  return torch::gelu_backward(grad, saved[0], approximate).to(saved[0].scalar_type());
}

Forward swiglu_forward(const Tensor& x, Where where) {
  const tensor::HostCall here("swiglu_forward", where);
  return {torch::ahbm::swiglu(x), {x}};
}

Tensor swiglu_backward(const Saved& saved, const Tensor& grad, Where where) {
  const tensor::HostCall here("swiglu_backward", where);
  check_saved("swiglu_backward", saved, 1);
  check_grad("swiglu_backward", grad, with_last(saved.at(0), saved[0].size(-1) / 2));
  const torch::ScalarType type = computed_in(saved.at(0));
  const std::vector<Tensor> halves = split_tensor_along_last_dim(saved[0].to(type), 2);
  const Tensor above = grad.to(type);
  const Tensor first = torch::silu_backward(above * halves[1], halves[0]), second = above * torch::silu(halves[0]);
  return torch::cat({first, second}, -1).to(saved[0].scalar_type());
}

Forward rotary_forward(const Tensor& x, const Tensor& frequencies, const torch::ahbm::RotaryOptions& options,
                       Where where) {
  const tensor::HostCall here("rotary_forward", where);
  return {torch::ahbm::rotary_embedding(x, frequencies, options), {frequencies}};
}

Tensor rotary_backward(const Saved& saved, const Tensor& grad, const torch::ahbm::RotaryOptions& options, Where where) {
  const tensor::HostCall here("rotary_backward", where);
  check_saved("rotary_backward", saved, 1);
  if (!grad.defined()) throw ValueError("rotary_backward: the gradient is undefined");
  return torch::ahbm::rotary_embedding_backward(grad, saved.at(0), options);
}

}  // namespace kernbench::tp
