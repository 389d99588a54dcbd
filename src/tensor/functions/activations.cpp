// The functions of kernbench/torch/activations.h: rows of elementwise/unary.def, or made of other functions.
#include "kernbench/torch/activations.h"

#include "kernbench/torch/operations.h"
#include "tensor/functions/elementwise.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::UnaryOperation;

namespace {

Tensor unary(UnaryOperation operation, const TensorOperand& x) {
  const tensor::HostCall here(tensor::name(operation), x.where);
  return tensor::unary(operation, x.tensor);
}
Tensor& unary_in_place(const char* call, UnaryOperation operation, Tensor& x, Where where) {
  const tensor::HostCall here(call, where);
  tensor::unary_in_place(operation, x);
  return x;
}

/// x in what the steps of a function are computed in.
Tensor widened(const char* call, const Tensor& x) {
  tensor::check_floats(call, x);
  return x.to(tensor::wide_type(x.scalar_type()));
}

/// A bound of integers is an integer.
Scalar bound_of(const Tensor& x, const Scalar& value) {
  if (x.is_floating_point()) return value;
  const std::int64_t bound = value.toLong();
  if (x.scalar_type() == kByte && bound < 0)
    tensor::fail("hardtanh", "cannot do hardtanh on an unsigned type with negative limits");
  return bound;
}

}  // namespace

Tensor leaky_relu(const TensorOperand& x, const Scalar& negative_slope) {
  const tensor::HostCall here("leaky_relu", x.where);
  tensor::check_floats("leaky_relu", x.tensor);
  return tensor::where(x.tensor.gt(0), x.tensor, x.tensor.mul(negative_slope));
}
Tensor& leaky_relu_(Tensor& x, const Scalar& negative_slope, Where where) {
  const tensor::HostCall here("leaky_relu_", where);
  return x.copy_(leaky_relu(x, negative_slope));
}

Tensor softplus(const TensorOperand& x, const Scalar& beta, const Scalar& threshold) {
  const tensor::HostCall here("softplus", x.where);
  const Tensor wide = widened("softplus", x.tensor);
  const bool scales = beta.toDouble() != 1;
  const Tensor scaled = scales ? wide.mul(beta) : wide, curve = scaled.exp().log1p();
  return tensor::where(scaled.gt(threshold), wide, scales ? curve.div(beta) : curve).to(x.tensor.scalar_type());
}

Tensor elu(const TensorOperand& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  const tensor::HostCall here("elu", x.where);
  const auto times = [](const Tensor& factor, double number) { return number == 1 ? factor : factor.mul(number); };
  const Tensor wide = widened("elu", x.tensor);
  const Tensor below = times(times(wide, input_scale.toDouble()).expm1(), alpha.toDouble() * scale.toDouble());
  return tensor::where(wide.gt(0), times(wide, scale.toDouble()), below).to(x.tensor.scalar_type());
}
Tensor& elu_(Tensor& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale, Where where) {
  const tensor::HostCall here("elu_", where);
  return x.copy_(elu(x, alpha, scale, input_scale));
}

Tensor hardtanh(const TensorOperand& x, const Scalar& min_val, const Scalar& max_val) {
  const tensor::HostCall here("hardtanh", x.where);
  if (x.tensor.scalar_type() == kBool) tensor::fail("hardtanh", "Bool inputs not supported for hardtanh");
  return tensor::clamp(x.tensor, bound_of(x.tensor, min_val), bound_of(x.tensor, max_val));
}
Tensor& hardtanh_(Tensor& x, const Scalar& min_val, const Scalar& max_val, Where where) {
  const tensor::HostCall here("hardtanh_", where);
  return x.copy_(hardtanh(x, min_val, max_val));
}
Tensor relu6(const TensorOperand& x) {
  const tensor::HostCall here("relu6", x.where);
  return hardtanh(x, 0, 6);
}
Tensor& relu6_(Tensor& x, Where where) {
  const tensor::HostCall here("relu6_", where);
  return hardtanh_(x, 0, 6);
}

Tensor selu(const TensorOperand& x) {
  return unary(UnaryOperation::selu, x);
}
Tensor& selu_(Tensor& x, Where where) {
  return unary_in_place("selu_", UnaryOperation::selu, x, where);
}
Tensor mish(const TensorOperand& x) {
  return unary(UnaryOperation::mish, x);
}
Tensor& mish_(Tensor& x, Where where) {
  return unary_in_place("mish_", UnaryOperation::mish, x, where);
}
Tensor hardsigmoid(const TensorOperand& x) {
  return unary(UnaryOperation::hardsigmoid, x);
}
Tensor& hardsigmoid_(Tensor& x, Where where) {
  return unary_in_place("hardsigmoid_", UnaryOperation::hardsigmoid, x, where);
}
Tensor hardswish(const TensorOperand& x) {
  return unary(UnaryOperation::hardswish, x);
}
Tensor& hardswish_(Tensor& x, Where where) {
  return unary_in_place("hardswish_", UnaryOperation::hardswish, x, where);
}
Tensor log_sigmoid(const TensorOperand& x) {
  const tensor::HostCall here("log_sigmoid", x.where);
  // The result is dense, whatever the operand is.
  return tensor::unary(UnaryOperation::log_sigmoid, x.tensor.is_cpu() ? x.tensor.contiguous() : x.tensor);
}

}  // namespace kernbench::torch
