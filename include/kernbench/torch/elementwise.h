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
inline Tensor mul(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.mul(b, where);
}
inline Tensor mul(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.mul(b, where);
}
inline Tensor div(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.div(b, where);
}
inline Tensor div(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.div(b, where);
}
inline Tensor floor_divide(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.floor_divide(b, where);
}
inline Tensor floor_divide(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.floor_divide(b, where);
}
inline Tensor remainder(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.remainder(b, where);
}
inline Tensor remainder(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.remainder(b, where);
}
inline Tensor fmod(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.fmod(b, where);
}
inline Tensor fmod(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.fmod(b, where);
}
inline Tensor pow(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.pow(b, where);
}
inline Tensor pow(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.pow(b, where);
}
inline Tensor bitwise_and(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.bitwise_and(b, where);
}
inline Tensor bitwise_and(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.bitwise_and(b, where);
}
inline Tensor bitwise_or(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.bitwise_or(b, where);
}
inline Tensor bitwise_or(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.bitwise_or(b, where);
}
inline Tensor bitwise_xor(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.bitwise_xor(b, where);
}
inline Tensor bitwise_xor(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.bitwise_xor(b, where);
}
inline Tensor bitwise_left_shift(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.bitwise_left_shift(b, where);
}
inline Tensor bitwise_left_shift(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.bitwise_left_shift(b, where);
}
inline Tensor bitwise_right_shift(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.bitwise_right_shift(b, where);
}
inline Tensor bitwise_right_shift(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.bitwise_right_shift(b, where);
}
inline Tensor eq(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.eq(b, where);
}
inline Tensor eq(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.eq(b, where);
}
inline Tensor ne(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.ne(b, where);
}
inline Tensor ne(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.ne(b, where);
}
inline Tensor lt(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.lt(b, where);
}
inline Tensor lt(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.lt(b, where);
}
inline Tensor le(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.le(b, where);
}
inline Tensor le(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.le(b, where);
}
inline Tensor gt(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.gt(b, where);
}
inline Tensor gt(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.gt(b, where);
}
inline Tensor ge(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return a.ge(b, where);
}
inline Tensor ge(const Tensor& a, const Scalar& b, Where where = Where::current()) {
  return a.ge(b, where);
}
Tensor pow(const Scalar& a, const Tensor& b, Where where = Where::current());
Tensor remainder(const Scalar& a, const Tensor& b, Where where = Where::current());
inline Tensor maximum(const TensorOperand& a, const Tensor& b) {
  return a.tensor.maximum(b, a.where);
}
inline Tensor minimum(const TensorOperand& a, const Tensor& b) {
  return a.tensor.minimum(b, a.where);
}
inline Tensor logical_and(const TensorOperand& a, const Tensor& b) {
  return a.tensor.logical_and(b, a.where);
}
inline Tensor logical_or(const TensorOperand& a, const Tensor& b) {
  return a.tensor.logical_or(b, a.where);
}
inline Tensor logical_xor(const TensorOperand& a, const Tensor& b) {
  return a.tensor.logical_xor(b, a.where);
}
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
/// condition ? a : b, element by element; `condition` is bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, Where where = Where::current());
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b, Where where = Where::current());
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b, Where where = Where::current());
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b, Where where = Where::current());

// ---- one operand -----------------------------------------------------------------------------------------------

inline Tensor neg(const TensorOperand& x) {
  return x.tensor.neg(x.where);
}
inline Tensor abs(const TensorOperand& x) {
  return x.tensor.abs(x.where);
}
inline Tensor sqrt(const TensorOperand& x) {
  return x.tensor.sqrt(x.where);
}
inline Tensor rsqrt(const TensorOperand& x) {
  return x.tensor.rsqrt(x.where);
}
inline Tensor reciprocal(const TensorOperand& x) {
  return x.tensor.reciprocal(x.where);
}
inline Tensor square(const TensorOperand& x) {
  return x.tensor.square(x.where);
}
inline Tensor exp(const TensorOperand& x) {
  return x.tensor.exp(x.where);
}
inline Tensor exp2(const TensorOperand& x) {
  return x.tensor.exp2(x.where);
}
inline Tensor expm1(const TensorOperand& x) {
  return x.tensor.expm1(x.where);
}
inline Tensor log(const TensorOperand& x) {
  return x.tensor.log(x.where);
}
inline Tensor log2(const TensorOperand& x) {
  return x.tensor.log2(x.where);
}
inline Tensor log10(const TensorOperand& x) {
  return x.tensor.log10(x.where);
}
inline Tensor log1p(const TensorOperand& x) {
  return x.tensor.log1p(x.where);
}
inline Tensor sin(const TensorOperand& x) {
  return x.tensor.sin(x.where);
}
inline Tensor cos(const TensorOperand& x) {
  return x.tensor.cos(x.where);
}
inline Tensor sinh(const TensorOperand& x) {
  return x.tensor.sinh(x.where);
}
inline Tensor cosh(const TensorOperand& x) {
  return x.tensor.cosh(x.where);
}
inline Tensor tanh(const TensorOperand& x) {
  return x.tensor.tanh(x.where);
}
inline Tensor erf(const TensorOperand& x) {
  return x.tensor.erf(x.where);
}
inline Tensor sigmoid(const TensorOperand& x) {
  return x.tensor.sigmoid(x.where);
}
inline Tensor floor(const TensorOperand& x) {
  return x.tensor.floor(x.where);
}
inline Tensor ceil(const TensorOperand& x) {
  return x.tensor.ceil(x.where);
}
inline Tensor round(const TensorOperand& x) {
  return x.tensor.round(x.where);
}
inline Tensor trunc(const TensorOperand& x) {
  return x.tensor.trunc(x.where);
}
inline Tensor sign(const TensorOperand& x) {
  return x.tensor.sign(x.where);
}
inline Tensor bitwise_not(const TensorOperand& x) {
  return x.tensor.bitwise_not(x.where);
}
inline Tensor logical_not(const TensorOperand& x) {
  return x.tensor.logical_not(x.where);
}
inline Tensor relu(const TensorOperand& x) {
  return x.tensor.relu(x.where);
}
inline Tensor isnan(const TensorOperand& x) {
  return x.tensor.isnan(x.where);
}
inline Tensor isinf(const TensorOperand& x) {
  return x.tensor.isinf(x.where);
}
inline Tensor isfinite(const TensorOperand& x) {
  return x.tensor.isfinite(x.where);
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
