// Views that reorder or take apart dimensions: movedim, T, mT, unflatten, diagonal; and tril and triu, which copy.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernbench/error.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"

namespace kernbench::torch {

using tensor::Extents;
using tensor::impl_of;
using tensor::TensorImpl;

namespace {

/// Dimensions counted from 0, each named once.
Extents wrapped(const char* which, IntArrayRef dimensions, std::size_t rank) {
  Extents result;
  for (const std::int64_t dimension : dimensions) {
    const auto at = static_cast<std::int64_t>(tensor::wrap_dimension(dimension, rank));
    if (std::ranges::find(result, at) != result.end())
      tensor::fail("movedim", fmt::format("repeated dim in `{}`: {}", which, dimension));
    result.push_back(at);
  }
  return result;
}

}  // namespace

Tensor Tensor::movedim(IntArrayRef source, IntArrayRef destination, Where where) const {
  const tensor::HostCall here("movedim", where);
  if (source.size() != destination.size()) {
    tensor::fail("movedim", fmt::format("Invalid source or destination dims: source has {} dims, destination {}",
                                        source.size(), destination.size()));
  }
  const auto rank = static_cast<std::size_t>(dim());
  const Extents from = wrapped("source", source, rank), to = wrapped("destination", destination, rank);
  if (rank == 0) return alias();
  Extents order(rank, -1), rest;
  for (std::size_t i = 0; i < from.size(); ++i) order[static_cast<std::size_t>(to[i])] = from[i];
  for (std::int64_t d = 0; d < dim(); ++d)
    if (std::ranges::find(from, d) == from.end()) rest.push_back(d);
  auto next = rest.begin();
  for (std::int64_t& place : order)
    if (place < 0) place = *next++;
  return permute(order);
}
Tensor Tensor::movedim(std::int64_t source, std::int64_t destination, Where where) const {
  const tensor::HostCall here("movedim", where);
  return movedim(IntArrayRef(source), IntArrayRef(destination));
}

Tensor Tensor::mT(Where where) const {
  const tensor::HostCall here("mT", where);
  if (dim() < 2) {
    tensor::fail(
        "mT", fmt::format("tensor.mT is only supported on matrices or batches of matrices. Got {}-D tensor.", dim()));
  }
  return transpose(-2, -1);
}

Tensor Tensor::T(Where where) const {
  const tensor::HostCall here("T", where);
  Extents order(static_cast<std::size_t>(dim()));
  std::iota(order.rbegin(), order.rend(), 0);
  return permute(order);
}

Tensor Tensor::unflatten(std::int64_t dimension, IntArrayRef sizes, Where where) const {
  const tensor::HostCall here("unflatten", where);
  if (sizes.empty()) tensor::fail("unflatten", "sizes must be non-empty");
  const auto& old = impl_of(*this).sizes;
  const std::size_t at = tensor::wrap_dimension(dimension, old.size());
  const std::int64_t extent = old.empty() ? 1 : old[at];
  Extents inner;
  try {
    inner = tensor::infer_sizes(sizes, extent);
  } catch (const ValueError&) {
    tensor::fail("unflatten",
                 fmt::format("Provided sizes {} don't multiply up to the size of dim {} ({}) in the input tensor",
                             tensor::text_of(std::span(sizes.begin(), sizes.size())), dimension, extent));
  }
  Extents result(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(old.empty() ? 0 : at));
  result.insert(result.end(), inner.begin(), inner.end());
  if (!old.empty()) result.insert(result.end(), old.begin() + static_cast<std::ptrdiff_t>(at) + 1, old.end());
  return view(result);
}

Tensor Tensor::diagonal(std::int64_t offset, std::int64_t dimension1, std::int64_t dimension2, Where where) const {
  const tensor::HostCall here("diagonal", where);
  const TensorImpl& base = impl_of(*this);
  const std::size_t rows = tensor::wrap_dimension(dimension1, base.sizes.size());
  const std::size_t columns = tensor::wrap_dimension(dimension2, base.sizes.size());
  if (rows == columns) {
    tensor::fail("diagonal", fmt::format("diagonal dimensions cannot be identical {}, {}", dimension1, dimension2));
  }
  const std::int64_t height = base.sizes[rows], width = base.sizes[columns];
  const std::int64_t length =
      std::max<std::int64_t>(offset >= 0 ? std::min(height, width - offset) : std::min(height + offset, width), 0);
  auto impl = std::make_shared<TensorImpl>(base);
  if (length > 0) impl->offset += offset >= 0 ? offset * base.strides[columns] : -offset * base.strides[rows];
  const std::int64_t step = base.strides[rows] + base.strides[columns];
  for (const std::size_t gone : {std::max(rows, columns), std::min(rows, columns)}) {
    impl->sizes.erase(impl->sizes.begin() + static_cast<std::ptrdiff_t>(gone));
    impl->strides.erase(impl->strides.begin() + static_cast<std::ptrdiff_t>(gone));
  }
  impl->sizes.push_back(length);
  impl->strides.push_back(step);
  return Tensor(std::move(impl));
}

namespace {

Tensor triangle(const char* call, const Tensor& x, std::int64_t diagonal, bool upper) {
  const tensor::ComputePlace place = tensor::place_of(call, {x});
  tensor::wrap_dimension(-2, static_cast<std::size_t>(x.dim()));
  Tensor out = tensor::new_result(call, place, impl_of(x).sizes, x.scalar_type());
  if (out.numel() == 0) return out;
  if (place.on_device()) {
    tensor::device_kernels(call).triangle(x, diagonal, upper, out);
    return out;
  }
  out.zero_();
  const std::int64_t rows = x.size(-2), columns = x.size(-1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t edge = std::clamp<std::int64_t>(row + diagonal + (upper ? 0 : 1), 0, columns);
    const std::int64_t first = upper ? edge : 0, count = upper ? columns - edge : edge;
    if (count > 0) out.select(-2, row).narrow(-1, first, count).copy_(x.select(-2, row).narrow(-1, first, count));
  }
  return out;
}

}  // namespace

Tensor Tensor::tril(std::int64_t diagonal, Where where) const {
  const tensor::HostCall here("tril", where);
  return triangle("tril", *this, diagonal, false);
}
Tensor Tensor::triu(std::int64_t diagonal, Where where) const {
  const tensor::HostCall here("triu", where);
  return triangle("triu", *this, diagonal, true);
}

}  // namespace kernbench::torch
