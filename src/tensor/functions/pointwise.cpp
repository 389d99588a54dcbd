// One or three operands: functions of elements, clamp, where, lerp, isclose of kernbench/torch/tensor.h.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/functions/elementwise.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::ComposedOperation;
using tensor::Composition;
using tensor::DeviceOperand;
using tensor::UnaryOperation;

namespace {

Tensor unary(const char* call, UnaryOperation operation, const Tensor& x, Where where) {
  const tensor::HostCall here(call, where);
  return tensor::unary(operation, x);
}
const Tensor& unary_in_place(const char* call, UnaryOperation operation, const Tensor& x, Where where) {
  const tensor::HostCall here(call, where);
  tensor::unary_in_place(operation, x);
  return x;  // NOLINT(bugprone-return-const-ref-from-parameter): *this of the caller
}

}  // namespace

#define KERNBENCH_QUESTION(operation, name, ...)                  \
  Tensor Tensor::name(Where where) const {                        \
    return unary(#name, UnaryOperation::operation, *this, where); \
  }
#define KERNBENCH_TENSOR_FUNCTION(operation, name, ...)                        \
  Tensor Tensor::name(Where where) const {                                     \
    return unary(#name, UnaryOperation::operation, *this, where);              \
  }                                                                            \
  const Tensor& Tensor::name##_(Where where) const {                           \
    return unary_in_place(#name "_", UnaryOperation::operation, *this, where); \
  }
#include "kernbench/elementwise/unary.def"

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

/// The largest finite number.
double largest_of(ScalarType type) {
  switch (type) {
    case kHalf:
      return 65504;
    case kBFloat16:
      return 0x1.FEp127;
    case kFloat:
      return std::numeric_limits<float>::max();
    case kDouble:
      return std::numeric_limits<double>::max();
    default:
      tensor::fail_type("nan_to_num", type, "convert to a wider floating-point type first");
  }
}

ComposedOperation nan_to_num_of(ScalarType type, std::optional<double> nan, std::optional<double> posinf,
                                std::optional<double> neginf) {
  const double most = largest_of(type);
  return {Composition::nan_to_num, {nan.value_or(0), posinf.value_or(most), neginf.value_or(-most)}};
}

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
  const std::array<DeviceOperand, 2> operands{*this, end};
  return tensor::composed("lerp", {Composition::lerp, {weight.toDouble()}}, operands);
}
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight, Where where) const {
  const tensor::HostCall here("lerp", where);
  check_lerp(*this, end);
  const std::array<DeviceOperand, 3> operands{*this, end, weight};
  return tensor::composed("lerp", {Composition::lerp_each}, operands).to(scalar_type());
}
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Scalar& value, Where where) const {
  const tensor::HostCall here("addcmul", where);
  if (value.toDouble() == 1) return tensor::multiply_add("addcmul", a, b, *this);
  const std::array<DeviceOperand, 3> operands{*this, a, b};
  const ScalarType type = tensor::result_type(operands);
  if (kernbench::is_floating_point(type))
    return tensor::composed("addcmul", {Composition::addcmul, {value.toDouble()}}, operands);
  return tensor::multiply_add("addcmul", a.to(type).mul(value.toLong()), b.to(type), to(type));
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Scalar& value, Where where) const {
  const tensor::HostCall here("addcdiv", where);
  if (!a.is_floating_point() && !b.is_floating_point()) {
    tensor::fail("addcdiv",
                 "Integer division with addcdiv is no longer supported; convert one of the tensors to a "
                 "floating-point type");
  }
  const std::array<DeviceOperand, 3> operands{*this, a, b};
  return tensor::composed("addcdiv", {Composition::addcdiv, {value.toDouble()}}, operands);
}

Tensor Tensor::nan_to_num(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf,
                          Where where) const {
  const tensor::HostCall here("nan_to_num", where);
  if (!is_floating_point()) return clone();
  const std::array<DeviceOperand, 1> operands{*this};
  return tensor::composed("nan_to_num", nan_to_num_of(scalar_type(), nan, posinf, neginf), operands);
}
const Tensor& Tensor::nan_to_num_(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf,
                                  Where where) const {
  const tensor::HostCall here("nan_to_num_", where);
  if (!is_floating_point()) return *this;
  const std::array<DeviceOperand, 1> operands{*this};
  tensor::composed("nan_to_num", nan_to_num_of(scalar_type(), nan, posinf, neginf), operands, this);
  return *this;
}

Tensor Tensor::heaviside(const Tensor& values, Where where) const {
  const tensor::HostCall here("heaviside", where);
  if (scalar_type() != values.scalar_type()) {
    tensor::fail("heaviside",
                 fmt::format("heaviside is not yet implemented for tensors with different dtypes, {} and {}; convert "
                             "one with .to(…)",
                             tensor::text_of(scalar_type()), tensor::text_of(values.scalar_type())));
  }
  return tensor::where(eq(0), values, gt(0).to(scalar_type()));
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
  if (is_floating_point() && (rtol != 0 || atol != 0)) {
    const std::array<DeviceOperand, 2> operands{*this, other};
    return tensor::composed("isclose", {Composition::isclose, {rtol, atol, equal_nan ? 1.0 : 0.0}}, operands);
  }
  Tensor close = eq(other);
  if (equal_nan && is_floating_point()) close = close.logical_or(isnan().logical_and(other.isnan()));
  if (rtol == 0 && atol == 0) return close;
  const Tensor expected = other.is_floating_point() ? other : other.to(kFloat);
  const Tensor error = (scalar_type() == kBool ? to(kFloat) : *this).sub(expected).abs();
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
  check_mask(mask);
  return tensor::where_in_place("masked_fill", mask, torch::full({}, value, scalar_type()), *this), *this;
}

}  // namespace kernbench::torch
