// One or three operands: functions of elements, clamp, where, lerp, isclose of kernbench/torch/tensor.h.
#include <fmt/format.h>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/functions/elementwise.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::DeviceOperand;
using tensor::UnaryOperation;

Tensor Tensor::neg(Where where) const {
  const tensor::HostCall here("neg", where);
  return tensor::unary(UnaryOperation::negate, *this);
}
const Tensor& Tensor::neg_(Where where) const {
  const tensor::HostCall here("neg_", where);
  return tensor::unary_in_place(UnaryOperation::negate, *this), *this;
}
Tensor Tensor::abs(Where where) const {
  const tensor::HostCall here("abs", where);
  return tensor::unary(UnaryOperation::absolute, *this);
}
const Tensor& Tensor::abs_(Where where) const {
  const tensor::HostCall here("abs_", where);
  return tensor::unary_in_place(UnaryOperation::absolute, *this), *this;
}
Tensor Tensor::sqrt(Where where) const {
  const tensor::HostCall here("sqrt", where);
  return tensor::unary(UnaryOperation::square_root, *this);
}
const Tensor& Tensor::sqrt_(Where where) const {
  const tensor::HostCall here("sqrt_", where);
  return tensor::unary_in_place(UnaryOperation::square_root, *this), *this;
}
Tensor Tensor::rsqrt(Where where) const {
  const tensor::HostCall here("rsqrt", where);
  return tensor::unary(UnaryOperation::reciprocal_square_root, *this);
}
const Tensor& Tensor::rsqrt_(Where where) const {
  const tensor::HostCall here("rsqrt_", where);
  return tensor::unary_in_place(UnaryOperation::reciprocal_square_root, *this), *this;
}
Tensor Tensor::reciprocal(Where where) const {
  const tensor::HostCall here("reciprocal", where);
  return tensor::unary(UnaryOperation::reciprocal, *this);
}
const Tensor& Tensor::reciprocal_(Where where) const {
  const tensor::HostCall here("reciprocal_", where);
  return tensor::unary_in_place(UnaryOperation::reciprocal, *this), *this;
}
Tensor Tensor::exp(Where where) const {
  const tensor::HostCall here("exp", where);
  return tensor::unary(UnaryOperation::exponential, *this);
}
const Tensor& Tensor::exp_(Where where) const {
  const tensor::HostCall here("exp_", where);
  return tensor::unary_in_place(UnaryOperation::exponential, *this), *this;
}
Tensor Tensor::exp2(Where where) const {
  const tensor::HostCall here("exp2", where);
  return tensor::unary(UnaryOperation::exponential_2, *this);
}
const Tensor& Tensor::exp2_(Where where) const {
  const tensor::HostCall here("exp2_", where);
  return tensor::unary_in_place(UnaryOperation::exponential_2, *this), *this;
}
Tensor Tensor::expm1(Where where) const {
  const tensor::HostCall here("expm1", where);
  return tensor::unary(UnaryOperation::exponential_minus_1, *this);
}
const Tensor& Tensor::expm1_(Where where) const {
  const tensor::HostCall here("expm1_", where);
  return tensor::unary_in_place(UnaryOperation::exponential_minus_1, *this), *this;
}
Tensor Tensor::log(Where where) const {
  const tensor::HostCall here("log", where);
  return tensor::unary(UnaryOperation::logarithm, *this);
}
const Tensor& Tensor::log_(Where where) const {
  const tensor::HostCall here("log_", where);
  return tensor::unary_in_place(UnaryOperation::logarithm, *this), *this;
}
Tensor Tensor::log2(Where where) const {
  const tensor::HostCall here("log2", where);
  return tensor::unary(UnaryOperation::logarithm_2, *this);
}
const Tensor& Tensor::log2_(Where where) const {
  const tensor::HostCall here("log2_", where);
  return tensor::unary_in_place(UnaryOperation::logarithm_2, *this), *this;
}
Tensor Tensor::log10(Where where) const {
  const tensor::HostCall here("log10", where);
  return tensor::unary(UnaryOperation::logarithm_10, *this);
}
const Tensor& Tensor::log10_(Where where) const {
  const tensor::HostCall here("log10_", where);
  return tensor::unary_in_place(UnaryOperation::logarithm_10, *this), *this;
}
Tensor Tensor::log1p(Where where) const {
  const tensor::HostCall here("log1p", where);
  return tensor::unary(UnaryOperation::logarithm_1_plus, *this);
}
const Tensor& Tensor::log1p_(Where where) const {
  const tensor::HostCall here("log1p_", where);
  return tensor::unary_in_place(UnaryOperation::logarithm_1_plus, *this), *this;
}
Tensor Tensor::sin(Where where) const {
  const tensor::HostCall here("sin", where);
  return tensor::unary(UnaryOperation::sine, *this);
}
const Tensor& Tensor::sin_(Where where) const {
  const tensor::HostCall here("sin_", where);
  return tensor::unary_in_place(UnaryOperation::sine, *this), *this;
}
Tensor Tensor::cos(Where where) const {
  const tensor::HostCall here("cos", where);
  return tensor::unary(UnaryOperation::cosine, *this);
}
const Tensor& Tensor::cos_(Where where) const {
  const tensor::HostCall here("cos_", where);
  return tensor::unary_in_place(UnaryOperation::cosine, *this), *this;
}
Tensor Tensor::tanh(Where where) const {
  const tensor::HostCall here("tanh", where);
  return tensor::unary(UnaryOperation::hyperbolic_tangent, *this);
}
const Tensor& Tensor::tanh_(Where where) const {
  const tensor::HostCall here("tanh_", where);
  return tensor::unary_in_place(UnaryOperation::hyperbolic_tangent, *this), *this;
}
Tensor Tensor::erf(Where where) const {
  const tensor::HostCall here("erf", where);
  return tensor::unary(UnaryOperation::error_function, *this);
}
const Tensor& Tensor::erf_(Where where) const {
  const tensor::HostCall here("erf_", where);
  return tensor::unary_in_place(UnaryOperation::error_function, *this), *this;
}
Tensor Tensor::sigmoid(Where where) const {
  const tensor::HostCall here("sigmoid", where);
  return tensor::unary(UnaryOperation::sigmoid, *this);
}
const Tensor& Tensor::sigmoid_(Where where) const {
  const tensor::HostCall here("sigmoid_", where);
  return tensor::unary_in_place(UnaryOperation::sigmoid, *this), *this;
}
Tensor Tensor::floor(Where where) const {
  const tensor::HostCall here("floor", where);
  return tensor::unary(UnaryOperation::floor, *this);
}
const Tensor& Tensor::floor_(Where where) const {
  const tensor::HostCall here("floor_", where);
  return tensor::unary_in_place(UnaryOperation::floor, *this), *this;
}
Tensor Tensor::ceil(Where where) const {
  const tensor::HostCall here("ceil", where);
  return tensor::unary(UnaryOperation::ceil, *this);
}
const Tensor& Tensor::ceil_(Where where) const {
  const tensor::HostCall here("ceil_", where);
  return tensor::unary_in_place(UnaryOperation::ceil, *this), *this;
}
Tensor Tensor::round(Where where) const {
  const tensor::HostCall here("round", where);
  return tensor::unary(UnaryOperation::round, *this);
}
const Tensor& Tensor::round_(Where where) const {
  const tensor::HostCall here("round_", where);
  return tensor::unary_in_place(UnaryOperation::round, *this), *this;
}
Tensor Tensor::trunc(Where where) const {
  const tensor::HostCall here("trunc", where);
  return tensor::unary(UnaryOperation::truncate, *this);
}
const Tensor& Tensor::trunc_(Where where) const {
  const tensor::HostCall here("trunc_", where);
  return tensor::unary_in_place(UnaryOperation::truncate, *this), *this;
}
Tensor Tensor::sign(Where where) const {
  const tensor::HostCall here("sign", where);
  return tensor::unary(UnaryOperation::sign, *this);
}
const Tensor& Tensor::sign_(Where where) const {
  const tensor::HostCall here("sign_", where);
  return tensor::unary_in_place(UnaryOperation::sign, *this), *this;
}
Tensor Tensor::bitwise_not(Where where) const {
  const tensor::HostCall here("bitwise_not", where);
  return tensor::unary(UnaryOperation::bitwise_not, *this);
}
const Tensor& Tensor::bitwise_not_(Where where) const {
  const tensor::HostCall here("bitwise_not_", where);
  return tensor::unary_in_place(UnaryOperation::bitwise_not, *this), *this;
}
Tensor Tensor::logical_not(Where where) const {
  const tensor::HostCall here("logical_not", where);
  return tensor::unary(UnaryOperation::logical_not, *this);
}
const Tensor& Tensor::logical_not_(Where where) const {
  const tensor::HostCall here("logical_not_", where);
  return tensor::unary_in_place(UnaryOperation::logical_not, *this), *this;
}
Tensor Tensor::relu(Where where) const {
  const tensor::HostCall here("relu", where);
  return tensor::unary(UnaryOperation::relu, *this);
}
const Tensor& Tensor::relu_(Where where) const {
  const tensor::HostCall here("relu_", where);
  return tensor::unary_in_place(UnaryOperation::relu, *this), *this;
}
Tensor Tensor::isnan(Where where) const {
  const tensor::HostCall here("isnan", where);
  return tensor::unary(UnaryOperation::is_nan, *this);
}
Tensor Tensor::isinf(Where where) const {
  const tensor::HostCall here("isinf", where);
  return tensor::unary(UnaryOperation::is_infinite, *this);
}
Tensor Tensor::isfinite(Where where) const {
  const tensor::HostCall here("isfinite", where);
  return tensor::unary(UnaryOperation::is_finite, *this);
}
Tensor Tensor::square(Where where) const {
  const tensor::HostCall here("square", where);
  return pow(2);
}
const Tensor& Tensor::square_(Where where) const {
  const tensor::HostCall here("square_", where);
  return pow_(2);
}
Tensor silu(const TensorOperand& x) {
  const tensor::HostCall here("silu", x.where);
  return tensor::unary(UnaryOperation::silu, x.tensor);
}
Tensor gelu(const TensorOperand& x, std::string_view approximate) {
  const tensor::HostCall here("gelu", x.where);
  if (approximate == "none") return tensor::unary(UnaryOperation::gelu, x.tensor);
  if (approximate == "tanh") return tensor::unary(UnaryOperation::gelu_tanh, x.tensor);
  tensor::fail("gelu", fmt::format("approximate argument must be either none or tanh, not {}", approximate));
}

