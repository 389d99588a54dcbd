// Tensors that share the elements of another one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "kernbench/torch/tensor.h"
#include "tensor/dimensions.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch {

using tensor::Extents;
using tensor::impl_of;
using tensor::TensorImpl;
using tensor::text_of;
using tensor::wrap_dimension;

namespace {

Tensor view_of(const TensorImpl& base, Extents sizes, Extents strides, std::int64_t offset) {
  auto impl = std::make_shared<TensorImpl>(base);
  impl->sizes = std::move(sizes);
  impl->strides = std::move(strides);
  impl->offset = offset;
  return Tensor(std::move(impl));
}

/// How many there are behind all views of a storage.
std::int64_t elements_of(const tensor::Storage& storage, DType dtype) {
  if (!storage.device) return storage.host_bytes / item_size(dtype);
  std::int64_t count = 1;
  for (const std::int64_t extent : storage.device->descriptor()->shape) count *= extent;
  return count;
}

void erase_at(Extents& values, std::size_t index) {
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(index));
}

void insert_at(Extents& values, std::size_t index, std::int64_t value) {
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(index), value);
}

}  // namespace

Tensor Tensor::alias(Where where) const {
  const tensor::HostCall here("alias", where);
  return Tensor(std::make_shared<TensorImpl>(impl_of(*this)));
}

Tensor Tensor::select(std::int64_t dimension, std::int64_t index, Where where) const {
  const tensor::HostCall here("select", where);
  const TensorImpl& base = impl_of(*this);
  if (base.sizes.empty()) throw IndexError("select() cannot be applied to a 0-dim tensor.");
  const std::size_t at = wrap_dimension(dimension, base.sizes.size());
  const std::int64_t size = base.sizes[at];
  if (index < -size || index >= size) {
    throw IndexError(fmt::format("select(): index {} out of range for tensor of size {} at dimension {}", index,
                                 text_of(base.sizes), dimension));
  }
  Extents sizes = base.sizes, strides = base.strides;
  const std::int64_t offset = base.offset + (index < 0 ? index + size : index) * strides[at];
  erase_at(sizes, at);
  erase_at(strides, at);
  return view_of(base, std::move(sizes), std::move(strides), offset);
}

Tensor Tensor::narrow(std::int64_t dimension, std::int64_t start, std::int64_t length, Where where) const {
  const tensor::HostCall here("narrow", where);
  const TensorImpl& base = impl_of(*this);
  if (base.sizes.empty()) throw ValueError("narrow() cannot be applied to a 0-dim tensor.");
  const std::int64_t size = base.sizes[wrap_dimension(dimension, base.sizes.size())];
  if (start != size) start = static_cast<std::int64_t>(wrap_dimension(start, static_cast<std::size_t>(size)));
  if (length < 0 || start > size - length)
    throw ValueError(fmt::format("start ({}) + length ({}) exceeds dimension size ({}).", start, length, size));
  return slice(dimension, start, start + length);
}

Tensor Tensor::slice(std::int64_t dimension, std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                     std::int64_t step, Where where) const {
  const tensor::HostCall here("slice", where);
  const TensorImpl& base = impl_of(*this);
  if (base.sizes.empty()) throw IndexError("slice() cannot be applied to a 0-dim tensor.");
  const std::size_t at = wrap_dimension(dimension, base.sizes.size());
  if (step <= 0) throw ValueError("slice step must be positive");
  const std::int64_t size = base.sizes[at];
  const auto clamp = [size](std::int64_t value) {
    return std::clamp<std::int64_t>(value < 0 ? value + size : value, 0, size);
  };
  const std::int64_t first = clamp(start.value_or(0));
  const std::int64_t last = std::max(first, clamp(end.value_or(size)));
  Extents sizes = base.sizes, strides = base.strides;
  sizes[at] = last == first ? 0 : (last - first - 1) / step + 1;
  const std::int64_t offset = base.offset + first * strides[at];
  // An enormous step leaves one element at most, whose distance to the next one is never used.
  if (std::int64_t scaled = 0; !__builtin_mul_overflow(strides[at], step, &scaled)) strides[at] = scaled;
  return view_of(base, std::move(sizes), std::move(strides), offset);
}

