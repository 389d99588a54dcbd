// Functions over dimensions, and products of matrices.
#pragma once

#include <optional>
#include <tuple>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

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

}  // namespace kernbench::torch
