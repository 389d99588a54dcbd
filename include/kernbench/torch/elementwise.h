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

inline Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) {
  return a.add(b, alpha);
}
inline Tensor add(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) {
  return a.add(b, alpha);
}
inline Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) {
  return a.sub(b, alpha);
}
inline Tensor sub(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) {
  return a.sub(b, alpha);
}
inline Tensor mul(const Tensor& a, const Tensor& b) {
  return a.mul(b);
}
inline Tensor mul(const Tensor& a, const Scalar& b) {
  return a.mul(b);
}
inline Tensor div(const Tensor& a, const Tensor& b) {
  return a.div(b);
}
inline Tensor div(const Tensor& a, const Scalar& b) {
  return a.div(b);
}
inline Tensor floor_divide(const Tensor& a, const Tensor& b) {
  return a.floor_divide(b);
}
inline Tensor floor_divide(const Tensor& a, const Scalar& b) {
  return a.floor_divide(b);
}
inline Tensor remainder(const Tensor& a, const Tensor& b) {
  return a.remainder(b);
}
inline Tensor remainder(const Tensor& a, const Scalar& b) {
  return a.remainder(b);
}
inline Tensor fmod(const Tensor& a, const Tensor& b) {
  return a.fmod(b);
}
inline Tensor fmod(const Tensor& a, const Scalar& b) {
  return a.fmod(b);
}
inline Tensor pow(const Tensor& a, const Tensor& b) {
  return a.pow(b);
}
inline Tensor pow(const Tensor& a, const Scalar& b) {
  return a.pow(b);
}
inline Tensor bitwise_and(const Tensor& a, const Tensor& b) {
  return a.bitwise_and(b);
}
inline Tensor bitwise_and(const Tensor& a, const Scalar& b) {
  return a.bitwise_and(b);
}
inline Tensor bitwise_or(const Tensor& a, const Tensor& b) {
  return a.bitwise_or(b);
}
inline Tensor bitwise_or(const Tensor& a, const Scalar& b) {
  return a.bitwise_or(b);
}
inline Tensor bitwise_xor(const Tensor& a, const Tensor& b) {
  return a.bitwise_xor(b);
}
inline Tensor bitwise_xor(const Tensor& a, const Scalar& b) {
  return a.bitwise_xor(b);
}
inline Tensor bitwise_left_shift(const Tensor& a, const Tensor& b) {
  return a.bitwise_left_shift(b);
}
inline Tensor bitwise_left_shift(const Tensor& a, const Scalar& b) {
  return a.bitwise_left_shift(b);
}
inline Tensor bitwise_right_shift(const Tensor& a, const Tensor& b) {
  return a.bitwise_right_shift(b);
}
inline Tensor bitwise_right_shift(const Tensor& a, const Scalar& b) {
  return a.bitwise_right_shift(b);
}
inline Tensor eq(const Tensor& a, const Tensor& b) {
  return a.eq(b);
}
inline Tensor eq(const Tensor& a, const Scalar& b) {
  return a.eq(b);
}
inline Tensor ne(const Tensor& a, const Tensor& b) {
  return a.ne(b);
}
inline Tensor ne(const Tensor& a, const Scalar& b) {
  return a.ne(b);
}
inline Tensor lt(const Tensor& a, const Tensor& b) {
  return a.lt(b);
}
inline Tensor lt(const Tensor& a, const Scalar& b) {
  return a.lt(b);
}
inline Tensor le(const Tensor& a, const Tensor& b) {
  return a.le(b);
}
inline Tensor le(const Tensor& a, const Scalar& b) {
  return a.le(b);
}
inline Tensor gt(const Tensor& a, const Tensor& b) {
  return a.gt(b);
}
inline Tensor gt(const Tensor& a, const Scalar& b) {
  return a.gt(b);
}
inline Tensor ge(const Tensor& a, const Tensor& b) {
  return a.ge(b);
}
inline Tensor ge(const Tensor& a, const Scalar& b) {
  return a.ge(b);
}
Tensor pow(const Scalar& a, const Tensor& b);
Tensor remainder(const Scalar& a, const Tensor& b);
inline Tensor maximum(const Tensor& a, const Tensor& b) {
  return a.maximum(b);
}
inline Tensor minimum(const Tensor& a, const Tensor& b) {
  return a.minimum(b);
}
inline Tensor logical_and(const Tensor& a, const Tensor& b) {
  return a.logical_and(b);
}
inline Tensor logical_or(const Tensor& a, const Tensor& b) {
  return a.logical_or(b);
}
inline Tensor logical_xor(const Tensor& a, const Tensor& b) {
  return a.logical_xor(b);
}
inline Tensor div(const Tensor& a, const Tensor& b, std::optional<std::string_view> rounding_mode) {
  return a.div(b, rounding_mode);
}
inline Tensor div(const Tensor& a, const Scalar& b, std::optional<std::string_view> rounding_mode) {
  return a.div(b, rounding_mode);
}
/// b - alpha * a.
Tensor rsub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor rsub(const Tensor& a, const Scalar& b, const Scalar& alpha = 1);
inline Tensor max(const Tensor& a, const Tensor& b) {
  return a.maximum(b);
}
inline Tensor min(const Tensor& a, const Tensor& b) {
  return a.minimum(b);
}
inline Tensor clamp(const Tensor& x, const std::optional<Scalar>& low,
                    const std::optional<Scalar>& high = std::nullopt) {
  return x.clamp(low, high);
}
inline Tensor clamp(const Tensor& x, const std::optional<Tensor>& low = {}, const std::optional<Tensor>& high = {}) {
  return x.clamp(low, high);
}
inline Tensor clamp_min(const Tensor& x, const Scalar& low) {
  return x.clamp_min(low);
}
inline Tensor clamp_max(const Tensor& x, const Scalar& high) {
  return x.clamp_max(high);
}
inline Tensor lerp(const Tensor& a, const Tensor& end, const Scalar& weight) {
  return a.lerp(end, weight);
}
inline Tensor lerp(const Tensor& a, const Tensor& end, const Tensor& weight) {
  return a.lerp(end, weight);
}
inline Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcmul(a, b, value);
}
inline Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcdiv(a, b, value);
}
inline Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                      bool equal_nan = false) {
  return a.isclose(b, rtol, atol, equal_nan);
}
/// condition ? a : b, element by element; `condition` is bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b);
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b);
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b);

