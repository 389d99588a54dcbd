// Functions of elements: of two operands, of one, and the operators.
#pragma once

#include <optional>
#include <string_view>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

/// The type that two operands are promoted to.
ScalarType result_type(const Tensor& a, const Tensor& b);
ScalarType result_type(const Tensor& a, const Scalar& b);
ScalarType promote_types(ScalarType a, ScalarType b);
bool can_cast(ScalarType from, ScalarType to);

// ---- two operands ----------------------------------------------------------------------------------------------

inline Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1, Where where = Where::current()) {
  return a.add(b, alpha, where);
}
inline Tensor add(const Tensor& a, const Scalar& b, const Scalar& alpha = 1, Where where = Where::current()) {
  return a.add(b, alpha, where);
}
inline Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1, Where where = Where::current()) {
  return a.sub(b, alpha, where);
}
inline Tensor sub(const Tensor& a, const Scalar& b, const Scalar& alpha = 1, Where where = Where::current()) {
  return a.sub(b, alpha, where);
}
// Each row of elementwise/binary.def: mul, div, pow, bitwise_and, …; eq, lt, …; maximum, logical_and, ….
#define KERNBENCH_PAIR_FUNCTION(operation, name, ...)           \
  inline Tensor name(const TensorOperand& a, const Tensor& b) { \
    return a.tensor.name(b, a.where);                           \
  }
#define KERNBENCH_COMPARISON(operation, name, ...)                                       \
  inline Tensor name(const Tensor& a, const Tensor& b, Where where = Where::current()) { \
    return a.name(b, where);                                                             \
  }                                                                                      \
  inline Tensor name(const Tensor& a, const Scalar& b, Where where = Where::current()) { \
    return a.name(b, where);                                                             \
  }
#define KERNBENCH_BINARY_FUNCTION KERNBENCH_COMPARISON
#include "kernbench/elementwise/binary.def"

Tensor pow(const Scalar& a, const Tensor& b, Where where = Where::current());
Tensor remainder(const Scalar& a, const Tensor& b, Where where = Where::current());
Tensor xlogy(const Scalar& a, const Tensor& b, Where where = Where::current());
inline Tensor div(const Tensor& a, const Tensor& b, std::optional<std::string_view> rounding_mode,
                  Where where = Where::current()) {
  return a.div(b, rounding_mode, where);
}
inline Tensor div(const Tensor& a, const Scalar& b, std::optional<std::string_view> rounding_mode,
                  Where where = Where::current()) {
  return a.div(b, rounding_mode, where);
}
/// b - alpha * a.
Tensor rsub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1, Where where = Where::current());
Tensor rsub(const Tensor& a, const Scalar& b, const Scalar& alpha = 1, Where where = Where::current());
inline Tensor max(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.maximum(b, where);
}
inline Tensor min(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.minimum(b, where);
}
inline Tensor clamp(const Tensor& x, const std::optional<Scalar>& low, const std::optional<Scalar>& high = std::nullopt,
                    Where where = Where::current()) {
  return x.clamp(low, high, where);
}
inline Tensor clip(const Tensor& x, const std::optional<Scalar>& low, const std::optional<Scalar>& high = std::nullopt,
                   Where where = Where::current()) {
  return x.clamp(low, high, where);
}
inline Tensor clamp(const Tensor& x, const std::optional<Tensor>& low = {}, const std::optional<Tensor>& high = {},
                    Where where = Where::current()) {
  return x.clamp(low, high, where);
}
inline Tensor clamp_min(const TensorOperand& x, const Scalar& low) {
  return x.tensor.clamp_min(low, x.where);
}
inline Tensor clamp_max(const TensorOperand& x, const Scalar& high) {
  return x.tensor.clamp_max(high, x.where);
}
inline Tensor lerp(const Tensor& a, const Tensor& end, const Scalar& weight, Where where = Where::current()) {
  return a.lerp(end, weight, where);
}
inline Tensor lerp(const Tensor& a, const Tensor& end, const Tensor& weight, Where where = Where::current()) {
  return a.lerp(end, weight, where);
}
inline Tensor addcmul(const TensorOperand& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.tensor.addcmul(a, b, value, x.where);
}
inline Tensor addcdiv(const TensorOperand& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.tensor.addcdiv(a, b, value, x.where);
}
inline Tensor isclose(const TensorOperand& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                      bool equal_nan = false) {
  return a.tensor.isclose(b, rtol, atol, equal_nan, a.where);
}
inline Tensor nan_to_num(const TensorOperand& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                         std::optional<double> neginf = {}) {
  return x.tensor.nan_to_num(nan, posinf, neginf, x.where);
}
inline Tensor heaviside(const TensorOperand& x, const Tensor& values) {
  return x.tensor.heaviside(values, x.where);
}
/// condition ? a : b, element by element; `condition` is bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, Where where = Where::current());
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b, Where where = Where::current());
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b, Where where = Where::current());
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b, Where where = Where::current());

