#include "tensor/device_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "addressing/locate.h"
#include "numerics/conversion.h"

namespace kernbench::tensor {

namespace {

/// The boxes of a view in its storage's tensor.
struct Boxes {
  std::vector<addressing::ViewBox> in_view;
  std::vector<DeviceBox> in_tensor;
};

Boxes boxes_of(const TensorImpl& view, std::span<const std::int64_t> sizes) {
  Boxes boxes{
      .in_view = addressing::boxes_of_view(view.storage->device->descriptor()->shape, sizes, view.strides, view.offset),
      .in_tensor = {}};
  for (const auto& box : boxes.in_view) boxes.in_tensor.push_back({.offset = box.offset, .shape = box.shape});
  return boxes;
}

/// Repeated elements of an expanded view count once.
Extents distinct_sizes(const TensorImpl& view) {
  Extents sizes = view.sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (view.strides[i] == 0 && sizes[i] > 1) sizes[i] = 1;
  return sizes;
}

/// The one box of a view that has its elements in their order.
bool is_all_of(const std::vector<addressing::ViewBox>& boxes, std::span<const std::int64_t> sizes) {
  return boxes.size() == 1 && boxes.front().view_offset == 0 &&
         is_dense(boxes.front().shape, boxes.front().view_strides) &&
         checked_numel(boxes.front().shape) == checked_numel(sizes);
}

/// Infinities take the place of numbers that were left out; of other elements nothing is known.
bool has_stand_ins(DType dtype, HostRead why) {
  return why == HostRead::check || (is_floating_point(dtype) && !decides(why));
}

void fill_with_stand_ins(const torch::Tensor& host, DType dtype) {
  const TensorImpl& impl = impl_of(host);
  std::array<std::byte, 8> element{};
  if (is_floating_point(dtype)) numerics::store_element(dtype, element.data(), HUGE_VAL);
  const Extents same(impl.sizes.size(), 0);
  copy_strided({impl.data(), impl.strides}, {element.data(), same}, impl.sizes, item_size(dtype));
  impl.storage->left_out = true;
}

std::byte* at(const torch::Tensor& dense, std::int64_t element) {
  const TensorImpl& impl = impl_of(dense);
  return impl.data() + element * item_size(impl.dtype);
}

}  // namespace

std::optional<torch::Tensor> try_read_view(const TensorImpl& view, HostRead why) {
  if (view.numel() == 0) return new_host_tensor(view.sizes, view.dtype);
  const Extents sizes = distinct_sizes(view);
  const Boxes boxes = boxes_of(view, sizes);
  auto contents = current_backend(name(why)).try_read(view.storage->device, boxes.in_tensor, why);
  if (!contents) return std::nullopt;
  const torch::Tensor result = new_host_tensor(sizes, view.dtype);
  if (is_all_of(boxes.in_view, sizes) && !contents->front().empty()) {
    impl_of(result).storage->use(std::move(contents->front()).share());
    return sizes == view.sizes ? result : result.expand(view.sizes).contiguous();
  }
  if (std::ranges::any_of(*contents, &HostBytes::empty)) {
    if (!has_stand_ins(view.dtype, why)) return std::nullopt;
    fill_with_stand_ins(result, view.dtype);
  }
  for (std::size_t i = 0; i < boxes.in_view.size(); ++i) {
    const auto& box = boxes.in_view[i];
    if ((*contents)[i].empty()) continue;
    copy_strided({at(result, box.view_offset), box.view_strides}, {(*contents)[i].data(), dense_strides(box.shape)},
                 box.shape, item_size(view.dtype));
  }
  return sizes == view.sizes ? result : result.expand(view.sizes).contiguous();
}

void write_view(const TensorImpl& view, const std::optional<torch::Tensor>& values, const char* call) {
  if (view.numel() == 0) return;
  DeviceBackend& backend = current_backend(call);
  const Boxes boxes = boxes_of(view, view.sizes);
  const std::int64_t item = item_size(view.dtype);
  std::vector<HostBytes> contents(boxes.in_view.size());
  if (values && backend.data_enabled() && !impl_of(*values).storage->left_out) {
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const auto& box = boxes.in_view[i];
      contents[i] = HostBytes(boxes.in_tensor[i].numel() * item);
      copy_strided({contents[i].data(), dense_strides(box.shape)}, {at(*values, box.view_offset), box.view_strides},
                   box.shape, item);
    }
  }
  backend.write(view.storage->device, boxes.in_tensor, std::move(contents));
}

void fill_view(const TensorImpl& view, const Element& element, const char* call) {
  if (view.numel() == 0) return;
  const Boxes boxes = boxes_of(view, distinct_sizes(view));
  current_backend(call).fill(view.storage->device, boxes.in_tensor, element.span());
}

std::optional<Extents> shape_of_one_box(const TensorImpl& view) {
  if (distinct_sizes(view) != view.sizes) return std::nullopt;
  const auto boxes = boxes_of(view, view.sizes).in_view;
  if (boxes.size() != 1 || boxes.front().view_offset != 0) return std::nullopt;
  if (!is_dense(boxes.front().shape, boxes.front().view_strides)) return std::nullopt;
  return boxes.front().shape;
}

bool copy_view(const TensorImpl& to, const TensorImpl& from, const char* call) {
  if (to.numel() == 0) return true;
  if (distinct_sizes(from) != from.sizes) return false;
  const Boxes source = boxes_of(from, from.sizes), target = boxes_of(to, to.sizes);
  if (source.in_view.size() != target.in_view.size()) return false;
  for (std::size_t i = 0; i < source.in_view.size(); ++i) {
    const auto &a = source.in_view[i], &b = target.in_view[i];
    if (a.shape != b.shape || a.view_strides != b.view_strides || a.view_offset != b.view_offset) return false;
  }
  current_backend(call).copy_on_device(to.storage->device, target.in_tensor, from.storage->device, source.in_tensor);
  return true;
}

}  // namespace kernbench::tensor