namespace {

std::optional<DeviceOperand> bound(const std::optional<Scalar>& value) {
  return value ? std::optional<DeviceOperand>(*value) : std::nullopt;
}
std::optional<DeviceOperand> bound(const std::optional<Tensor>& value) {
  return value ? std::optional<DeviceOperand>(*value) : std::nullopt;
}

}  // namespace

Tensor Tensor::clamp(const std::optional<Scalar>& low, const std::optional<Scalar>& high, Where where) const {
  const tensor::HostCall here("clamp", where);
  return tensor::clamp(*this, bound(low), bound(high));
}
Tensor Tensor::clamp(const std::optional<Tensor>& low, const std::optional<Tensor>& high, Where where) const {
  const tensor::HostCall here("clamp", where);
  return tensor::clamp(*this, bound(low), bound(high));
}
const Tensor& Tensor::clamp_(const std::optional<Scalar>& low, const std::optional<Scalar>& high, Where where) const {
  const tensor::HostCall here("clamp_", where);
  return tensor::clamp_in_place(*this, bound(low), bound(high)), *this;
}
Tensor Tensor::clamp_min(const Scalar& low, Where where) const {
  const tensor::HostCall here("clamp_min", where);
  return tensor::clamp(*this, low, std::nullopt);
}
Tensor Tensor::clamp_min(const Tensor& low, Where where) const {
  const tensor::HostCall here("clamp_min", where);
  return tensor::clamp(*this, low, std::nullopt);
}
Tensor Tensor::clamp_max(const Scalar& high, Where where) const {
  const tensor::HostCall here("clamp_max", where);
  return tensor::clamp(*this, std::nullopt, high);
}
Tensor Tensor::clamp_max(const Tensor& high, Where where) const {
  const tensor::HostCall here("clamp_max", where);
  return tensor::clamp(*this, std::nullopt, high);
}
const Tensor& Tensor::clamp_min_(const Scalar& low, Where where) const {
  const tensor::HostCall here("clamp_min_", where);
  return tensor::clamp_in_place(*this, low, std::nullopt), *this;
}
const Tensor& Tensor::clamp_max_(const Scalar& high, Where where) const {
  const tensor::HostCall here("clamp_max_", where);
  return tensor::clamp_in_place(*this, std::nullopt, high), *this;
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, Where where) {
  const tensor::HostCall here("where", where);
  return tensor::where(condition, a, b);
}
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b, Where where) {
  const tensor::HostCall here("where", where);
  return tensor::where(condition, a, b);
}
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b, Where where) {
  const tensor::HostCall here("where", where);
  return tensor::where(condition, a, b);
}
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b, Where where) {
  const tensor::HostCall here("where", where);
  return tensor::where(condition, a, b);
}
Tensor Tensor::where(const Tensor& condition, const Tensor& other, Where where) const {
  const tensor::HostCall here("where", where);
  return tensor::where(condition, *this, other);
}

