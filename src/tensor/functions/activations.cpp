// The functions of kernbench/torch/activations.h: rows of elementwise/unary.def, or made of other functions.
#include "kernbench/torch/activations.h"

#include <array>

#include "kernbench/torch/operations.h"
#include "tensor/functions/elementwise.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::ComposedOperation;
using tensor::Composition;
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

/// Written to `out`, if any.
Tensor with_numbers(const char* call, const ComposedOperation& operation, const Tensor& x,
                    const Tensor* out = nullptr) {
  tensor::check_floats(call, x);
  const std::array<tensor::DeviceOperand, 1> operands{x};
  return tensor::composed(call, operation, operands, out);
}

ComposedOperation elu_of(const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return {Composition::elu, {alpha.toDouble() * scale.toDouble(), scale.toDouble(), input_scale.toDouble()}};
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
  return with_numbers("leaky_relu", {Composition::leaky_relu, {negative_slope.toDouble()}}, x.tensor);
}
Tensor& leaky_relu_(Tensor& x, const Scalar& negative_slope, Where where) {
  const tensor::HostCall here("leaky_relu_", where);
  with_numbers("leaky_relu", {Composition::leaky_relu, {negative_slope.toDouble()}}, x, &x);
  return x;
}

Tensor softplus(const TensorOperand& x, const Scalar& beta, const Scalar& threshold) {
  const tensor::HostCall here("softplus", x.where);
  return with_numbers("softplus", {Composition::softplus, {beta.toDouble(), threshold.toDouble()}}, x.tensor);
}

Tensor elu(const TensorOperand& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  const tensor::HostCall here("elu", x.where);
  return with_numbers("elu", elu_of(alpha, scale, input_scale), x.tensor);
}
Tensor& elu_(Tensor& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale, Where where) {
  const tensor::HostCall here("elu_", where);
  with_numbers("elu", elu_of(alpha, scale, input_scale), x, &x);
  return x;
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
