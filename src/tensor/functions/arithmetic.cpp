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

Tensor binary(const char* call, BinaryOperation operation, const Tensor& a, const DeviceOperand& b, Where where) {
  const tensor::HostCall here(call, where);
  return tensor::binary(operation, a, b);
}
/// Undefined is above all the gradient of a parameter that nobody has set.
void check_has_elements_to_change(const char* call, const Tensor& a) {
  if (a.defined()) return;
  tensor::fail(call,
               "the tensor is undefined, as a parameter's gradient is before it is set: assign it first, "
               "p.mutable_grad() = g, and add from then on; zero_grad(false) between steps leaves zeros to add to");
}

const Tensor& binary_in_place(const char* call, BinaryOperation operation, const Tensor& a, const DeviceOperand& b,
                              Where where) {
  const tensor::HostCall here(call, where);
  check_has_elements_to_change(call, a);
  tensor::binary_in_place(operation, a, b);
  return a;  // NOLINT(bugprone-return-const-ref-from-parameter): *this of the caller
}

/// The alpha of a + alpha * b, or a - alpha * b.
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

/// a + alpha * b, or with `subtract` a - alpha * b.
Tensor scaled_sum(const char* call, BinaryOperation operation, const DeviceOperand& a, const DeviceOperand& b,
                  const Scalar& alpha, Where where) {
  const tensor::HostCall here(call, where);
  if (is_one(alpha)) return tensor::binary(operation, a, b);
  check_alpha(call, a, b, alpha);
  return tensor::multiply_add(call, b, operation == BinaryOperation::subtract ? negated(alpha) : alpha, a);
}
const Tensor& scaled_sum_in_place(const char* call, BinaryOperation operation, const Tensor& a, const DeviceOperand& b,
                                  const Scalar& alpha, Where where) {
  if (is_one(alpha)) return binary_in_place(call, operation, a, b, where);
  const tensor::HostCall here(call, where);
  check_has_elements_to_change(call, a);
  check_alpha(call, a, b, alpha);
  tensor::multiply_add_in_place(call, a, b, operation == BinaryOperation::subtract ? negated(alpha) : alpha);
  return a;  // NOLINT(bugprone-return-const-ref-from-parameter): *this of the caller
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
  return scaled_sum("add", BinaryOperation::add, *this, other, alpha, where);
}
Tensor Tensor::sub(const Tensor& other, const Scalar& alpha, Where where) const {
  return scaled_sum("sub", BinaryOperation::subtract, *this, other, alpha, where);
}
const Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha, Where where) const {
  return scaled_sum_in_place("add_", BinaryOperation::add, *this, other, alpha, where);
}
const Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha, Where where) const {
  return scaled_sum_in_place("sub_", BinaryOperation::subtract, *this, other, alpha, where);
}
Tensor rsub(const Tensor& a, const Tensor& b, const Scalar& alpha, Where where) {
  return scaled_sum("rsub", BinaryOperation::subtract, b, a, alpha, where);
}
Tensor Tensor::div(const Tensor& other, std::optional<std::string_view> rounding_mode, Where where) const {
  const tensor::HostCall here("div", where);
  return tensor::binary(division(rounding_mode), *this, other);
}
Tensor Tensor::add(const Scalar& other, const Scalar& alpha, Where where) const {
  return scaled_sum("add", BinaryOperation::add, *this, other, alpha, where);
}
Tensor Tensor::sub(const Scalar& other, const Scalar& alpha, Where where) const {
  return scaled_sum("sub", BinaryOperation::subtract, *this, other, alpha, where);
}
const Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha, Where where) const {
  return scaled_sum_in_place("add_", BinaryOperation::add, *this, other, alpha, where);
}
const Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha, Where where) const {
  return scaled_sum_in_place("sub_", BinaryOperation::subtract, *this, other, alpha, where);
}
Tensor rsub(const Tensor& a, const Scalar& b, const Scalar& alpha, Where where) {
  return scaled_sum("rsub", BinaryOperation::subtract, b, a, alpha, where);
}
Tensor Tensor::div(const Scalar& other, std::optional<std::string_view> rounding_mode, Where where) const {
  const tensor::HostCall here("div", where);
  return tensor::binary(division(rounding_mode), *this, other);
}
#define KERNBENCH_PAIR_FUNCTION(operation, name, ...)                      \
  Tensor Tensor::name(const Tensor& other, Where where) const {            \
    return binary(#name, BinaryOperation::operation, *this, other, where); \
  }
#define KERNBENCH_COMPARISON(operation, name, ...)                         \
  KERNBENCH_PAIR_FUNCTION(operation, name)                                 \
  Tensor Tensor::name(const Scalar& other, Where where) const {            \
    return binary(#name, BinaryOperation::operation, *this, other, where); \
  }
#define KERNBENCH_BINARY_FUNCTION(operation, name, ...)                                 \
  KERNBENCH_COMPARISON(operation, name)                                                 \
  const Tensor& Tensor::name##_(const Tensor& other, Where where) const {               \
    return binary_in_place(#name "_", BinaryOperation::operation, *this, other, where); \
  }                                                                                     \
  const Tensor& Tensor::name##_(const Scalar& other, Where where) const {               \
    return binary_in_place(#name "_", BinaryOperation::operation, *this, other, where); \
  }
#include "kernbench/elementwise/binary.def"

Tensor pow(const Scalar& a, const Tensor& b, Where where) {
  const tensor::HostCall here("pow", where);
  return tensor::binary(BinaryOperation::power, a, b);
}
Tensor remainder(const Scalar& a, const Tensor& b, Where where) {
  const tensor::HostCall here("remainder", where);
  return tensor::binary(BinaryOperation::remainder, a, b);
}
Tensor xlogy(const Scalar& a, const Tensor& b, Where where) {
  const tensor::HostCall here("xlogy", where);
  return tensor::binary(BinaryOperation::xlogy, a, b);
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
