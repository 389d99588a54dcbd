// cat, stack, hstack, vstack, and their reverse: split, chunk, unbind.
#include <fmt/format.h>

#include "kernbench/error.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::Extents;
using tensor::impl_of;
using tensor::text_of;

namespace {

/// A tensor of shape [0] joins with anything, by an old habit of PyTorch.
bool is_nothing(const Tensor& tensor) {
  return tensor.dim() == 1 && tensor.size(0) == 0;
}

/// The joined shape; checks that all tensors agree in the other dimensions.
Extents joined_shape(const std::vector<Tensor>& tensors, std::size_t at) {
  Extents shape = impl_of(tensors.front()).sizes;
  shape[at] = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Extents& sizes = impl_of(tensors[i]).sizes;
    if (sizes.size() != shape.size()) {
      tensor::fail("cat", fmt::format("Tensors must have same number of dimensions: got {} and {} (tensor number {} "
                                      "of the list)",
                                      shape.size(), sizes.size(), i));
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d == at || sizes[d] == shape[d]) continue;
      tensor::fail("cat", fmt::format("Sizes of tensors must match except in dimension {}. Expected size {} but got "
                                      "size {} for tensor number {} in the list.",
                                      at, shape[d], sizes[d], i));
    }
    shape[at] += sizes[at];
  }
  return shape;
}

/// The type that all tensors promote to, each as a tensor with dimensions.
ScalarType joined_type(TensorList tensors) {
  ScalarType type = tensors[0].scalar_type();
  for (const Tensor& tensor : tensors) type = tensor::promoted(type, tensor.scalar_type());
  return type;
}

}  // namespace

Tensor cat(TensorList tensors, std::int64_t dimension, Where where) {
  const tensor::HostCall here("cat", where);
  if (tensors.empty()) tensor::fail("cat", "expected a non-empty list of Tensors");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dim() == 0) {
      tensor::fail("cat", fmt::format("zero-dimensional tensor (at position {}) cannot be concatenated; use stack", i));
    }
  }
  const std::vector<tensor::DeviceOperand> operands(tensors.begin(), tensors.end());
  const tensor::ComputePlace place = tensor::place_of("cat", operands);
  const ScalarType type = joined_type(tensors);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors)
    if (!is_nothing(tensor)) parts.push_back(tensor);
  if (parts.empty()) return tensor::new_result("cat", place, Extents{0}, type);
  const std::size_t at = tensor::wrap_dimension(dimension, impl_of(parts.front()).sizes.size());
  const Extents shape = joined_shape(parts, at);
  Tensor out = tensor::new_result("cat", place, shape, type);
  if (out.numel() == 0) return out;
  if (place.on_device()) {
    for (Tensor& part : parts) part = part.to(type);
    tensor::device_kernels("cat").cat(parts, static_cast<std::int64_t>(at), out);
    return out;
  }
  std::int64_t start = 0;
  for (const Tensor& part : parts) {
    const std::int64_t length = impl_of(part).sizes[at];
    out.narrow(static_cast<std::int64_t>(at), start, length).copy_(part);
    start += length;
  }
  return out;
}

Tensor stack(TensorList tensors, std::int64_t dimension, Where where) {
  const tensor::HostCall here("stack", where);
  if (tensors.empty()) tensor::fail("stack", "expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!(tensors[i].sizes() == tensors[0].sizes())) {
      tensor::fail("stack", fmt::format("expects each tensor to be equal size, but got {} at entry 0 and {} at entry "
                                        "{}",
                                        text_of(impl_of(tensors[0]).sizes), text_of(impl_of(tensors[i]).sizes), i));
    }
    parts.push_back(tensors[i].unsqueeze(dimension));
  }
  const auto at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(tensors[0].dim()) + 1);
  return cat(parts, static_cast<std::int64_t>(at));
}

Tensor hstack(TensorList tensors, Where where) {
  const tensor::HostCall here("hstack", where);
  if (tensors.empty()) tensor::fail("hstack", "expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(tensor.dim() == 0 ? tensor.reshape({1}) : tensor);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}

Tensor vstack(TensorList tensors, Where where) {
  const tensor::HostCall here("vstack", where);
  if (tensors.empty()) tensor::fail("vstack", "expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors)
    parts.push_back(tensor.dim() == 0 ? tensor.reshape({1, 1}) : tensor.dim() == 1 ? tensor.unsqueeze(0) : tensor);
  return cat(parts, 0);
}

std::vector<Tensor> Tensor::split_with_sizes(IntArrayRef sizes, std::int64_t dimension, Where where) const {
  const tensor::HostCall here("split_with_sizes", where);
  const std::size_t at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(dim()), true);
  const std::int64_t extent = impl_of(*this).sizes[at];
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      tensor::fail("split_with_sizes", fmt::format("expects split_sizes have only non-negative entries, but got {}",
                                                   text_of(std::span(sizes.begin(), sizes.size()))));
    }
    total += size;
  }
  if (total != extent) {
    tensor::fail("split_with_sizes",
                 fmt::format("expects split_sizes to sum exactly to {} (input tensor's size at dimension {}), but got "
                             "split_sizes={}",
                             extent, at, text_of(std::span(sizes.begin(), sizes.size()))));
  }
  std::vector<Tensor> result;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    result.push_back(slice(static_cast<std::int64_t>(at), start, start + size));
    start += size;
  }
  return result;
}

std::vector<Tensor> Tensor::split(IntArrayRef sizes, std::int64_t dimension, Where where) const {
  const tensor::HostCall here("split", where);
  return split_with_sizes(sizes, dimension);
}

std::vector<Tensor> Tensor::split(std::int64_t size, std::int64_t dimension, Where where) const {
  const tensor::HostCall here("split", where);
  if (dim() == 0) tensor::fail("split", "expects at least a 1-dimensional tensor");
  if (size < 0) tensor::fail("split", fmt::format("expects split_size be non-negative, but got split_size={}", size));
  const std::size_t at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(dim()));
  const std::int64_t extent = impl_of(*this).sizes[at];
  if (size == 0 && extent != 0) {
    tensor::fail("split",
                 fmt::format("split_size can only be 0 if dimension size is 0, but got dimension size of {}", extent));
  }
  std::vector<Tensor> result;
  const std::int64_t pieces = size == 0 || extent == 0 ? 1 : (extent - 1) / size + 1;
  for (std::int64_t i = 0; i < pieces; ++i)
    result.push_back(slice(static_cast<std::int64_t>(at), i * size, std::min((i + 1) * size, extent)));
  return result;
}

std::vector<Tensor> Tensor::chunk(std::int64_t chunks, std::int64_t dimension, Where where) const {
  const tensor::HostCall here("chunk", where);
  if (dim() == 0) tensor::fail("chunk", "expects at least a 1-dimensional tensor");
  if (chunks <= 0) tensor::fail("chunk", fmt::format("expects `chunks` to be greater than 0, got: {}", chunks));
  const std::int64_t extent = size(dimension);
  const std::int64_t piece = (extent + chunks - 1) / chunks;
  if (piece == 0) return std::vector<Tensor>(static_cast<std::size_t>(chunks), *this);
  return split(piece, dimension);
}

std::vector<Tensor> Tensor::unbind(std::int64_t dimension, Where where) const {
  const tensor::HostCall here("unbind", where);
  const std::size_t at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(dim()), true);
  std::vector<Tensor> result;
  for (std::int64_t i = 0; i < impl_of(*this).sizes[at]; ++i)
    result.push_back(select(static_cast<std::int64_t>(at), i));
  return result;
}

}  // namespace kernbench::torch