Tensor Tensor::transpose(std::int64_t dimension0, std::int64_t dimension1, Where where) const {
  const tensor::HostCall here("transpose", where);
  const TensorImpl& base = impl_of(*this);
  const std::size_t a = wrap_dimension(dimension0, base.sizes.size());
  const std::size_t b = wrap_dimension(dimension1, base.sizes.size());
  Extents sizes = base.sizes, strides = base.strides;
  if (!sizes.empty()) {
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
  }
  return view_of(base, std::move(sizes), std::move(strides), base.offset);
}

Tensor Tensor::t(Where where) const {
  const tensor::HostCall here("t", where);
  if (dim() > 2) throw ValueError(fmt::format("t() expects a tensor with <= 2 dimensions, but self is {}D", dim()));
  return dim() < 2 ? alias() : transpose(0, 1);
}

Tensor Tensor::permute(IntArrayRef dimensions, Where where) const {
  const tensor::HostCall here("permute", where);
  const TensorImpl& base = impl_of(*this);
  const std::size_t rank = base.sizes.size();
  if (dimensions.size() != rank) {
    throw ValueError(
        fmt::format("permute(): number of dimensions in the tensor input does not match the length of the "
                    "desired ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
                    rank, dimensions.size()));
  }
  Extents sizes, strides;
  std::vector<bool> seen(rank, false);
  for (const std::int64_t dimension : dimensions) {
    const std::size_t at = wrap_dimension(dimension, rank);
    if (seen[at]) throw ValueError("permute(): duplicate dims are not allowed.");
    seen[at] = true;
    sizes.push_back(base.sizes[at]);
    strides.push_back(base.strides[at]);
  }
  return view_of(base, std::move(sizes), std::move(strides), base.offset);
}

Tensor Tensor::view(IntArrayRef sizes, Where where) const {
  const tensor::HostCall here("view", where);
  const TensorImpl& base = impl_of(*this);
  Extents inferred = tensor::infer_sizes(sizes, base.numel());
  auto strides = tensor::strides_of_view(base.sizes, base.strides, inferred);
  if (!strides) {
    throw ValueError(
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
        "two contiguous subspaces). Use .reshape(...) instead.");
  }
  return view_of(base, std::move(inferred), std::move(*strides), base.offset);
}

Tensor Tensor::unsqueeze(std::int64_t dimension, Where where) const {
  const tensor::HostCall here("unsqueeze", where);
  const TensorImpl& base = impl_of(*this);
  const std::size_t at = wrap_dimension(dimension, base.sizes.size() + 1);
  Extents sizes = base.sizes, strides = base.strides;
  insert_at(strides, at, at < sizes.size() ? sizes[at] * strides[at] : 1);
  insert_at(sizes, at, 1);
  tensor::check_sizes(sizes);
  return view_of(base, std::move(sizes), std::move(strides), base.offset);
}

Tensor Tensor::squeeze(std::int64_t dimension, Where where) const {
  const tensor::HostCall here("squeeze", where);
  const TensorImpl& base = impl_of(*this);
  const std::size_t at = wrap_dimension(dimension, base.sizes.size());
  if (base.sizes.empty() || base.sizes[at] != 1) return alias();
  return select(dimension, 0);
}

Tensor Tensor::squeeze(Where where) const {
  const tensor::HostCall here("squeeze", where);
  const TensorImpl& base = impl_of(*this);
  Extents sizes, strides;
  for (std::size_t i = 0; i < base.sizes.size(); ++i) {
    if (base.sizes[i] == 1) continue;
    sizes.push_back(base.sizes[i]);
    strides.push_back(base.strides[i]);
  }
  return view_of(base, std::move(sizes), std::move(strides), base.offset);
}

Tensor Tensor::expand(IntArrayRef sizes, Where where) const {
  const tensor::HostCall here("expand", where);
  const TensorImpl& base = impl_of(*this);
  const std::size_t rank = base.sizes.size();
  if (sizes.size() < rank) {
    throw ValueError(
        fmt::format("expand(): the number of sizes provided ({}) must be greater or equal to the number of "
                    "dimensions in the tensor ({})",
                    sizes.size(), rank));
  }
  Extents target = sizes.vec();
  const std::size_t added = target.size() - rank;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == -1 && i < added) {
      throw ValueError(
          fmt::format("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {}", i));
    }
    if (i < added) continue;
    const std::int64_t old = base.sizes[i - added];
    if (target[i] == -1) target[i] = old;
    if (target[i] != old && old != 1) {
      throw ValueError(
          fmt::format("The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton "
                      "dimension {}.  Target sizes: {}.  Tensor sizes: {}",
                      target[i], old, i, text_of({sizes.begin(), sizes.size()}), text_of(base.sizes)));
    }
  }
  tensor::check_sizes(target);
  Extents strides = tensor::expanded_strides(base.sizes, base.strides, target);
  return view_of(base, std::move(target), std::move(strides), base.offset);
}

