// baddbmm, addbmm, tensordot, cross: products made of others.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/elementwise.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::Extents;
using tensor::fail;
using tensor::impl_of;

namespace {

/// beta * x + alpha * product, in f32 at least and rounded once. Without beta x does not count, not even its NaN.
Tensor scaled_sum(const char* call, const Tensor& x, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  const ScalarType type = product.scalar_type();
  tensor::check_same_types(call, product, x);
  const tensor::Extents& sizes = impl_of(product).sizes;
  if (tensor::broadcast_sizes(impl_of(x).sizes, sizes) != sizes)
    fail(call, fmt::format("{} does not broadcast to the product, {}", tensor::describe(x), tensor::describe(product)));
  const Scalar one = is_floating_point(type) ? alpha : Scalar(alpha.toLong());
  if (beta.toDouble() == 0) return product.mul(one).to(type);
  const ScalarType wide = tensor::wide_type(type);
  const Tensor scaled =
      beta.toDouble() == 1 ? x : x.to(wide).mul(is_floating_point(type) ? beta : Scalar(beta.toLong()));
  return tensor::multiply_add(call, product, one, scaled).to(type);
}

void check_batches(const char* call, const Tensor& a, const Tensor& b) {
  for (const Tensor& batch : {a, b})
    if (batch.dim() != 3) fail(call, "batch1 and batch2 must be 3D tensors, but one is " + tensor::describe(batch));
}

}  // namespace

Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("baddbmm", where);
  check_batches("baddbmm", a, b);
  return scaled_sum("baddbmm", *this, a.bmm(b), beta, alpha);
}

Tensor Tensor::addbmm(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha, Where where) const {
  const tensor::HostCall here("addbmm", where);
  check_batches("addbmm", a, b);
  if (a.size(0) != b.size(0)) {
    fail("addbmm",
         fmt::format("batch1 and batch2 must have same number of batches, got {} and {}", a.size(0), b.size(0)));
  }
  // The sum over the batch is one over a longer k: rows of a beside each other, columns of b below each other.
  const Tensor rows = a.permute({1, 0, 2}).reshape({a.size(1), -1}), columns = b.reshape({-1, b.size(2)});
  return scaled_sum("addbmm", *this, rows.mm(columns), beta, alpha);
}

Tensor tensordot(const TensorOperand& a, const Tensor& b, IntArrayRef dims_a, IntArrayRef dims_b) {
  constexpr const char* kCall = "tensordot";
  const tensor::HostCall here(kCall, a.where);
  if (dims_a.size() != dims_b.size()) fail(kCall, "both dimension lists should have same length");
  /// The dimensions that are summed, and those that are not.
  struct Sides {
    Extents summed, kept, kept_sizes;
  };
  const auto sides_of = [&](const Tensor& x, IntArrayRef dimensions) {
    Sides sides;
    const auto rank = static_cast<std::size_t>(x.dim());
    const std::vector<bool> chosen =
        dimensions.empty() ? std::vector<bool>(rank, false) : tensor::chosen_dimensions(kCall, dimensions, rank);
    for (const std::int64_t d : dimensions)
      sides.summed.push_back(static_cast<std::int64_t>(tensor::wrap_dimension(d, rank)));
    for (std::size_t d = 0; d < rank; ++d) {
      if (chosen[d]) continue;
      sides.kept.push_back(static_cast<std::int64_t>(d));
      sides.kept_sizes.push_back(impl_of(x).sizes[d]);
    }
    return sides;
  };
  const Sides left = sides_of(a.tensor, dims_a), right = sides_of(b, dims_b);
  std::int64_t sum = 1;
  for (std::size_t i = 0; i < left.summed.size(); ++i) {
    const std::int64_t extent = a.tensor.size(left.summed[i]), other = b.size(right.summed[i]);
    if (extent != other) {
      fail(kCall,
           fmt::format("contracted dimensions need to match, but first has size {} in dim {} and second has size "
                       "{} in dim {}",
                       extent, left.summed[i], other, right.summed[i]));
    }
    sum *= extent;
  }
  Extents rows = left.kept, columns = right.summed, sizes = left.kept_sizes;
  rows.insert(rows.end(), left.summed.begin(), left.summed.end());
  columns.insert(columns.end(), right.kept.begin(), right.kept.end());
  sizes.insert(sizes.end(), right.kept_sizes.begin(), right.kept_sizes.end());
  const auto count = [](const Extents& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
  };
  const Tensor x = a.tensor.permute(rows).reshape({count(left.kept_sizes), sum});
  const Tensor y = b.permute(columns).reshape({sum, count(right.kept_sizes)});
  return x.mm(y).view(sizes);
}

Tensor Tensor::cross(const Tensor& other, std::optional<std::int64_t> dimension, Where where) const {
  constexpr const char* kCall = "cross";
  const tensor::HostCall here(kCall, where);
  tensor::check_same_types(kCall, *this, other);
  if (sizes() != other.sizes()) {
    fail(kCall, fmt::format("inputs must have the same size, but they are {} and {}", tensor::describe(*this),
                            tensor::describe(other)));
  }
  const Extents& extents = impl_of(*this).sizes;
  const auto first = std::ranges::find(extents, 3);
  if (!dimension && first == extents.end()) fail(kCall, "no dimension of size 3 in input");
  const auto at = dimension ? tensor::wrap_dimension(*dimension, extents.size())
                            : static_cast<std::size_t>(first - extents.begin());
  if (extents.empty() || extents[at] != 3)
    fail(kCall, fmt::format("dimension {} does not have size 3", dimension.value_or(0)));
  const auto along = static_cast<std::int64_t>(at);
  const auto turned = [&](const Tensor& x, std::int64_t by) { return x.roll(by, along); };
  const ScalarType wide = tensor::wide_type(scalar_type());
  const Tensor a = to(wide), b = other.to(wide);
  return turned(a, -1).mul(turned(b, -2)).sub(turned(a, -2).mul(turned(b, -1))).to(scalar_type());
}

}  // namespace kernbench::torch