namespace {

void check_lerp(const Tensor& a, const Tensor& end) {
  if (a.scalar_type() != end.scalar_type()) {
    tensor::fail("lerp", fmt::format("expected dtype {} for `end` but got dtype {}; convert it with .to(…)",
                                     tensor::text_of(a.scalar_type()), tensor::text_of(end.scalar_type())));
  }
  if (!a.is_floating_point())
    tensor::fail_type("lerp", a.scalar_type(), "convert the operands to a floating-point type first");
}

}  // namespace

Tensor Tensor::lerp(const Tensor& end, const Scalar& weight, Where where) const {
  const tensor::HostCall here("lerp", where);
  check_lerp(*this, end);
  return tensor::multiply_add("lerp", end.sub(*this), weight, *this);
}
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight, Where where) const {
  const tensor::HostCall here("lerp", where);
  check_lerp(*this, end);
  return tensor::multiply_add("lerp", end.sub(*this), weight, *this);
}
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Scalar& value, Where where) const {
  const tensor::HostCall here("addcmul", where);
  if (value.toDouble() == 1) return tensor::multiply_add("addcmul", a, b, *this);
  return tensor::multiply_add("addcmul", a.mul(value), b, *this);
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Scalar& value, Where where) const {
  const tensor::HostCall here("addcdiv", where);
  if (!a.is_floating_point() && !b.is_floating_point()) {
    tensor::fail("addcdiv",
                 "Integer division with addcdiv is no longer supported; convert one of the tensors to a "
                 "floating-point type");
  }
  return tensor::multiply_add("addcdiv", a.div(b), value, *this);
}

Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan, Where where) const {
  const tensor::HostCall here("isclose", where);
  if (scalar_type() != other.scalar_type()) {
    tensor::fail("isclose", fmt::format("{} did not match {}; convert one with .to(…)", tensor::text_of(scalar_type()),
                                        tensor::text_of(other.scalar_type())));
  }
  if (!(rtol >= 0))
    tensor::fail("isclose", fmt::format("rtol must be greater than or equal to zero, but got {}", rtol));
  if (!(atol >= 0))
    tensor::fail("isclose", fmt::format("atol must be greater than or equal to zero, but got {}", atol));
  Tensor close = eq(other);
  if (equal_nan && is_floating_point()) close = close.logical_or(isnan().logical_and(other.isnan()));
  if (rtol == 0 && atol == 0) return close;
  const Tensor expected = other.is_floating_point() ? other : other.to(kFloat);
  const Tensor error = sub(expected).abs();
  const Tensor allowed = expected.mul(rtol).abs().add(atol);
  return close.logical_or(error.isfinite().logical_and(error.le(allowed)));
}

namespace {

void check_mask(const Tensor& mask) {
  if (mask.scalar_type() != kBool)
    tensor::fail_type("masked_fill", mask.scalar_type(), "the mask must be a bool tensor, as x > 0 is");
}

}  // namespace

Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value, Where where) const {
  const tensor::HostCall here("masked_fill", where);
  check_mask(mask);
  // The number takes this tensor's type before it is put in.
  return torch::where(mask, torch::full({}, value, scalar_type()), *this);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value, Where where) const {
  const tensor::HostCall here("masked_fill", where);
  if (value.dim() != 0) {
    tensor::fail("masked_fill", fmt::format("only supports a 0-dimensional value tensor, but got tensor with {} "
                                            "dimension(s); use torch::where for values that differ",
                                            value.dim()));
  }
  check_mask(mask);
  return torch::where(mask, value.to(scalar_type()), *this);
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value, Where where) const {
  const tensor::HostCall here("masked_fill_", where);
  return copy_(masked_fill(mask, value));
}

}  // namespace kernbench::torch
