// Functions over dimensions, and products of matrices.
#pragma once

#include <optional>
#include <tuple>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

// ---- over dimensions -------------------------------------------------------------------------------------------

inline Tensor sum(const Tensor& x, std::optional<ScalarType> type = std::nullopt, Where where = Where::current()) {
  return x.sum(type, where);
}
inline Tensor sum(const Tensor& x, OptionalIntArrayRef dimensions, bool keepdim = false,
                  std::optional<ScalarType> type = std::nullopt, Where where = Where::current()) {
  return x.sum(dimensions, keepdim, type, where);
}
inline Tensor mean(const Tensor& x, std::optional<ScalarType> type = std::nullopt, Where where = Where::current()) {
  return x.mean(type, where);
}
inline Tensor mean(const Tensor& x, OptionalIntArrayRef dimensions, bool keepdim = false,
                   std::optional<ScalarType> type = std::nullopt, Where where = Where::current()) {
  return x.mean(dimensions, keepdim, type, where);
}
inline Tensor prod(const Tensor& x, std::optional<ScalarType> type = std::nullopt, Where where = Where::current()) {
  return x.prod(type, where);
}
inline Tensor prod(const Tensor& x, std::int64_t dimension, bool keepdim = false,
                   std::optional<ScalarType> type = std::nullopt, Where where = Where::current()) {
  return x.prod(dimension, keepdim, type, where);
}
inline Tensor max(const Tensor& x, Where where = Where::current()) {
  return x.max(where);
}
inline std::tuple<Tensor, Tensor> max(const Tensor& x, std::int64_t dimension, bool keepdim = false,
                                      Where where = Where::current()) {
  return x.max(dimension, keepdim, where);
}
inline Tensor min(const Tensor& x, Where where = Where::current()) {
  return x.min(where);
}
inline std::tuple<Tensor, Tensor> min(const Tensor& x, std::int64_t dimension, bool keepdim = false,
                                      Where where = Where::current()) {
  return x.min(dimension, keepdim, where);
}
inline Tensor amax(const TensorOperand& x, IntArrayRef dimensions = {}, bool keepdim = false) {
  return x.tensor.amax(dimensions, keepdim, x.where);
}
inline Tensor amin(const TensorOperand& x, IntArrayRef dimensions = {}, bool keepdim = false) {
  return x.tensor.amin(dimensions, keepdim, x.where);
}
inline Tensor argmax(const TensorOperand& x, std::optional<std::int64_t> dimension = std::nullopt,
                     bool keepdim = false) {
  return x.tensor.argmax(dimension, keepdim, x.where);
}
inline Tensor argmin(const TensorOperand& x, std::optional<std::int64_t> dimension = std::nullopt,
                     bool keepdim = false) {
  return x.tensor.argmin(dimension, keepdim, x.where);
}
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, std::int64_t k, std::int64_t dimension = -1,
                                       bool largest = true, bool sorted = true, Where where = Where::current()) {
  return x.topk(k, dimension, largest, sorted, where);
}
inline std::tuple<Tensor, Tensor> sort(const Tensor& x, std::int64_t dimension = -1, bool descending = false,
                                       Where where = Where::current()) {
  return x.sort(dimension, descending, where);
}
inline std::tuple<Tensor, Tensor> sort(const Tensor& x, std::optional<bool> stable, std::int64_t dimension = -1,
                                       bool descending = false, Where where = Where::current()) {
  return x.sort(stable, dimension, descending, where);
}
inline Tensor argsort(const TensorOperand& x, std::int64_t dimension = -1, bool descending = false) {
  return x.tensor.argsort(dimension, descending, x.where);
}
/// The values of sort along the first dimension.
inline Tensor msort(const TensorOperand& x) {
  return std::get<0>(x.tensor.sort(0, false, x.where));
}
inline Tensor var(const Tensor& x, bool unbiased = true, Where where = Where::current()) {
  return x.var(unbiased, where);
}
inline Tensor var(const Tensor& x, int dimension, Where where = Where::current()) {
  return x.var(dimension, where);
}
inline Tensor var(const Tensor& x, OptionalIntArrayRef dimensions, bool unbiased = true, bool keepdim = false,
                  Where where = Where::current()) {
  return x.var(dimensions, unbiased, keepdim, where);
}
inline Tensor std(const Tensor& x, bool unbiased = true, Where where = Where::current()) {
  return x.std(unbiased, where);
}
inline Tensor std(const Tensor& x, int dimension, Where where = Where::current()) {
  return x.std(dimension, where);
}
inline Tensor std(const Tensor& x, OptionalIntArrayRef dimensions, bool unbiased = true, bool keepdim = false,
                  Where where = Where::current()) {
  return x.std(dimensions, unbiased, keepdim, where);
}
/// Both of the same lines.
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& x, bool unbiased = true, Where where = Where::current()) {
  return {x.var(unbiased, where), x.mean(std::nullopt, where)};
}
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& x, int dimension, Where where = Where::current()) {
  return {x.var(dimension, where), x.mean({dimension}, false, std::nullopt, where)};
}
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& x, OptionalIntArrayRef dimensions, bool unbiased = true,
                                           bool keepdim = false, Where where = Where::current()) {
  return {x.var(dimensions, unbiased, keepdim, where), x.mean(dimensions, keepdim, std::nullopt, where)};
}
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& x, bool unbiased = true, Where where = Where::current()) {
  return {x.std(unbiased, where), x.mean(std::nullopt, where)};
}
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& x, int dimension, Where where = Where::current()) {
  return {x.std(dimension, where), x.mean({dimension}, false, std::nullopt, where)};
}
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& x, OptionalIntArrayRef dimensions, bool unbiased = true,
                                           bool keepdim = false, Where where = Where::current()) {
  return {x.std(dimensions, unbiased, keepdim, where), x.mean(dimensions, keepdim, std::nullopt, where)};
}
inline Tensor norm(const Tensor& x, const Scalar& p = 2, Where where = Where::current()) {
  return x.norm(p, where);
}
inline Tensor norm(const Tensor& x, const std::optional<Scalar>& p, IntArrayRef dimensions, bool keepdim = false,
                   Where where = Where::current()) {
  return x.norm(p, dimensions, keepdim, where);
}
inline Tensor logsumexp(const TensorOperand& x, IntArrayRef dimensions, bool keepdim = false) {
  return x.tensor.logsumexp(dimensions, keepdim, x.where);
}
inline Tensor all(const Tensor& x, Where where = Where::current()) {
  return x.all(where);
}
inline Tensor all(const Tensor& x, std::int64_t dimension, bool keepdim = false, Where where = Where::current()) {
  return x.all(dimension, keepdim, where);
}
inline Tensor any(const Tensor& x, Where where = Where::current()) {
  return x.any(where);
}
inline Tensor any(const Tensor& x, std::int64_t dimension, bool keepdim = false, Where where = Where::current()) {
  return x.any(dimension, keepdim, where);
}
inline Tensor cumsum(const TensorOperand& x, std::int64_t dimension, std::optional<ScalarType> type = std::nullopt) {
  return x.tensor.cumsum(dimension, type, x.where);
}
/// How many elements are not zero.
Tensor count_nonzero(const TensorOperand& x, OptionalIntArrayRef dimensions = std::nullopt);
/// How often each of the numbers 0, 1, … is in a line of integers, or the sum of its weights; as many as the largest
/// number and `minlength` ask for, so that the host waits for the elements of a device.
Tensor bincount(const TensorOperand& x, const std::optional<Tensor>& weights = {}, std::int64_t minlength = 0);
/// Each element less the one before it, `n` times.
Tensor diff(const TensorOperand& x, std::int64_t n = 1, std::int64_t dimension = -1);
inline Tensor cumprod(const TensorOperand& x, std::int64_t dimension, std::optional<ScalarType> type = std::nullopt) {
  return x.tensor.cumprod(dimension, type, x.where);
}
inline Tensor logcumsumexp(const TensorOperand& x, std::int64_t dimension) {
  return x.tensor.logcumsumexp(dimension, x.where);
}
inline std::tuple<Tensor, Tensor> cummax(const TensorOperand& x, std::int64_t dimension) {
  return x.tensor.cummax(dimension, x.where);
}
inline std::tuple<Tensor, Tensor> cummin(const TensorOperand& x, std::int64_t dimension) {
  return x.tensor.cummin(dimension, x.where);
}
inline Tensor median(const Tensor& x, Where where = Where::current()) {
  return x.median(where);
}
inline std::tuple<Tensor, Tensor> median(const Tensor& x, std::int64_t dimension, bool keepdim = false,
                                         Where where = Where::current()) {
  return x.median(dimension, keepdim, where);
}
inline Tensor quantile(const Tensor& x, double q, std::optional<std::int64_t> dimension = std::nullopt,
                       bool keepdim = false, std::string_view interpolation = "linear",
                       Where where = Where::current()) {
  return x.quantile(q, dimension, keepdim, interpolation, where);
}
inline Tensor quantile(const Tensor& x, const Tensor& q, std::optional<std::int64_t> dimension = std::nullopt,
                       bool keepdim = false, std::string_view interpolation = "linear",
                       Where where = Where::current()) {
  return x.quantile(q, dimension, keepdim, interpolation, where);
}
inline Tensor trace(const TensorOperand& x) {
  return x.tensor.trace(x.where);
}
/// The values that there are, in order; with `return_inverse` the place of each element's value among them (else
/// empty), and with `return_counts` how often each is there. They are sorted whatever `sorted` says. Of device tensors
/// it is an error, as of unique_consecutive: the size is known on the host only.
// NOLINTBEGIN(readability-identifier-naming): libtorch's names
std::tuple<Tensor, Tensor> _unique(const TensorOperand& x, bool sorted = true, bool return_inverse = false);
std::tuple<Tensor, Tensor, Tensor> _unique2(const TensorOperand& x, bool sorted = true, bool return_inverse = false,
                                            bool return_counts = false);
