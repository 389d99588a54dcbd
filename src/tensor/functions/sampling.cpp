// Random choices, made of random tensors: bernoulli, multinomial, randperm; and new tensors like a given one.
#include <fmt/format.h>

#include <limits>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::fail;
using tensor::impl_of;

namespace {

/// The options of a new tensor beside `x`: its type and device, unless others are given.
TensorOptions beside(const Tensor& x, const TensorOptions& given) {
  TensorOptions options = given;
  if (!given.has_dtype()) options = options.dtype(x.scalar_type());
  if (!given.has_device()) options = options.device(x.device());
  return options;
}

}  // namespace

Tensor Tensor::new_empty(IntArrayRef size, const TensorOptions& options, Where where) const {
  const tensor::HostCall here("new_empty", where);
  return torch::empty(size, beside(*this, options));
}
Tensor Tensor::new_zeros(IntArrayRef size, const TensorOptions& options, Where where) const {
  const tensor::HostCall here("new_zeros", where);
  return torch::zeros(size, beside(*this, options));
}
Tensor Tensor::new_ones(IntArrayRef size, const TensorOptions& options, Where where) const {
  const tensor::HostCall here("new_ones", where);
  return torch::ones(size, beside(*this, options));
}
Tensor Tensor::new_full(IntArrayRef size, const Scalar& value, const TensorOptions& options, Where where) const {
  const tensor::HostCall here("new_full", where);
  return torch::full(size, value, beside(*this, options));
}

// ---- random ----------------------------------------------------------------------------------------------------

namespace {

void check_probability(const char* call, double p) {
  if (!(p >= 0 && p <= 1)) fail(call, fmt::format("bernoulli_ expects p to be in [0, 1], but got p={}", p));
}

/// 1 where a new random number is below p.
Tensor draws_below(const Tensor& p, ScalarType type) {
  return torch::rand_like(p, torch::dtype(kFloat)).lt(p).to(type);
}

void check_probabilities(const char* call, const Tensor& p) {
  if (!p.is_floating_point()) tensor::fail_type(call, p.scalar_type(), "probabilities are of a floating-point type");
  if (!p.is_cpu() || p.numel() == 0) return;
  if (!p.ge(0).logical_and(p.le(1)).all().item<bool>()) fail(call, "Expected p_in >= 0 && p_in <= 1 to be true");
}

}  // namespace

const Tensor& Tensor::bernoulli_(double p, Where where) const {
  const tensor::HostCall here("bernoulli_", where);
  check_probability("bernoulli_", p);
  return copy_(torch::rand_like(*this, torch::dtype(kFloat)).lt(p));
}
const Tensor& Tensor::bernoulli_(const Tensor& p, Where where) const {
  const tensor::HostCall here("bernoulli_", where);
  check_probabilities("bernoulli_", p);
  return copy_(draws_below(p.expand(sizes()), scalar_type()));
}
Tensor Tensor::bernoulli(Where where) const {
  const tensor::HostCall here("bernoulli", where);
  check_probabilities("bernoulli", *this);
  return draws_below(*this, scalar_type());
}
Tensor bernoulli(const Tensor& p, Where where) {
  return p.bernoulli(where);
}
Tensor bernoulli(const Tensor& x, double p, Where where) {
  const tensor::HostCall here("bernoulli", where);
  Tensor result = torch::empty_like(x);
  return result.bernoulli_(p);
}

Tensor randperm(std::int64_t n, const TensorOptions& options, Where where) {
  const tensor::HostCall here("randperm", where);
  if (n < 0) fail("randperm", fmt::format("n must be non-negative, got {}", n));
  const Tensor keys = torch::randint(std::numeric_limits<std::int64_t>::max(), {n});
  return keys.argsort().to(options.has_dtype() ? options : options.dtype(kLong));
}

Tensor Tensor::multinomial(std::int64_t num_samples, bool replacement, Where where) const {
  constexpr const char* kCall = "multinomial";
  const tensor::HostCall here(kCall, where);
  if (dim() < 1 || dim() > 2) fail(kCall, "prob_dist must be 1 or 2 dim, but it is " + tensor::describe(*this));
  if (!is_floating_point()) {
    fail(kCall, "multinomial only supports floating-point dtypes for input, got: " + tensor::text_of(scalar_type()));
  }
  if (num_samples <= 0) fail(kCall, "cannot sample n_sample <= 0 samples");
  if (!replacement && num_samples > size(-1))
    fail(kCall, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  const Tensor weights = to(tensor::wide_type(scalar_type()));
  if (is_cpu() && numel() != 0) {
    if (!weights.ge(0).logical_and(weights.isfinite()).all().item<bool>())
      fail(kCall, "probability tensor contains either `inf`, `nan` or element < 0");
    if (weights.sum(-1).eq(0).any().item<bool>())
      fail(kCall, "invalid multinomial distribution (sum of probabilities <= 0)");
  }
  const TensorOptions options = torch::dtype(weights.scalar_type()).device(device());
  if (!replacement) {
    // The smallest of waiting times, which have these rates, come with the probabilities of draws one after another.
    const Tensor waiting = torch::rand(sizes(), options).neg().log1p().neg();
    return std::get<1>(weights.div(waiting).topk(num_samples));
  }
  std::vector<std::int64_t> shape = sizes().vec();
  shape.back() = num_samples;
  const Tensor ends = weights.cumsum(-1), total = ends.narrow(-1, size(-1) - 1, 1);
  const Tensor marks = torch::rand(shape, options).mul(total);
  // A mark is in the interval that begins where as many end as are not above it.
  return marks.unsqueeze(-1).ge(ends.unsqueeze(-2)).sum(-1);
}
Tensor multinomial(const TensorOperand& weights, std::int64_t num_samples, bool replacement) {
  return weights.tensor.multinomial(num_samples, replacement, weights.where);
}

// ---- indices of triangles --------------------------------------------------------------------------------------

namespace {

/// Rows and columns for which column - row is at most `offset`, or with `upper` at least.
Tensor triangle_indices(const char* call, std::int64_t row, std::int64_t col, std::int64_t offset, bool upper,
                        const TensorOptions& options) {
  if (row < 0) fail(call, fmt::format("row must be non-negative, got {}", row));
  if (col < 0) fail(call, fmt::format("col must be non-negative, got {}", col));
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t i = 0; i < row; ++i) {
    for (std::int64_t j = 0; j < col; ++j) {
      if (upper ? j - i < offset : j - i > offset) continue;
      rows.push_back(i);
      columns.push_back(j);
    }
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  rows.insert(rows.end(), columns.begin(), columns.end());
  return torch::tensor(rows, kLong).view({2, count}).to(options.has_dtype() ? options : options.dtype(kLong));
}

}  // namespace

Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& options,
                    Where where) {
  const tensor::HostCall here("tril_indices", where);
  return triangle_indices("tril_indices", row, col, offset, false, options);
}
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& options,
                    Where where) {
  const tensor::HostCall here("triu_indices", where);
  return triangle_indices("triu_indices", row, col, offset, true, options);
}

}  // namespace kernbench::torch
