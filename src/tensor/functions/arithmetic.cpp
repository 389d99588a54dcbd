// Two operands: arithmetic, comparisons, logic of kernbench/torch/tensor.h and operations.h.
#include <fmt/format.h>

#include "kernbench/torch/operations.h"
#include "tensor/functions/elementwise.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::BinaryOperation;
using tensor::DeviceOperand;

namespace {

/// a + alpha * b, or a - alpha * b.
void check_alpha(const char* call, const DeviceOperand& a, const DeviceOperand& b, const Scalar& alpha) {
  const std::array operands{a, b};
  const ScalarType type = tensor::result_type(operands);
  if (alpha.isBoolean() && type != kBool) tensor::fail(call, "Boolean alpha only supported for Boolean results.");
  if (alpha.isFloatingPoint() && tensor::is_integral(type, true))
    tensor::fail(call, "For integral input tensors, argument alpha must not be a floating point number.");
}

bool is_one(const Scalar& alpha) {
  return alpha.isIntegral(false) && alpha.toLong() == 1;
}

Scalar negated(const Scalar& alpha) {
  return alpha.isFloatingPoint() ? Scalar(-alpha.toDouble()) : Scalar(-alpha.toLong());
}

Tensor scaled_sum(const char* call, const DeviceOperand& a, const DeviceOperand& b, const Scalar& alpha) {
  check_alpha(call, a, b, alpha);
  return tensor::multiply_add(call, b, alpha, a);
}

BinaryOperation division(std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return BinaryOperation::divide;
  if (*rounding_mode == "trunc") return BinaryOperation::truncate_divide;
  if (*rounding_mode == "floor") return BinaryOperation::floor_divide;
  tensor::fail("div", fmt::format("expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'",
                                  *rounding_mode));
}

}  // namespace

