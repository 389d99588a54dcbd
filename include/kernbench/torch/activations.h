// Activation functions of elements. They take floating-point tensors, compute in f32 at least and round once; hardtanh
// and relu6 take integers, too. An underscore: in place. Those with parameters are made of other functions, and so are
// their times on a device.
#pragma once

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

/// x above 0, else x * negative_slope.
Tensor leaky_relu(const TensorOperand& x, const Scalar& negative_slope = 0.01);
Tensor& leaky_relu_(Tensor& x, const Scalar& negative_slope = 0.01, Where where = Where::current());
/// log(1 + e^(beta x)) / beta, and x itself where beta * x is above the threshold.
Tensor softplus(const TensorOperand& x, const Scalar& beta = 1, const Scalar& threshold = 20);
/// scale * x above 0, else scale * alpha * (e^(input_scale * x) - 1).
Tensor elu(const TensorOperand& x, const Scalar& alpha = 1, const Scalar& scale = 1, const Scalar& input_scale = 1);
Tensor& elu_(Tensor& x, const Scalar& alpha = 1, const Scalar& scale = 1, const Scalar& input_scale = 1,
             Where where = Where::current());
/// elu with alpha = 1.6732632… and scale = 1.0507009….
Tensor selu(const TensorOperand& x);
Tensor& selu_(Tensor& x, Where where = Where::current());
/// x * tanh(log(1 + e^x))
Tensor mish(const TensorOperand& x);
Tensor& mish_(Tensor& x, Where where = Where::current());
/// Between `min_val` and `max_val`, in the type of x.
Tensor hardtanh(const TensorOperand& x, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor& hardtanh_(Tensor& x, const Scalar& min_val = -1, const Scalar& max_val = 1, Where where = Where::current());
/// hardtanh between 0 and 6.
Tensor relu6(const TensorOperand& x);
Tensor& relu6_(Tensor& x, Where where = Where::current());
/// relu6(x + 3) / 6
Tensor hardsigmoid(const TensorOperand& x);
Tensor& hardsigmoid_(Tensor& x, Where where = Where::current());
/// x * relu6(x + 3) / 6
Tensor hardswish(const TensorOperand& x);
Tensor& hardswish_(Tensor& x, Where where = Where::current());
/// log(1 / (1 + e^-x))
Tensor log_sigmoid(const TensorOperand& x);

}  // namespace kernbench::torch