// ---- one operand -----------------------------------------------------------------------------------------------

inline Tensor neg(const Tensor& x) {
  return x.neg();
}
inline Tensor abs(const Tensor& x) {
  return x.abs();
}
inline Tensor sqrt(const Tensor& x) {
  return x.sqrt();
}
inline Tensor rsqrt(const Tensor& x) {
  return x.rsqrt();
}
inline Tensor reciprocal(const Tensor& x) {
  return x.reciprocal();
}
inline Tensor square(const Tensor& x) {
  return x.square();
}
inline Tensor exp(const Tensor& x) {
  return x.exp();
}
inline Tensor exp2(const Tensor& x) {
  return x.exp2();
}
inline Tensor expm1(const Tensor& x) {
  return x.expm1();
}
inline Tensor log(const Tensor& x) {
  return x.log();
}
inline Tensor log2(const Tensor& x) {
  return x.log2();
}
inline Tensor log10(const Tensor& x) {
  return x.log10();
}
inline Tensor log1p(const Tensor& x) {
  return x.log1p();
}
inline Tensor sin(const Tensor& x) {
  return x.sin();
}
inline Tensor cos(const Tensor& x) {
  return x.cos();
}
inline Tensor tanh(const Tensor& x) {
  return x.tanh();
}
inline Tensor erf(const Tensor& x) {
  return x.erf();
}
inline Tensor sigmoid(const Tensor& x) {
  return x.sigmoid();
}
inline Tensor floor(const Tensor& x) {
  return x.floor();
}
inline Tensor ceil(const Tensor& x) {
  return x.ceil();
}
inline Tensor round(const Tensor& x) {
  return x.round();
}
inline Tensor trunc(const Tensor& x) {
  return x.trunc();
}
inline Tensor sign(const Tensor& x) {
  return x.sign();
}
inline Tensor bitwise_not(const Tensor& x) {
  return x.bitwise_not();
}
inline Tensor logical_not(const Tensor& x) {
  return x.logical_not();
}
inline Tensor relu(const Tensor& x) {
  return x.relu();
}
inline Tensor isnan(const Tensor& x) {
  return x.isnan();
}
inline Tensor isinf(const Tensor& x) {
  return x.isinf();
}
inline Tensor isfinite(const Tensor& x) {
  return x.isfinite();
}
/// x * sigmoid(x).
Tensor silu(const Tensor& x);
/// approximate: "none" (by erf) or "tanh".
Tensor gelu(const Tensor& x, std::string_view approximate = "none");

// ---- operators -------------------------------------------------------------------------------------------------

