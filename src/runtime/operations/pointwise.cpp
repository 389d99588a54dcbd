// One or three operands: functions of elements, clamp, where, lerp, isclose of kernbench/torch/tensor.h.
#include <fmt/format.h>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "runtime/operations/elementwise.h"
#include "runtime/operations/promotion.h"

namespace kernbench::torch {

using runtime::DeviceOperand;
using runtime::UnaryOperation;

Tensor Tensor::neg() const {
  return runtime::unary(UnaryOperation::negate, *this);
}
const Tensor& Tensor::neg_() const {
  return runtime::unary_in_place(UnaryOperation::negate, *this), *this;
}
Tensor Tensor::abs() const {
  return runtime::unary(UnaryOperation::absolute, *this);
}
const Tensor& Tensor::abs_() const {
  return runtime::unary_in_place(UnaryOperation::absolute, *this), *this;
}
Tensor Tensor::sqrt() const {
  return runtime::unary(UnaryOperation::square_root, *this);
}
const Tensor& Tensor::sqrt_() const {
  return runtime::unary_in_place(UnaryOperation::square_root, *this), *this;
}
Tensor Tensor::rsqrt() const {
  return runtime::unary(UnaryOperation::reciprocal_square_root, *this);
}
const Tensor& Tensor::rsqrt_() const {
  return runtime::unary_in_place(UnaryOperation::reciprocal_square_root, *this), *this;
}
Tensor Tensor::reciprocal() const {
  return runtime::unary(UnaryOperation::reciprocal, *this);
}
const Tensor& Tensor::reciprocal_() const {
  return runtime::unary_in_place(UnaryOperation::reciprocal, *this), *this;
}
Tensor Tensor::exp() const {
  return runtime::unary(UnaryOperation::exponential, *this);
}
const Tensor& Tensor::exp_() const {
  return runtime::unary_in_place(UnaryOperation::exponential, *this), *this;
}
Tensor Tensor::exp2() const {
  return runtime::unary(UnaryOperation::exponential_2, *this);
}
const Tensor& Tensor::exp2_() const {
  return runtime::unary_in_place(UnaryOperation::exponential_2, *this), *this;
}
Tensor Tensor::expm1() const {
  return runtime::unary(UnaryOperation::exponential_minus_1, *this);
}
const Tensor& Tensor::expm1_() const {
  return runtime::unary_in_place(UnaryOperation::exponential_minus_1, *this), *this;
}
Tensor Tensor::log() const {
  return runtime::unary(UnaryOperation::logarithm, *this);
}
const Tensor& Tensor::log_() const {
  return runtime::unary_in_place(UnaryOperation::logarithm, *this), *this;
}
Tensor Tensor::log2() const {
  return runtime::unary(UnaryOperation::logarithm_2, *this);
}
const Tensor& Tensor::log2_() const {
  return runtime::unary_in_place(UnaryOperation::logarithm_2, *this), *this;
}
Tensor Tensor::log10() const {
  return runtime::unary(UnaryOperation::logarithm_10, *this);
}
const Tensor& Tensor::log10_() const {
  return runtime::unary_in_place(UnaryOperation::logarithm_10, *this), *this;
}
Tensor Tensor::log1p() const {
  return runtime::unary(UnaryOperation::logarithm_1_plus, *this);
}
const Tensor& Tensor::log1p_() const {
  return runtime::unary_in_place(UnaryOperation::logarithm_1_plus, *this), *this;
}
Tensor Tensor::sin() const {
  return runtime::unary(UnaryOperation::sine, *this);
}
const Tensor& Tensor::sin_() const {
  return runtime::unary_in_place(UnaryOperation::sine, *this), *this;
}
Tensor Tensor::cos() const {
  return runtime::unary(UnaryOperation::cosine, *this);
}
const Tensor& Tensor::cos_() const {
  return runtime::unary_in_place(UnaryOperation::cosine, *this), *this;
}
Tensor Tensor::tanh() const {
  return runtime::unary(UnaryOperation::hyperbolic_tangent, *this);
}
const Tensor& Tensor::tanh_() const {
  return runtime::unary_in_place(UnaryOperation::hyperbolic_tangent, *this), *this;
}
Tensor Tensor::erf() const {
  return runtime::unary(UnaryOperation::error_function, *this);
}
const Tensor& Tensor::erf_() const {
  return runtime::unary_in_place(UnaryOperation::error_function, *this), *this;
}
Tensor Tensor::sigmoid() const {
  return runtime::unary(UnaryOperation::sigmoid, *this);
}
const Tensor& Tensor::sigmoid_() const {
  return runtime::unary_in_place(UnaryOperation::sigmoid, *this), *this;
}
Tensor Tensor::floor() const {
  return runtime::unary(UnaryOperation::floor, *this);
}
const Tensor& Tensor::floor_() const {
  return runtime::unary_in_place(UnaryOperation::floor, *this), *this;
}
Tensor Tensor::ceil() const {
  return runtime::unary(UnaryOperation::ceil, *this);
}
const Tensor& Tensor::ceil_() const {
  return runtime::unary_in_place(UnaryOperation::ceil, *this), *this;
}
Tensor Tensor::round() const {
  return runtime::unary(UnaryOperation::round, *this);
}
const Tensor& Tensor::round_() const {
  return runtime::unary_in_place(UnaryOperation::round, *this), *this;
}
Tensor Tensor::trunc() const {
  return runtime::unary(UnaryOperation::truncate, *this);
}
const Tensor& Tensor::trunc_() const {
  return runtime::unary_in_place(UnaryOperation::truncate, *this), *this;
}
Tensor Tensor::sign() const {
  return runtime::unary(UnaryOperation::sign, *this);
}
const Tensor& Tensor::sign_() const {
  return runtime::unary_in_place(UnaryOperation::sign, *this), *this;
}
Tensor Tensor::bitwise_not() const {
  return runtime::unary(UnaryOperation::bitwise_not, *this);
}
const Tensor& Tensor::bitwise_not_() const {
  return runtime::unary_in_place(UnaryOperation::bitwise_not, *this), *this;
}
Tensor Tensor::logical_not() const {
  return runtime::unary(UnaryOperation::logical_not, *this);
}
const Tensor& Tensor::logical_not_() const {
  return runtime::unary_in_place(UnaryOperation::logical_not, *this), *this;
}
Tensor Tensor::relu() const {
  return runtime::unary(UnaryOperation::relu, *this);
}
const Tensor& Tensor::relu_() const {
  return runtime::unary_in_place(UnaryOperation::relu, *this), *this;
}
Tensor Tensor::isnan() const {
  return runtime::unary(UnaryOperation::is_nan, *this);
}
Tensor Tensor::isinf() const {
  return runtime::unary(UnaryOperation::is_infinite, *this);
}
Tensor Tensor::isfinite() const {
  return runtime::unary(UnaryOperation::is_finite, *this);
}
Tensor Tensor::square() const {
  return pow(2);
}
const Tensor& Tensor::square_() const {
  return pow_(2);
}
Tensor silu(const Tensor& x) {
  return runtime::unary(UnaryOperation::silu, x);
}
Tensor gelu(const Tensor& x, std::string_view approximate) {
  if (approximate == "none") return runtime::unary(UnaryOperation::gelu, x);
  if (approximate == "tanh") return runtime::unary(UnaryOperation::gelu_tanh, x);
  runtime::fail("gelu", fmt::format("approximate argument must be either none or tanh, not {}", approximate));
}

namespace {

std::optional<DeviceOperand> bound(const std::optional<Scalar>& value) {
  return value ? std::optional<DeviceOperand>(*value) : std::nullopt;
}
std::optional<DeviceOperand> bound(const std::optional<Tensor>& value) {
  return value ? std::optional<DeviceOperand>(*value) : std::nullopt;
}

}  // namespace

Tensor Tensor::clamp(const std::optional<Scalar>& low, const std::optional<Scalar>& high) const {
  return runtime::clamp(*this, bound(low), bound(high));
}
Tensor Tensor::clamp(const std::optional<Tensor>& low, const std::optional<Tensor>& high) const {
  return runtime::clamp(*this, bound(low), bound(high));
}
const Tensor& Tensor::clamp_(const std::optional<Scalar>& low, const std::optional<Scalar>& high) const {
  return runtime::clamp_in_place(*this, bound(low), bound(high)), *this;
}
Tensor Tensor::clamp_min(const Scalar& low) const {
  return runtime::clamp(*this, low, std::nullopt);
}
Tensor Tensor::clamp_min(const Tensor& low) const {
  return runtime::clamp(*this, low, std::nullopt);
}
Tensor Tensor::clamp_max(const Scalar& high) const {
  return runtime::clamp(*this, std::nullopt, high);
}
Tensor Tensor::clamp_max(const Tensor& high) const {
  return runtime::clamp(*this, std::nullopt, high);
}
const Tensor& Tensor::clamp_min_(const Scalar& low) const {
  return runtime::clamp_in_place(*this, low, std::nullopt), *this;
}
const Tensor& Tensor::clamp_max_(const Scalar& high) const {
  return runtime::clamp_in_place(*this, std::nullopt, high), *this;
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return runtime::where(condition, a, b);
}
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b) {
  return runtime::where(condition, a, b);
}
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b) {
  return runtime::where(condition, a, b);
}
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b) {
  return runtime::where(condition, a, b);
}
Tensor Tensor::where(const Tensor& condition, const Tensor& other) const {
  return runtime::where(condition, *this, other);
}