Tensor Tensor::unfold(std::int64_t dimension, std::int64_t size, std::int64_t step, Where where) const {
  const tensor::HostCall here("unfold", where);
  const TensorImpl& base = impl_of(*this);
  if (base.sizes.empty()) {
    wrap_dimension(dimension, 0);
    return view({1}).unfold(0, size, step).select(0, 0);
  }
  const std::size_t at = wrap_dimension(dimension, base.sizes.size());
  const std::int64_t extent = base.sizes[at];
  if (size < 0) throw ValueError(fmt::format("unfold(): size is {} but must be >= 0", size));
  if (size > extent)
    throw ValueError(fmt::format("maximum size for tensor at dimension {} is {} but size is {}", at, extent, size));
  if (step <= 0) throw ValueError(fmt::format("step is {} but must be > 0", step));
  Extents sizes = base.sizes, strides = base.strides;
  sizes[at] = (extent - size) / step + 1;
  strides[at] *= step;
  sizes.push_back(size);
  strides.push_back(base.strides[at]);
  return view_of(base, std::move(sizes), std::move(strides), base.offset);
}

Tensor Tensor::as_strided(IntArrayRef size, IntArrayRef stride, std::optional<std::int64_t> storage_offset,
                          Where where) const {
  const tensor::HostCall here("as_strided", where);
  const TensorImpl& base = impl_of(*this);
  const std::int64_t offset = storage_offset.value_or(base.offset);
  if (size.size() != stride.size()) throw ValueError("mismatch in length of strides and shape");
  tensor::check_sizes(size);
  std::int64_t last = offset;
  bool empty = false;
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (stride[d] < 0) {
      throw ValueError("as_strided: Negative strides are not supported at the moment, got strides: " +
                       text_of({stride.begin(), stride.size()}));
    }
    empty = empty || size[d] == 0;
    last += (size[d] - 1) * stride[d];
  }
  if (offset < 0 || (!empty && last >= elements_of(*base.storage, base.dtype))) {
    throw ValueError(
        fmt::format("as_strided: sizes {}, strides {} and storage offset {} are out of bounds for a storage "
                    "of {} elements",
                    text_of({size.begin(), size.size()}), text_of({stride.begin(), stride.size()}), offset,
                    elements_of(*base.storage, base.dtype)));
  }
  return view_of(base, size.vec(), stride.vec(), offset);
}

Tensor Tensor::reshape(IntArrayRef sizes, Where where) const {
  const tensor::HostCall here("reshape", where);
  const TensorImpl& base = impl_of(*this);
  Extents inferred = tensor::infer_sizes(sizes, base.numel());
  const bool viewable = tensor::strides_of_view(base.sizes, base.strides, inferred).has_value();
  return viewable ? view(inferred) : contiguous().view(inferred);
}

Tensor Tensor::flatten(std::int64_t first, std::int64_t last, Where where) const {
  const tensor::HostCall here("flatten", where);
  const TensorImpl& base = impl_of(*this);
  if (base.sizes.empty()) return reshape({1});
  const std::size_t low = wrap_dimension(first, base.sizes.size()), high = wrap_dimension(last, base.sizes.size());
  if (low > high) throw ValueError("flatten() has invalid args: start_dim cannot come after end_dim");
  Extents sizes(base.sizes.begin(), base.sizes.begin() + static_cast<std::ptrdiff_t>(low) + 1);
  for (std::size_t i = low + 1; i <= high; ++i) sizes[low] *= base.sizes[i];
  sizes.insert(sizes.end(), base.sizes.begin() + static_cast<std::ptrdiff_t>(high) + 1, base.sizes.end());
  return reshape(sizes);
}

}  // namespace kernbench::torch
