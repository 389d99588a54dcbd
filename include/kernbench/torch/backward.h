// Gradients of activations, softmax and losses, with the names that libtorch has for them: what a backward by hand is
// made of. Not part of kernbench/kernbench.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

// Of `grad_output`, the gradient of the result, and of `self`, the function's operand, or of `output`, its result. On
// host and device; floating-point types, in f32 at least, rounded once. Those of elements are one launch.

/// Of relu, with a threshold of 0: the gradient where self is above it, else 0.
Tensor threshold_backward(const TensorOperand& grad_output, const Tensor& self, const Scalar& threshold);
/// `self_is_result`: self is the result, which has the operand's sign. ValueError then for a slope below 0.
Tensor leaky_relu_backward(const TensorOperand& grad_output, const Tensor& self, const Scalar& negative_slope,
                           bool self_is_result);
Tensor sigmoid_backward(const TensorOperand& grad_output, const Tensor& output);
Tensor tanh_backward(const TensorOperand& grad_output, const Tensor& output);
Tensor silu_backward(const TensorOperand& grad_output, const Tensor& self);
/// approximate: "none" or "tanh", as in torch::gelu.
Tensor gelu_backward(const TensorOperand& grad_output, const Tensor& self, std::string_view approximate = "none");
/// Of mse_loss with this torch::Reduction; grad_output has no dimensions unless that is None.
Tensor mse_loss_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                         std::int64_t reduction);
/// Likewise of smooth_l1_loss, with a beta of 0 of l1_loss, and of huber_loss. ValueError for a negative beta, and
/// unless delta is above 0.
Tensor smooth_l1_loss_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                               std::int64_t reduction, double beta);
Tensor huber_loss_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                           std::int64_t reduction, double delta);
/// Of binary_cross_entropy; with a weight, of the shape of self, a launch more. That of
/// binary_cross_entropy_with_logits is grad_output * (self.sigmoid() - target), divided by their number for a mean.
Tensor binary_cross_entropy_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                                     const std::optional<Tensor>& weight = {}, std::int64_t reduction = 1);
/// nll_loss and nll_loss2d with the sum of the weights of the classes that count, by which a mean divides; 0 for
/// Reduction::None. The backward takes the same arguments and that sum: at each line's class minus the class's weight
/// times the gradient, else 0. Launches: four to eight. A class that there is not is an error of the host's backward
/// and of each forward; a device's backward has no gradient for it.
std::tuple<Tensor, Tensor> nll_loss_forward(const TensorOperand& self, const Tensor& target,
                                            const std::optional<Tensor>& weight, std::int64_t reduction,
                                            std::int64_t ignore_index);
std::tuple<Tensor, Tensor> nll_loss2d_forward(const TensorOperand& self, const Tensor& target,
                                              const std::optional<Tensor>& weight, std::int64_t reduction,
                                              std::int64_t ignore_index);
Tensor nll_loss_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                         const std::optional<Tensor>& weight, std::int64_t reduction, std::int64_t ignore_index,
                         const Tensor& total_weight);
Tensor nll_loss2d_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                           const std::optional<Tensor>& weight, std::int64_t reduction, std::int64_t ignore_index,
                           const Tensor& total_weight);
/// Of softmax and log_softmax along a dimension, of operands of type `input_dtype`: a product, of the former, and a
/// sum, and one launch more.
// NOLINTNEXTLINE(readability-identifier-naming): the name in PyTorch
Tensor _softmax_backward_data(const TensorOperand& grad_output, const Tensor& output, std::int64_t dimension,
                              ScalarType input_dtype);
// NOLINTNEXTLINE(readability-identifier-naming): the name in PyTorch
Tensor _log_softmax_backward_data(const TensorOperand& grad_output, const Tensor& output, std::int64_t dimension,
                                  ScalarType input_dtype);

}  // namespace kernbench::torch