namespace detail {
/// scalar - x, scalar / x, scalar % x in the element type of x, as libtorch's operators (not Python's) compute them.
Tensor reversed_sub(const Scalar& a, const Tensor& b);
Tensor reversed_div(const Scalar& a, const Tensor& b);
Tensor reversed_remainder(const Scalar& a, const Tensor& b);
}  // namespace detail

inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return a.add(b);
}
inline Tensor operator+(const Tensor& a, const Scalar& b) {
  return a.add(b);
}
inline Tensor operator+(const Scalar& a, const Tensor& b) {
  return b.add(a);
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return a.sub(b);
}
inline Tensor operator-(const Tensor& a, const Scalar& b) {
  return a.sub(b);
}
inline Tensor operator-(const Scalar& a, const Tensor& b) {
  return detail::reversed_sub(a, b);
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return a.mul(b);
}
inline Tensor operator*(const Tensor& a, const Scalar& b) {
  return a.mul(b);
}
inline Tensor operator*(const Scalar& a, const Tensor& b) {
  return b.mul(a);
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return a.div(b);
}
inline Tensor operator/(const Tensor& a, const Scalar& b) {
  return a.div(b);
}
inline Tensor operator/(const Scalar& a, const Tensor& b) {
  return detail::reversed_div(a, b);
}
inline Tensor operator%(const Tensor& a, const Tensor& b) {
  return a.remainder(b);
}
inline Tensor operator%(const Tensor& a, const Scalar& b) {
  return a.remainder(b);
}
inline Tensor operator%(const Scalar& a, const Tensor& b) {
  return detail::reversed_remainder(a, b);
}
inline Tensor operator&(const Tensor& a, const Tensor& b) {
  return a.bitwise_and(b);
}
inline Tensor operator&(const Tensor& a, const Scalar& b) {
  return a.bitwise_and(b);
}
inline Tensor operator&(const Scalar& a, const Tensor& b) {
  return b.bitwise_and(a);
}
inline Tensor operator|(const Tensor& a, const Tensor& b) {
  return a.bitwise_or(b);
}
inline Tensor operator|(const Tensor& a, const Scalar& b) {
  return a.bitwise_or(b);
}
inline Tensor operator|(const Scalar& a, const Tensor& b) {
  return b.bitwise_or(a);
}
inline Tensor operator^(const Tensor& a, const Tensor& b) {
  return a.bitwise_xor(b);
}
inline Tensor operator^(const Tensor& a, const Scalar& b) {
  return a.bitwise_xor(b);
}
inline Tensor operator^(const Scalar& a, const Tensor& b) {
  return b.bitwise_xor(a);
}
inline Tensor operator<(const Tensor& a, const Tensor& b) {
  return a.lt(b);
}
inline Tensor operator<(const Tensor& a, const Scalar& b) {
  return a.lt(b);
}
inline Tensor operator<(const Scalar& a, const Tensor& b) {
  return b.gt(a);
}
inline Tensor operator<=(const Tensor& a, const Tensor& b) {
  return a.le(b);
}
inline Tensor operator<=(const Tensor& a, const Scalar& b) {
  return a.le(b);
}
inline Tensor operator<=(const Scalar& a, const Tensor& b) {
  return b.ge(a);
}
inline Tensor operator>(const Tensor& a, const Tensor& b) {
  return a.gt(b);
}
inline Tensor operator>(const Tensor& a, const Scalar& b) {
  return a.gt(b);
}
inline Tensor operator>(const Scalar& a, const Tensor& b) {
  return b.lt(a);
}
inline Tensor operator>=(const Tensor& a, const Tensor& b) {
  return a.ge(b);
}
inline Tensor operator>=(const Tensor& a, const Scalar& b) {
  return a.ge(b);
}
inline Tensor operator>=(const Scalar& a, const Tensor& b) {
  return b.le(a);
}
inline Tensor operator==(const Tensor& a, const Tensor& b) {
  return a.eq(b);
}
inline Tensor operator==(const Tensor& a, const Scalar& b) {
  return a.eq(b);
}
inline Tensor operator==(const Scalar& a, const Tensor& b) {
  return b.eq(a);
}
inline Tensor operator!=(const Tensor& a, const Tensor& b) {
  return a.ne(b);
}
inline Tensor operator!=(const Tensor& a, const Scalar& b) {
  return a.ne(b);
}
inline Tensor operator!=(const Scalar& a, const Tensor& b) {
  return b.ne(a);
}

}  // namespace kernbench::torch