// ---- one operand -----------------------------------------------------------------------------------------------

// Each row of elementwise/unary.def: neg, exp, floor, relu, isnan, ….
#define KERNBENCH_QUESTION(operation, name, ...) \
  inline Tensor name(const TensorOperand& x) {   \
    return x.tensor.name(x.where);               \
  }
#define KERNBENCH_TENSOR_FUNCTION KERNBENCH_QUESTION
#include "kernbench/elementwise/unary.def"

inline Tensor square(const TensorOperand& x) {
  return x.tensor.square(x.where);
}
/// x * sigmoid(x).
Tensor silu(const TensorOperand& x);
/// approximate: "none" (by erf) or "tanh".
Tensor gelu(const TensorOperand& x, std::string_view approximate = "none");

// ---- operators -------------------------------------------------------------------------------------------------

namespace detail {
/// scalar - x, scalar / x, scalar % x in the element type of x, as libtorch's operators (not Python's) compute them.
Tensor reversed_sub(const Scalar& a, const Tensor& b, Where where);
Tensor reversed_div(const Scalar& a, const Tensor& b, Where where);
Tensor reversed_remainder(const Scalar& a, const Tensor& b, Where where);
}  // namespace detail

inline Tensor operator-(const TensorOperand& x) {
  return x.tensor.neg(x.where);
}
inline Tensor operator~(const TensorOperand& x) {
  return x.tensor.bitwise_not(x.where);
}
inline Tensor operator+(const Tensor& a, const TensorOperand& b) {
  return a.add(b.tensor, 1, b.where);
}
inline Tensor operator+(const Tensor& a, const ScalarOperand& b) {
  return a.add(b.scalar, 1, b.where);
}
inline Tensor operator+(const ScalarOperand& a, const Tensor& b) {
  return b.add(a.scalar, 1, a.where);
}
inline Tensor operator-(const Tensor& a, const TensorOperand& b) {
  return a.sub(b.tensor, 1, b.where);
}
inline Tensor operator-(const Tensor& a, const ScalarOperand& b) {
  return a.sub(b.scalar, 1, b.where);
}
inline Tensor operator-(const ScalarOperand& a, const Tensor& b) {
  return detail::reversed_sub(a.scalar, b, a.where);
}
inline Tensor operator*(const Tensor& a, const TensorOperand& b) {
  return a.mul(b.tensor, b.where);
}
inline Tensor operator*(const Tensor& a, const ScalarOperand& b) {
  return a.mul(b.scalar, b.where);
}
inline Tensor operator*(const ScalarOperand& a, const Tensor& b) {
  return b.mul(a.scalar, a.where);
}
inline Tensor operator/(const Tensor& a, const TensorOperand& b) {
  return a.div(b.tensor, b.where);
}
inline Tensor operator/(const Tensor& a, const ScalarOperand& b) {
  return a.div(b.scalar, b.where);
}
inline Tensor operator/(const ScalarOperand& a, const Tensor& b) {
  return detail::reversed_div(a.scalar, b, a.where);
}
inline Tensor operator%(const Tensor& a, const TensorOperand& b) {
  return a.remainder(b.tensor, b.where);
}
inline Tensor operator%(const Tensor& a, const ScalarOperand& b) {
  return a.remainder(b.scalar, b.where);
}
inline Tensor operator%(const ScalarOperand& a, const Tensor& b) {
  return detail::reversed_remainder(a.scalar, b, a.where);
}
inline Tensor operator&(const Tensor& a, const TensorOperand& b) {
  return a.bitwise_and(b.tensor, b.where);
}
inline Tensor operator&(const Tensor& a, const ScalarOperand& b) {
  return a.bitwise_and(b.scalar, b.where);
}
inline Tensor operator&(const ScalarOperand& a, const Tensor& b) {
  return b.bitwise_and(a.scalar, a.where);
}
inline Tensor operator|(const Tensor& a, const TensorOperand& b) {
  return a.bitwise_or(b.tensor, b.where);
}
inline Tensor operator|(const Tensor& a, const ScalarOperand& b) {
  return a.bitwise_or(b.scalar, b.where);
}
inline Tensor operator|(const ScalarOperand& a, const Tensor& b) {
  return b.bitwise_or(a.scalar, a.where);
}
inline Tensor operator^(const Tensor& a, const TensorOperand& b) {
  return a.bitwise_xor(b.tensor, b.where);
}
inline Tensor operator^(const Tensor& a, const ScalarOperand& b) {
  return a.bitwise_xor(b.scalar, b.where);
}
inline Tensor operator^(const ScalarOperand& a, const Tensor& b) {
  return b.bitwise_xor(a.scalar, a.where);
}
inline Tensor operator<(const Tensor& a, const TensorOperand& b) {
  return a.lt(b.tensor, b.where);
}
inline Tensor operator<(const Tensor& a, const ScalarOperand& b) {
  return a.lt(b.scalar, b.where);
}
inline Tensor operator<(const ScalarOperand& a, const Tensor& b) {
  return b.gt(a.scalar, a.where);
}
inline Tensor operator<=(const Tensor& a, const TensorOperand& b) {
  return a.le(b.tensor, b.where);
}
inline Tensor operator<=(const Tensor& a, const ScalarOperand& b) {
  return a.le(b.scalar, b.where);
}
inline Tensor operator<=(const ScalarOperand& a, const Tensor& b) {
  return b.ge(a.scalar, a.where);
}
inline Tensor operator>(const Tensor& a, const TensorOperand& b) {
  return a.gt(b.tensor, b.where);
}
inline Tensor operator>(const Tensor& a, const ScalarOperand& b) {
  return a.gt(b.scalar, b.where);
}
inline Tensor operator>(const ScalarOperand& a, const Tensor& b) {
  return b.lt(a.scalar, a.where);
}
inline Tensor operator>=(const Tensor& a, const TensorOperand& b) {
  return a.ge(b.tensor, b.where);
}
inline Tensor operator>=(const Tensor& a, const ScalarOperand& b) {
  return a.ge(b.scalar, b.where);
}
inline Tensor operator>=(const ScalarOperand& a, const Tensor& b) {
  return b.le(a.scalar, a.where);
}
// Of two operands alike, so that the form with exchanged operands that C++20 adds is no better.
inline Tensor operator==(const TensorOperand& a, const TensorOperand& b) {
  return a.tensor.eq(b.tensor, b.where);
}
inline Tensor operator==(const Tensor& a, const ScalarOperand& b) {
  return a.eq(b.scalar, b.where);
}
inline Tensor operator==(const ScalarOperand& a, const Tensor& b) {
  return b.eq(a.scalar, a.where);
}
inline Tensor operator!=(const TensorOperand& a, const TensorOperand& b) {
  return a.tensor.ne(b.tensor, b.where);
}
inline Tensor operator!=(const Tensor& a, const ScalarOperand& b) {
  return a.ne(b.scalar, b.where);
}
inline Tensor operator!=(const ScalarOperand& a, const Tensor& b) {
  return b.ne(a.scalar, a.where);
}

}  // namespace kernbench::torch
