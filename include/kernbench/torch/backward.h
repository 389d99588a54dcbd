// Gradients of activations, softmax and a loss, with the names that libtorch has for them: what a backward by hand is
// made of. Not part of kernbench/kernbench.h.
#pragma once

#include <cstdint>
#include <string_view>

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
/// Of softmax and log_softmax along a dimension, of operands of type `input_dtype`: a product, of the former, and a
/// sum, and one launch more.
// NOLINTNEXTLINE(readability-identifier-naming): the name in PyTorch
Tensor _softmax_backward_data(const TensorOperand& grad_output, const Tensor& output, std::int64_t dimension,
                              ScalarType input_dtype);
// NOLINTNEXTLINE(readability-identifier-naming): the name in PyTorch
Tensor _log_softmax_backward_data(const TensorOperand& grad_output, const Tensor& output, std::int64_t dimension,
                                  ScalarType input_dtype);

}  // namespace kernbench::torch
