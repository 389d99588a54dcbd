// Functions of tensors in libtorch's spelling, and their operators. What each computes is PyTorch's; a device tensor is
// computed by library kernels on its device, in the order of the current stream, a host tensor on the host at no
// simulated cost. Operands on different devices are an error; a host tensor of no dimensions mixes with device tensors.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

/// Some tensors: `torch::cat({a, b})`. Valid as long as what it was made from.
class TensorList {
 public:
  TensorList(std::initializer_list<Tensor> tensors) : size_(tensors.size()) { data_ = tensors.begin(); }
  TensorList(const std::vector<Tensor>& tensors) : data_(tensors.data()), size_(tensors.size()) {}  // NOLINT
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Tensor* begin() const { return data_; }
  const Tensor* end() const { return data_ + size_; }
  const Tensor& operator[](std::size_t index) const { return data_[index]; }

 private:
  const Tensor* data_;
  std::size_t size_;
};

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

// ---- over dimensions -------------------------------------------------------------------------------------------

inline Tensor sum(const Tensor& x, std::optional<ScalarType> type = std::nullopt) {
  return x.sum(type);
}
inline Tensor sum(const Tensor& x, OptionalIntArrayRef dimensions, bool keepdim = false,
                  std::optional<ScalarType> type = std::nullopt) {
  return x.sum(dimensions, keepdim, type);
}
inline Tensor mean(const Tensor& x, std::optional<ScalarType> type = std::nullopt) {
  return x.mean(type);
}
inline Tensor mean(const Tensor& x, OptionalIntArrayRef dimensions, bool keepdim = false,
                   std::optional<ScalarType> type = std::nullopt) {
  return x.mean(dimensions, keepdim, type);
}
inline Tensor prod(const Tensor& x, std::optional<ScalarType> type = std::nullopt) {
  return x.prod(type);
}
inline Tensor prod(const Tensor& x, std::int64_t dimension, bool keepdim = false,
                   std::optional<ScalarType> type = std::nullopt) {
  return x.prod(dimension, keepdim, type);
}
inline Tensor max(const Tensor& x) {
  return x.max();
}
inline std::tuple<Tensor, Tensor> max(const Tensor& x, std::int64_t dimension, bool keepdim = false) {
  return x.max(dimension, keepdim);
}
inline Tensor min(const Tensor& x) {
  return x.min();
}
inline std::tuple<Tensor, Tensor> min(const Tensor& x, std::int64_t dimension, bool keepdim = false) {
  return x.min(dimension, keepdim);
}
inline Tensor amax(const Tensor& x, IntArrayRef dimensions = {}, bool keepdim = false) {
  return x.amax(dimensions, keepdim);
}
inline Tensor amin(const Tensor& x, IntArrayRef dimensions = {}, bool keepdim = false) {
  return x.amin(dimensions, keepdim);
}
inline Tensor argmax(const Tensor& x, std::optional<std::int64_t> dimension = std::nullopt, bool keepdim = false) {
  return x.argmax(dimension, keepdim);
}
inline Tensor argmin(const Tensor& x, std::optional<std::int64_t> dimension = std::nullopt, bool keepdim = false) {
  return x.argmin(dimension, keepdim);
}
inline Tensor var(const Tensor& x, bool unbiased = true) {
  return x.var(unbiased);
}
inline Tensor var(const Tensor& x, OptionalIntArrayRef dimensions, bool unbiased = true, bool keepdim = false) {
  return x.var(dimensions, unbiased, keepdim);
}
inline Tensor std(const Tensor& x, bool unbiased = true) {
  return x.std(unbiased);
}
inline Tensor std(const Tensor& x, OptionalIntArrayRef dimensions, bool unbiased = true, bool keepdim = false) {
  return x.std(dimensions, unbiased, keepdim);
}
inline Tensor norm(const Tensor& x, const Scalar& p = 2) {
  return x.norm(p);
}
inline Tensor norm(const Tensor& x, const std::optional<Scalar>& p, IntArrayRef dimensions, bool keepdim = false) {
  return x.norm(p, dimensions, keepdim);
}
inline Tensor logsumexp(const Tensor& x, IntArrayRef dimensions, bool keepdim = false) {
  return x.logsumexp(dimensions, keepdim);
}
inline Tensor all(const Tensor& x) {
  return x.all();
}
inline Tensor all(const Tensor& x, std::int64_t dimension, bool keepdim = false) {
  return x.all(dimension, keepdim);
}
inline Tensor any(const Tensor& x) {
  return x.any();
}
inline Tensor any(const Tensor& x, std::int64_t dimension, bool keepdim = false) {
  return x.any(dimension, keepdim);
}
inline Tensor cumsum(const Tensor& x, std::int64_t dimension, std::optional<ScalarType> type = std::nullopt) {
  return x.cumsum(dimension, type);
}
inline Tensor softmax(const Tensor& x, std::int64_t dimension, std::optional<ScalarType> type = std::nullopt) {
  return x.softmax(dimension, type);
}
inline Tensor log_softmax(const Tensor& x, std::int64_t dimension, std::optional<ScalarType> type = std::nullopt) {
  return x.log_softmax(dimension, type);
}
/// Over the last dimensions, which must be `normalized_shape`; weight and bias have that shape.
Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const std::optional<Tensor>& weight = {},
                  const std::optional<Tensor>& bias = {}, double eps = 1e-5);
