// The functions of kernbench/torch/backward.h, but for those of classes (losses.cpp).
#include "kernbench/torch/backward.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "kernbench/torch/losses.h"
#include "kernbench/torch/operations.h"
#include "tensor/functions/elementwise.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::ComposedOperation;
using tensor::Composition;

namespace {

/// Of operands that are floating-point tensors.
template <class... Tensors>
Tensor gradient(const char* call, const ComposedOperation& operation, const Tensors&... tensors) {
  (tensor::check_floats(call, tensors), ...);
  const std::array<tensor::DeviceOperand, sizeof...(Tensors)> operands{tensors...};
  return tensor::composed(call, operation, operands);
}

/// What the gradient of each element of a loss is multiplied by.
double share_of_loss(const Tensor& input, std::int64_t reduction) {
  return reduction == Reduction::Mean ? 1.0 / static_cast<double>(input.numel()) : 1.0;
}

}  // namespace

Tensor threshold_backward(const TensorOperand& grad_output, const Tensor& self, const Scalar& threshold) {
  const tensor::HostCall here("threshold_backward", grad_output.where);
  return gradient("threshold_backward", {Composition::threshold_backward, {threshold.toDouble()}}, grad_output.tensor,
                  self);
}

Tensor leaky_relu_backward(const TensorOperand& grad_output, const Tensor& self, const Scalar& negative_slope,
                           bool self_is_result) {
  const tensor::HostCall here("leaky_relu_backward", grad_output.where);
  const double slope = negative_slope.toDouble();
  if (self_is_result && slope < 0) {
    tensor::fail(
        "leaky_relu_backward",
        fmt::format("with a slope of {}, below 0, the result does not say the operand's sign; pass the operand "
                    "and self_is_result = false",
                    slope));
  }
  return gradient("leaky_relu_backward", {Composition::leaky_relu_backward, {slope}}, grad_output.tensor, self);
}

Tensor sigmoid_backward(const TensorOperand& grad_output, const Tensor& output) {
  const tensor::HostCall here("sigmoid_backward", grad_output.where);
  return gradient("sigmoid_backward", {Composition::sigmoid_backward}, grad_output.tensor, output);
}

Tensor tanh_backward(const TensorOperand& grad_output, const Tensor& output) {
  const tensor::HostCall here("tanh_backward", grad_output.where);
  return gradient("tanh_backward", {Composition::tanh_backward}, grad_output.tensor, output);
}

Tensor silu_backward(const TensorOperand& grad_output, const Tensor& self) {
  const tensor::HostCall here("silu_backward", grad_output.where);
  return gradient("silu_backward", {Composition::silu_backward}, grad_output.tensor, self);
}

Tensor gelu_backward(const TensorOperand& grad_output, const Tensor& self, std::string_view approximate) {
  const tensor::HostCall here("gelu_backward", grad_output.where);
  if (approximate != "none" && approximate != "tanh") {
    tensor::fail("gelu_backward", "approximate must be \"none\" or \"tanh\", as in the forward, but is \"" +
                                      std::string(approximate) + "\"");
  }
  const auto kind = approximate == "none" ? Composition::gelu_backward : Composition::gelu_tanh_backward;
  return gradient("gelu_backward", {kind}, grad_output.tensor, self);
}

Tensor mse_loss_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                         std::int64_t reduction) {
  const tensor::HostCall here("mse_loss_backward", grad_output.where);
  return gradient("mse_loss_backward", {Composition::mse_backward, {2 * share_of_loss(self, reduction)}},
                  grad_output.tensor, self, target);
}

Tensor smooth_l1_loss_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                               std::int64_t reduction, double beta) {
  constexpr const char* kCall = "smooth_l1_loss_backward";
  const tensor::HostCall here(kCall, grad_output.where);
  if (!(beta >= 0)) tensor::fail(kCall, "smooth_l1_loss does not support negative values for beta.");
  const double share = share_of_loss(self, reduction);
  if (beta == 0) {
    tensor::check_floats(kCall, self);
    return self.sub(target).sign().mul(grad_output.tensor.mul(share)).to(self.scalar_type());
  }
  return gradient(kCall, {Composition::huber_backward, {beta, share / beta}}, grad_output.tensor, self, target);
}

Tensor huber_loss_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                           std::int64_t reduction, double delta) {
  constexpr const char* kCall = "huber_loss_backward";
  const tensor::HostCall here(kCall, grad_output.where);
  if (!(delta > 0)) tensor::fail(kCall, "huber_loss does not support non-positive values for delta.");
  return gradient(kCall, {Composition::huber_backward, {delta, share_of_loss(self, reduction)}}, grad_output.tensor,
                  self, target);
}

Tensor binary_cross_entropy_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                                     const std::optional<Tensor>& weight, std::int64_t reduction) {
  constexpr const char* kCall = "binary_cross_entropy_backward";
  const tensor::HostCall here(kCall, grad_output.where);
  const Tensor grad =
      gradient(kCall, {Composition::bce_backward, {share_of_loss(self, reduction)}}, grad_output.tensor, self, target);
  return weight && weight->defined() ? grad.mul(*weight) : grad;
}

Tensor _softmax_backward_data(const TensorOperand& grad_output, const Tensor& output, std::int64_t dimension,
                              ScalarType input_dtype) {
  const tensor::HostCall here("_softmax_backward_data", grad_output.where);
  const ScalarType wide = tensor::wide_type(output.scalar_type());
  const Tensor sum = (grad_output.tensor.to(wide) * output.to(wide)).sum(dimension, true);
  return gradient("_softmax_backward_data", {Composition::softmax_backward}, grad_output.tensor.to(wide),
                  output.to(wide), sum)
      .to(input_dtype);
}

Tensor _log_softmax_backward_data(const TensorOperand& grad_output, const Tensor& output, std::int64_t dimension,
                                  ScalarType input_dtype) {
  const tensor::HostCall here("_log_softmax_backward_data", grad_output.where);
  const ScalarType wide = tensor::wide_type(output.scalar_type());
  const Tensor grad = grad_output.tensor.to(wide);
  return gradient("_log_softmax_backward_data", {Composition::log_softmax_backward}, grad, output.to(wide),
                  grad.sum(dimension, true))
      .to(input_dtype);
}

}  // namespace kernbench::torch