Tensor Tensor::add(const Tensor& other, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("add", where);
  if (is_one(alpha)) return tensor::binary(BinaryOperation::add, *this, other);
  return scaled_sum("add", *this, other, alpha);
}
Tensor Tensor::sub(const Tensor& other, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("sub", where);
  if (is_one(alpha)) return tensor::binary(BinaryOperation::subtract, *this, other);
  return scaled_sum("sub", *this, other, negated(alpha));
}
const Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("add_", where);
  if (is_one(alpha)) {
    tensor::binary_in_place(BinaryOperation::add, *this, other);
  } else {
    check_alpha("add_", *this, other, alpha);
    tensor::multiply_add_in_place("add_", *this, other, alpha);
  }
  return *this;
}
const Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("sub_", where);
  if (is_one(alpha)) {
    tensor::binary_in_place(BinaryOperation::subtract, *this, other);
  } else {
    check_alpha("sub_", *this, other, alpha);
    tensor::multiply_add_in_place("sub_", *this, other, negated(alpha));
  }
  return *this;
}
Tensor Tensor::div(const Tensor& other, std::optional<std::string_view> rounding_mode, Where where) const {
  const tensor::HostCall here("div", where);
  return tensor::binary(division(rounding_mode), *this, other);
}
Tensor rsub(const Tensor& a, const Tensor& b, const Scalar& alpha, Where where) {
  const tensor::HostCall here("rsub", where);
  if (is_one(alpha)) return tensor::binary(BinaryOperation::subtract, b, a);
  return scaled_sum("rsub", b, a, negated(alpha));
}
Tensor Tensor::add(const Scalar& other, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("add", where);
  if (is_one(alpha)) return tensor::binary(BinaryOperation::add, *this, other);
  return scaled_sum("add", *this, other, alpha);
}
Tensor Tensor::sub(const Scalar& other, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("sub", where);
  if (is_one(alpha)) return tensor::binary(BinaryOperation::subtract, *this, other);
  return scaled_sum("sub", *this, other, negated(alpha));
}
const Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("add_", where);
  if (is_one(alpha)) {
    tensor::binary_in_place(BinaryOperation::add, *this, other);
  } else {
    check_alpha("add_", *this, other, alpha);
    tensor::multiply_add_in_place("add_", *this, other, alpha);
  }
  return *this;
}
const Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("sub_", where);
  if (is_one(alpha)) {
    tensor::binary_in_place(BinaryOperation::subtract, *this, other);
  } else {
    check_alpha("sub_", *this, other, alpha);
    tensor::multiply_add_in_place("sub_", *this, other, negated(alpha));
  }
  return *this;
}
Tensor Tensor::div(const Scalar& other, std::optional<std::string_view> rounding_mode, Where where) const {
  const tensor::HostCall here("div", where);
  return tensor::binary(division(rounding_mode), *this, other);
}
Tensor rsub(const Tensor& a, const Scalar& b, const Scalar& alpha, Where where) {
  const tensor::HostCall here("rsub", where);
  if (is_one(alpha)) return tensor::binary(BinaryOperation::subtract, b, a);
  return scaled_sum("rsub", b, a, negated(alpha));
}
Tensor Tensor::mul(const Tensor& other, Where where) const {
  const tensor::HostCall here("mul", where);
  return tensor::binary(BinaryOperation::multiply, *this, other);
}
const Tensor& Tensor::mul_(const Tensor& other, Where where) const {
  const tensor::HostCall here("mul_", where);
  return tensor::binary_in_place(BinaryOperation::multiply, *this, other), *this;
}
Tensor Tensor::mul(const Scalar& other, Where where) const {
  const tensor::HostCall here("mul", where);
  return tensor::binary(BinaryOperation::multiply, *this, other);
}
const Tensor& Tensor::mul_(const Scalar& other, Where where) const {
  const tensor::HostCall here("mul_", where);
  return tensor::binary_in_place(BinaryOperation::multiply, *this, other), *this;
}
Tensor Tensor::floor_divide(const Tensor& other, Where where) const {
  const tensor::HostCall here("floor_divide", where);
  return tensor::binary(BinaryOperation::floor_divide, *this, other);
}
const Tensor& Tensor::floor_divide_(const Tensor& other, Where where) const {
  const tensor::HostCall here("floor_divide_", where);
  return tensor::binary_in_place(BinaryOperation::floor_divide, *this, other), *this;
}
Tensor Tensor::floor_divide(const Scalar& other, Where where) const {
  const tensor::HostCall here("floor_divide", where);
  return tensor::binary(BinaryOperation::floor_divide, *this, other);
}
const Tensor& Tensor::floor_divide_(const Scalar& other, Where where) const {
  const tensor::HostCall here("floor_divide_", where);
  return tensor::binary_in_place(BinaryOperation::floor_divide, *this, other), *this;
}
Tensor Tensor::remainder(const Tensor& other, Where where) const {
  const tensor::HostCall here("remainder", where);
  return tensor::binary(BinaryOperation::remainder, *this, other);
}
const Tensor& Tensor::remainder_(const Tensor& other, Where where) const {
  const tensor::HostCall here("remainder_", where);
  return tensor::binary_in_place(BinaryOperation::remainder, *this, other), *this;
}
Tensor Tensor::remainder(const Scalar& other, Where where) const {
  const tensor::HostCall here("remainder", where);
  return tensor::binary(BinaryOperation::remainder, *this, other);
}
const Tensor& Tensor::remainder_(const Scalar& other, Where where) const {
  const tensor::HostCall here("remainder_", where);
  return tensor::binary_in_place(BinaryOperation::remainder, *this, other), *this;
}
Tensor Tensor::fmod(const Tensor& other, Where where) const {
  const tensor::HostCall here("fmod", where);
  return tensor::binary(BinaryOperation::fmod, *this, other);
}
const Tensor& Tensor::fmod_(const Tensor& other, Where where) const {
  const tensor::HostCall here("fmod_", where);
  return tensor::binary_in_place(BinaryOperation::fmod, *this, other), *this;
}
Tensor Tensor::fmod(const Scalar& other, Where where) const {
  const tensor::HostCall here("fmod", where);
  return tensor::binary(BinaryOperation::fmod, *this, other);
}
const Tensor& Tensor::fmod_(const Scalar& other, Where where) const {
  const tensor::HostCall here("fmod_", where);
  return tensor::binary_in_place(BinaryOperation::fmod, *this, other), *this;
}
Tensor Tensor::pow(const Tensor& other, Where where) const {
  const tensor::HostCall here("pow", where);
  return tensor::binary(BinaryOperation::power, *this, other);
}
const Tensor& Tensor::pow_(const Tensor& other, Where where) const {
  const tensor::HostCall here("pow_", where);
  return tensor::binary_in_place(BinaryOperation::power, *this, other), *this;
}
Tensor Tensor::pow(const Scalar& other, Where where) const {
  const tensor::HostCall here("pow", where);
  return tensor::binary(BinaryOperation::power, *this, other);
}
const Tensor& Tensor::pow_(const Scalar& other, Where where) const {
  const tensor::HostCall here("pow_", where);
  return tensor::binary_in_place(BinaryOperation::power, *this, other), *this;
}
Tensor Tensor::bitwise_and(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_and", where);
  return tensor::binary(BinaryOperation::bitwise_and, *this, other);
}
const Tensor& Tensor::bitwise_and_(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_and_", where);
  return tensor::binary_in_place(BinaryOperation::bitwise_and, *this, other), *this;
}
Tensor Tensor::bitwise_and(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_and", where);
  return tensor::binary(BinaryOperation::bitwise_and, *this, other);
}
const Tensor& Tensor::bitwise_and_(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_and_", where);
  return tensor::binary_in_place(BinaryOperation::bitwise_and, *this, other), *this;
}
Tensor Tensor::bitwise_or(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_or", where);
  return tensor::binary(BinaryOperation::bitwise_or, *this, other);
}
const Tensor& Tensor::bitwise_or_(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_or_", where);
  return tensor::binary_in_place(BinaryOperation::bitwise_or, *this, other), *this;
}
Tensor Tensor::bitwise_or(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_or", where);
  return tensor::binary(BinaryOperation::bitwise_or, *this, other);
}
const Tensor& Tensor::bitwise_or_(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_or_", where);
  return tensor::binary_in_place(BinaryOperation::bitwise_or, *this, other), *this;
}
Tensor Tensor::bitwise_xor(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_xor", where);
  return tensor::binary(BinaryOperation::bitwise_xor, *this, other);
}
const Tensor& Tensor::bitwise_xor_(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_xor_", where);
  return tensor::binary_in_place(BinaryOperation::bitwise_xor, *this, other), *this;
}
Tensor Tensor::bitwise_xor(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_xor", where);
  return tensor::binary(BinaryOperation::bitwise_xor, *this, other);
}
const Tensor& Tensor::bitwise_xor_(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_xor_", where);
  return tensor::binary_in_place(BinaryOperation::bitwise_xor, *this, other), *this;
}
Tensor Tensor::bitwise_left_shift(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_left_shift", where);
  return tensor::binary(BinaryOperation::shift_left, *this, other);
}
const Tensor& Tensor::bitwise_left_shift_(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_left_shift_", where);
  return tensor::binary_in_place(BinaryOperation::shift_left, *this, other), *this;
}
Tensor Tensor::bitwise_left_shift(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_left_shift", where);
  return tensor::binary(BinaryOperation::shift_left, *this, other);
}
const Tensor& Tensor::bitwise_left_shift_(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_left_shift_", where);
  return tensor::binary_in_place(BinaryOperation::shift_left, *this, other), *this;
}
Tensor Tensor::bitwise_right_shift(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_right_shift", where);
  return tensor::binary(BinaryOperation::shift_right, *this, other);
}
const Tensor& Tensor::bitwise_right_shift_(const Tensor& other, Where where) const {
  const tensor::HostCall here("bitwise_right_shift_", where);
  return tensor::binary_in_place(BinaryOperation::shift_right, *this, other), *this;
}
Tensor Tensor::bitwise_right_shift(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_right_shift", where);
  return tensor::binary(BinaryOperation::shift_right, *this, other);
}
const Tensor& Tensor::bitwise_right_shift_(const Scalar& other, Where where) const {
  const tensor::HostCall here("bitwise_right_shift_", where);
  return tensor::binary_in_place(BinaryOperation::shift_right, *this, other), *this;
}
Tensor Tensor::div(const Tensor& other, Where where) const {
  const tensor::HostCall here("div", where);
  return tensor::binary(BinaryOperation::divide, *this, other);
}
const Tensor& Tensor::div_(const Tensor& other, Where where) const {
  const tensor::HostCall here("div_", where);
  return tensor::binary_in_place(BinaryOperation::divide, *this, other), *this;
}
Tensor Tensor::div(const Scalar& other, Where where) const {
  const tensor::HostCall here("div", where);
  return tensor::binary(BinaryOperation::divide, *this, other);
}
const Tensor& Tensor::div_(const Scalar& other, Where where) const {
  const tensor::HostCall here("div_", where);
  return tensor::binary_in_place(BinaryOperation::divide, *this, other), *this;
}
Tensor Tensor::eq(const Tensor& other, Where where) const {
  const tensor::HostCall here("eq", where);
  return tensor::binary(BinaryOperation::equal, *this, other);
}
Tensor Tensor::eq(const Scalar& other, Where where) const {
  const tensor::HostCall here("eq", where);
  return tensor::binary(BinaryOperation::equal, *this, other);
}
Tensor Tensor::ne(const Tensor& other, Where where) const {
  const tensor::HostCall here("ne", where);
  return tensor::binary(BinaryOperation::not_equal, *this, other);
}
Tensor Tensor::ne(const Scalar& other, Where where) const {
  const tensor::HostCall here("ne", where);
  return tensor::binary(BinaryOperation::not_equal, *this, other);
}
Tensor Tensor::lt(const Tensor& other, Where where) const {
  const tensor::HostCall here("lt", where);
  return tensor::binary(BinaryOperation::less, *this, other);
}
Tensor Tensor::lt(const Scalar& other, Where where) const {
  const tensor::HostCall here("lt", where);
  return tensor::binary(BinaryOperation::less, *this, other);
}
Tensor Tensor::le(const Tensor& other, Where where) const {
  const tensor::HostCall here("le", where);
  return tensor::binary(BinaryOperation::less_equal, *this, other);
}
Tensor Tensor::le(const Scalar& other, Where where) const {
  const tensor::HostCall here("le", where);
  return tensor::binary(BinaryOperation::less_equal, *this, other);
}
Tensor Tensor::gt(const Tensor& other, Where where) const {
  const tensor::HostCall here("gt", where);
  return tensor::binary(BinaryOperation::greater, *this, other);
}
Tensor Tensor::gt(const Scalar& other, Where where) const {
  const tensor::HostCall here("gt", where);
  return tensor::binary(BinaryOperation::greater, *this, other);
}
Tensor Tensor::ge(const Tensor& other, Where where) const {
  const tensor::HostCall here("ge", where);
  return tensor::binary(BinaryOperation::greater_equal, *this, other);
}
Tensor Tensor::ge(const Scalar& other, Where where) const {
  const tensor::HostCall here("ge", where);
  return tensor::binary(BinaryOperation::greater_equal, *this, other);
}
Tensor Tensor::maximum(const Tensor& other, Where where) const {
  const tensor::HostCall here("maximum", where);
  return tensor::binary(BinaryOperation::maximum, *this, other);
}
Tensor Tensor::minimum(const Tensor& other, Where where) const {
  const tensor::HostCall here("minimum", where);
  return tensor::binary(BinaryOperation::minimum, *this, other);
}
Tensor Tensor::logical_and(const Tensor& other, Where where) const {
  const tensor::HostCall here("logical_and", where);
  return tensor::binary(BinaryOperation::logical_and, *this, other);
}
Tensor Tensor::logical_or(const Tensor& other, Where where) const {
  const tensor::HostCall here("logical_or", where);
  return tensor::binary(BinaryOperation::logical_or, *this, other);
}
Tensor Tensor::logical_xor(const Tensor& other, Where where) const {
  const tensor::HostCall here("logical_xor", where);
  return tensor::binary(BinaryOperation::logical_xor, *this, other);
}
Tensor pow(const Scalar& a, const Tensor& b, Where where) {
  const tensor::HostCall here("pow", where);
  return tensor::binary(BinaryOperation::power, a, b);
}
Tensor remainder(const Scalar& a, const Tensor& b, Where where) {
  const tensor::HostCall here("remainder", where);
  return tensor::binary(BinaryOperation::remainder, a, b);
}