/// x / sqrt(mean(x^2) + eps) * weight, as torch.nn.functional.rms_norm; eps: by default that of the element type.
Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const std::optional<Tensor>& weight = {},
                std::optional<double> eps = {});

// ---- matrices --------------------------------------------------------------------------------------------------

inline Tensor matmul(const Tensor& a, const Tensor& b) {
  return a.matmul(b);
}
inline Tensor mm(const Tensor& a, const Tensor& b) {
  return a.mm(b);
}
inline Tensor bmm(const Tensor& a, const Tensor& b) {
  return a.bmm(b);
}
inline Tensor mv(const Tensor& a, const Tensor& b) {
  return a.mv(b);
}
inline Tensor dot(const Tensor& a, const Tensor& b) {
  return a.dot(b);
}
inline Tensor outer(const Tensor& a, const Tensor& b) {
  return a.outer(b);
}
/// beta * x + alpha * a b.
inline Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                    const Scalar& alpha = 1) {
  return x.addmm(a, b, beta, alpha);
}
/// x weight^T + bias; weight is [out, in].
Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {});

// ---- joining and choosing --------------------------------------------------------------------------------------

Tensor cat(TensorList tensors, std::int64_t dimension = 0);
inline Tensor concat(TensorList tensors, std::int64_t dimension = 0) {
  return cat(tensors, dimension);
}
Tensor stack(TensorList tensors, std::int64_t dimension = 0);
Tensor hstack(TensorList tensors);
Tensor vstack(TensorList tensors);
inline Tensor reshape(const Tensor& x, IntArrayRef sizes) {
  return x.reshape(sizes);
}
inline Tensor transpose(const Tensor& x, std::int64_t dimension0, std::int64_t dimension1) {
  return x.transpose(dimension0, dimension1);
}
inline Tensor permute(const Tensor& x, IntArrayRef dimensions) {
  return x.permute(dimensions);
}
inline Tensor narrow(const Tensor& x, std::int64_t dimension, std::int64_t start, std::int64_t length) {
  return x.narrow(dimension, start, length);
}
inline Tensor select(const Tensor& x, std::int64_t dimension, std::int64_t index) {
  return x.select(dimension, index);
}
inline Tensor unsqueeze(const Tensor& x, std::int64_t dimension) {
  return x.unsqueeze(dimension);
}
inline Tensor squeeze(const Tensor& x) {
  return x.squeeze();
}
inline Tensor squeeze(const Tensor& x, std::int64_t dimension) {
  return x.squeeze(dimension);
}
inline Tensor t(const Tensor& x) {
  return x.t();
}
inline Tensor flatten(const Tensor& x, std::int64_t first = 0, std::int64_t last = -1) {
  return x.flatten(first, last);
}
inline Tensor movedim(const Tensor& x, std::int64_t source, std::int64_t destination) {
  return x.movedim(source, destination);
}
inline Tensor movedim(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  return x.movedim(source, destination);
}
inline Tensor diagonal(const Tensor& x, std::int64_t offset = 0, std::int64_t dimension1 = 0,
                       std::int64_t dimension2 = 1) {
  return x.diagonal(offset, dimension1, dimension2);
}
inline Tensor index_select(const Tensor& x, std::int64_t dimension, const Tensor& index) {
  return x.index_select(dimension, index);
}
inline Tensor gather(const Tensor& x, std::int64_t dimension, const Tensor& index) {
  return x.gather(dimension, index);
}
inline Tensor masked_select(const Tensor& x, const Tensor& mask) {
  return x.masked_select(mask);
}
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value) {
  return x.masked_fill(mask, value);
}
inline Tensor tril(const Tensor& x, std::int64_t diagonal = 0) {
  return x.tril(diagonal);
}
inline Tensor triu(const Tensor& x, std::int64_t diagonal = 0) {
  return x.triu(diagonal);
}
inline Tensor clone(const Tensor& x) {
  return x.clone();
}
inline std::vector<Tensor> unbind(const Tensor& x, std::int64_t dimension = 0) {
  return x.unbind(dimension);
}
inline std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dimension = 0) {
  return x.chunk(chunks, dimension);
}
inline std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dimension = 0) {
  return x.split(size, dimension);
}
inline std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, std::int64_t dimension = 0) {
  return x.split(sizes, dimension);
}
inline std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, std::int64_t dimension = 0) {
  return x.split_with_sizes(sizes, dimension);
}

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
