// What a kernel sees of a tensor that is a launch argument (launch_descriptor of tensor_impl.h).
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "addressing/locate.h"
#include "base/name_format.h"
#include "kernbench/error.h"
#include "tensor/placement/work_boxes.h"
#include "tensor/strided.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tensor {

namespace {

using addressing::Shard;
using addressing::TensorDescriptor;

std::int64_t product(std::span<const std::int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// The first element of a shard in the tensor, and whether its elements follow each other there.
std::int64_t first_element(const TensorDescriptor& tensor, const Shard& shard) {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) first = first * tensor.shape[i] + shard.offset[i];
  return first;
}

bool is_run(const TensorDescriptor& tensor, const Shard& shard) {
  std::size_t i = 0;
  while (i < tensor.shape.size() && shard.shape[i] == 1) ++i;
  for (++i; i < tensor.shape.size(); ++i)
    if (shard.shape[i] != tensor.shape[i]) return false;
  return true;
}

/// A view of consecutive elements, cut from shards of consecutive elements: any shape will do.
void append_runs(const TensorDescriptor& tensor, const Shard& shard, const TensorImpl& view,
                 std::vector<Shard>& shards) {
  const std::int64_t start = first_element(tensor, shard);
  const std::int64_t low = std::max(start, view.offset);
  const std::int64_t high = std::min(start + product(shard.shape), view.offset + view.numel());
  if (low >= high) return;
  std::uint64_t va = shard.va + static_cast<std::uint64_t>((low - start) * item_size(tensor.dtype));
  const Extents length{high - low}, stride{1};
  for (auto& box : addressing::boxes_of_view(view.sizes, length, stride, low - view.offset)) {
    const std::int64_t elements = product(box.shape);
    shards.push_back({.owner = shard.owner, .offset = std::move(box.offset), .shape = std::move(box.shape), .va = va});
    va += static_cast<std::uint64_t>(elements * item_size(tensor.dtype));
  }
}

/// Leading dimensions selected, the next one narrowed, the others whole: any shard stays dense. False when the view is
/// not of this form.
bool append_leading(const TensorDescriptor& tensor, const Shard& shard, const TensorImpl& view,
                    std::vector<Shard>& shards) {
  if (view.sizes.empty() || view.sizes.size() > tensor.shape.size()) return false;
  const std::size_t narrowed = tensor.shape.size() - view.sizes.size();
  if (!std::equal(view.sizes.begin() + 1, view.sizes.end(),
                  tensor.shape.begin() + static_cast<std::ptrdiff_t>(narrowed) + 1))
    return false;
  const std::int64_t row = product(std::span(view.sizes).subspan(1));
  if (row == 0 || view.offset % row != 0) return false;
  std::int64_t left = view.offset / row;
  Extents low(narrowed + 1), high(narrowed + 1);
  for (std::size_t i = narrowed + 1; i-- > 0;) {
    low[i] = left % tensor.shape[i];
    high[i] = low[i] + (i == narrowed ? view.sizes[0] : 1);
    left /= tensor.shape[i];
  }
  if (high[narrowed] > tensor.shape[narrowed]) return false;
  Shard part{.owner = shard.owner, .offset = {}, .shape = {}, .va = 0};
  std::int64_t skipped = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::int64_t begin = shard.offset[i], end = begin + shard.shape[i];
    if (i <= narrowed) {
      begin = std::max(begin, low[i]);
      end = std::min(end, high[i]);
      if (begin >= end) return true;
    }
    skipped = skipped * shard.shape[i] + begin - shard.offset[i];
    if (i < narrowed) continue;
    part.offset.push_back(i == narrowed ? begin - low[i] : begin);
    part.shape.push_back(end - begin);
  }
  part.va = shard.va + static_cast<std::uint64_t>(skipped * item_size(tensor.dtype));
  shards.push_back(std::move(part));
  return true;
}

}  // namespace

std::shared_ptr<const TensorDescriptor> launch_descriptor(const torch::Tensor& tensor, const std::string& parameter) {
  const TensorImpl& view = impl_of(tensor);
  if (!view.storage->device) {
    throw ValueError(
        fmt::format("{} is a CPU tensor, and kernels take device tensors: make it with "
                    "torch::device(\"ahbm\") or copy it with .to(\"ahbm\")",
                    parameter));
  }
  const auto& whole = view.storage->device->descriptor();
  const auto reject = [&] {
    throw ValueError(
        fmt::format("{} is a view of tensor \"{}\" that a kernel cannot take (it is not dense in its shards): "
                    "pass the whole tensor, a range of its first dimension, or .contiguous()",
                    parameter, whole->name));
  };
  if (!view.is_contiguous()) reject();
  if (view.offset == 0 && view.sizes == whole->shape) return whole;
  auto part = std::make_shared<TensorDescriptor>();
  part->name = whole->name;
  part->dtype = whole->dtype;
  part->shape = view.sizes;
  part->va = whole->va;
  part->va_bytes = whole->va_bytes;
  if (view.numel() == 0) return part;
  part->interleaving = whole->interleaving;
  std::vector<Shard>& stored = whole->is_interleaved() ? part->arrays : part->shards;
  for (const Shard& shard : whole->stored()) {
    if (is_run(*whole, shard))
      append_runs(*whole, shard, view, stored);
    else if (!append_leading(*whole, shard, view, stored))
      reject();
  }
  if (whole->is_interleaved()) part->shards = work_boxes(*part);
  return part;
}

}  // namespace kernbench::tensor