namespace detail {

namespace {

/// libtorch fills a tensor like `b` with the number and goes on in place: the number takes the type of `b` first.
Tensor reversed(BinaryOperation operation, const Scalar& a, const Tensor& b) {
  const ScalarType type = b.scalar_type();
  const Scalar number = is_floating_point(type) ? a : type == kBool ? Scalar(a.toBool()) : Scalar(a.toLong());
  Tensor result = tensor::binary(operation, number, b);
  if (result.scalar_type() != type) {
    tensor::fail(tensor::name(operation),
                 fmt::format("result type {} can't be cast to the desired output type {}: a number before the operator "
                             "takes the type of the tensor; convert the tensor with .to(torch::kFloat) first",
                             tensor::text_of(result.scalar_type()), tensor::text_of(type)));
  }
  return result;
}

}  // namespace

Tensor reversed_sub(const Scalar& a, const Tensor& b, Where where) {
  const tensor::HostCall here("sub", where);
  return reversed(BinaryOperation::subtract, a, b);
}
Tensor reversed_div(const Scalar& a, const Tensor& b, Where where) {
  const tensor::HostCall here("div", where);
  return reversed(BinaryOperation::divide, a, b);
}
Tensor reversed_remainder(const Scalar& a, const Tensor& b, Where where) {
  const tensor::HostCall here("remainder", where);
  return reversed(BinaryOperation::remainder, a, b);
}

}  // namespace detail

ScalarType result_type(const Tensor& a, const Tensor& b) {
  const std::array<DeviceOperand, 2> operands{a, b};
  return tensor::result_type(operands);
}
ScalarType result_type(const Tensor& a, const Scalar& b) {
  const std::array<DeviceOperand, 2> operands{a, b};
  return tensor::result_type(operands);
}
ScalarType promote_types(ScalarType a, ScalarType b) {
  return tensor::promoted(a, b);
}
bool can_cast(ScalarType from, ScalarType to) {
  return tensor::can_cast(from, to);
}

}  // namespace kernbench::torch