// NOLINTEND(readability-identifier-naming)
/// The first one of equal elements that follow each other in row-major order, likewise.
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const TensorOperand& x, bool return_inverse = false,
                                                      bool return_counts = false);
inline Tensor softmax(const TensorOperand& x, std::int64_t dimension, std::optional<ScalarType> type = std::nullopt) {
  return x.tensor.softmax(dimension, type, x.where);
}
inline Tensor log_softmax(const TensorOperand& x, std::int64_t dimension,
                          std::optional<ScalarType> type = std::nullopt) {
  return x.tensor.log_softmax(dimension, type, x.where);
}
/// Over the last dimensions, which must be `normalized_shape`; weight and bias have that shape.
Tensor layer_norm(const TensorOperand& x, IntArrayRef normalized_shape, const std::optional<Tensor>& weight = {},
                  const std::optional<Tensor>& bias = {}, double eps = 1e-5);
/// x / sqrt(mean(x^2) + eps) * weight, as torch.nn.functional.rms_norm; eps: by default that of the element type.
Tensor rms_norm(const TensorOperand& x, IntArrayRef normalized_shape, const std::optional<Tensor>& weight = {},
                std::optional<double> eps = {});

// ---- matrices --------------------------------------------------------------------------------------------------

inline Tensor matmul(const TensorOperand& a, const Tensor& b) {
  return a.tensor.matmul(b, a.where);
}
inline Tensor mm(const TensorOperand& a, const Tensor& b) {
  return a.tensor.mm(b, a.where);
}
inline Tensor bmm(const TensorOperand& a, const Tensor& b) {
  return a.tensor.bmm(b, a.where);
}
inline Tensor mv(const TensorOperand& a, const Tensor& b) {
  return a.tensor.mv(b, a.where);
}
inline Tensor dot(const TensorOperand& a, const Tensor& b) {
  return a.tensor.dot(b, a.where);
}
inline Tensor outer(const TensorOperand& a, const Tensor& b) {
  return a.tensor.outer(b, a.where);
}
/// beta * x + alpha * a b.
inline Tensor addmm(const TensorOperand& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                    const Scalar& alpha = 1) {
  return x.tensor.addmm(a, b, beta, alpha, x.where);
}
inline Tensor baddbmm(const TensorOperand& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                      const Scalar& alpha = 1) {
  return x.tensor.baddbmm(a, b, beta, alpha, x.where);
}
inline Tensor addbmm(const TensorOperand& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                     const Scalar& alpha = 1) {
  return x.tensor.addbmm(a, b, beta, alpha, x.where);
}
/// The sum over dimensions of both, as one product of matrices: first the others of a, then those of b.
Tensor tensordot(const TensorOperand& a, const Tensor& b, IntArrayRef dims_a, IntArrayRef dims_b);
inline Tensor cross(const TensorOperand& a, const Tensor& b, std::optional<std::int64_t> dimension = std::nullopt) {
  return a.tensor.cross(b, dimension, a.where);
}
/// x weight^T + bias; weight is [out, in].
Tensor linear(const TensorOperand& x, const Tensor& weight, const std::optional<Tensor>& bias = {});

}  // namespace kernbench::torch