namespace {

void check_lerp(const Tensor& a, const Tensor& end) {
  if (a.scalar_type() != end.scalar_type()) {
    runtime::fail("lerp", fmt::format("expected dtype {} for `end` but got dtype {}; convert it with .to(…)",
                                      runtime::text_of(a.scalar_type()), runtime::text_of(end.scalar_type())));
  }
  if (!a.is_floating_point())
    runtime::fail_type("lerp", a.scalar_type(), "convert the operands to a floating-point type first");
}

}  // namespace

Tensor Tensor::lerp(const Tensor& end, const Scalar& weight) const {
  check_lerp(*this, end);
  return runtime::multiply_add("lerp", end.sub(*this), weight, *this);
}
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight) const {
  check_lerp(*this, end);
  return runtime::multiply_add("lerp", end.sub(*this), weight, *this);
}
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Scalar& value) const {
  if (value.toDouble() == 1) return runtime::multiply_add("addcmul", a, b, *this);
  return runtime::multiply_add("addcmul", a.mul(value), b, *this);
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Scalar& value) const {
  if (!a.is_floating_point() && !b.is_floating_point()) {
    runtime::fail("addcdiv",
                  "Integer division with addcdiv is no longer supported; convert one of the tensors to a "
                  "floating-point type");
  }
  return runtime::multiply_add("addcdiv", a.div(b), value, *this);
}

Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  if (scalar_type() != other.scalar_type()) {
    runtime::fail("isclose", fmt::format("{} did not match {}; convert one with .to(…)",
                                         runtime::text_of(scalar_type()), runtime::text_of(other.scalar_type())));
  }
  if (!(rtol >= 0))
    runtime::fail("isclose", fmt::format("rtol must be greater than or equal to zero, but got {}", rtol));
  if (!(atol >= 0))
    runtime::fail("isclose", fmt::format("atol must be greater than or equal to zero, but got {}", atol));
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
    runtime::fail_type("masked_fill", mask.scalar_type(), "the mask must be a bool tensor, as x > 0 is");
}

}  // namespace

Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  check_mask(mask);
  // The number takes this tensor's type before it is put in.
  return torch::where(mask, torch::full({}, value, scalar_type()), *this);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value) const {
  if (value.dim() != 0) {
    runtime::fail("masked_fill", fmt::format("only supports a 0-dimensional value tensor, but got tensor with {} "
                                             "dimension(s); use torch::where for values that differ",
                                             value.dim()));
  }
  check_mask(mask);
  return torch::where(mask, value.to(scalar_type()), *this);
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) const {
  return copy_(masked_fill(mask, value));
}

}  // namespace kernbench::torch
