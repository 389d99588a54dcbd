// Cutting strided views into boxes (boxes_of_view and boxes_of_lanes of locate.h).
#include <algorithm>
#include <cassert>
#include <utility>

#include "addressing/locate.h"

namespace kernbench::addressing {

namespace {

/// One dimension of a view: `count` elements at distance `stride` in the tensor and `view_stride` in the dense view.
struct Dimension {
  std::int64_t count, stride, view_stride;
};
using Dimensions = std::vector<Dimension>;

class Cutter {
 public:
  explicit Cutter(std::span<const std::int64_t> base) : base_(base.begin(), base.end()), strides_(base.size(), 1) {
    for (std::size_t i = base.size(); i-- > 1;) strides_[i - 1] = strides_[i] * base[i];
  }

  /// Dimensions descend by stride; none has count 1.
  void cut(const Dimensions& view, std::int64_t offset, std::int64_t view_offset) {
    if (try_box(view, offset, view_offset)) return;
    if (view.size() == 1 && view[0].stride == 1) return cut_run(view[0], offset, view_offset);
    const Dimension outer = view.front();
    const Dimensions inner(view.begin() + 1, view.end());
    for (std::int64_t i = 0; i < outer.count; ++i)
      cut(inner, offset + i * outer.stride, view_offset + i * outer.view_stride);
  }

  std::vector<ViewBox> take() { return std::move(boxes_); }

 private:
  std::vector<std::int64_t> coordinates(std::int64_t offset) const {
    std::vector<std::int64_t> result(base_.size());
    for (std::size_t i = 0; i < base_.size(); ++i) result[i] = offset / strides_[i] % base_[i];
    return result;
  }

  ViewBox box_at(std::int64_t offset, std::int64_t view_offset) const {
    return {.offset = coordinates(offset),
            .shape = std::vector<std::int64_t>(base_.size(), 1),
            .view_strides = std::vector<std::int64_t>(base_.size(), 0),
            .view_offset = view_offset};
  }

  /// Lays each dimension of the view along one dimension of the tensor, or over several that it covers entirely.
  bool try_box(const Dimensions& view, std::int64_t offset, std::int64_t view_offset) {
    ViewBox box = box_at(offset, view_offset);
    for (const Dimension& dimension : view)
      if (!lay(dimension, box)) return false;
    boxes_.push_back(std::move(box));
    return true;
  }

  bool lay(Dimension dimension, ViewBox& box) const {
    while (true) {
      const auto fits = [&](std::size_t i) { return strides_[i] == dimension.stride && base_[i] > 1; };
      std::size_t i = 0;
      while (i < base_.size() && !fits(i)) ++i;
      if (i == base_.size() || box.shape[i] != 1) return false;
      box.view_strides[i] = dimension.view_stride;
      if (box.offset[i] + dimension.count <= base_[i]) {
        box.shape[i] = dimension.count;
        return true;
      }
      if (box.offset[i] != 0 || dimension.count % base_[i] != 0) return false;
      box.shape[i] = base_[i];
      dimension = {dimension.count / base_[i], dimension.stride * base_[i], dimension.view_stride * base_[i]};
    }
  }

  /// Consecutive elements: the largest boxes of whole inner dimensions, one after the other.
  void cut_run(const Dimension& run, std::int64_t offset, std::int64_t view_offset) {
    for (std::int64_t done = 0; done < run.count;) {
      ViewBox box = box_at(offset + done, view_offset + done * run.view_stride);
      const std::int64_t left = run.count - done;
      std::size_t level = 0;
      while (strides_[level] > left || (offset + done) % strides_[level] != 0) ++level;
      box.shape[level] = std::min(left / strides_[level], base_[level] - box.offset[level]);
      for (std::size_t i = level; i < base_.size(); ++i) {
        if (i > level) box.shape[i] = base_[i];
        box.view_strides[i] = strides_[i] * run.view_stride;
      }
      done += box.shape[level] * strides_[level];
      boxes_.push_back(std::move(box));
    }
  }

  std::vector<std::int64_t> base_, strides_;
  std::vector<ViewBox> boxes_;
};

/// Joins dimensions that continue each other in the tensor and in the view.
Dimensions merged(const Dimensions& view) {
  Dimensions result;
  for (const Dimension& next : view) {
    if (!result.empty()) {
      Dimension& last = result.back();
      if (last.stride == next.stride * next.count && last.view_stride == next.view_stride * next.count) {
        last = {last.count * next.count, next.stride, next.view_stride};
        continue;
      }
    }
    result.push_back(next);
  }
  return result;
}

}  // namespace

std::vector<ViewBox> boxes_of_lanes(std::span<const std::int64_t> base, const LaneBlock& block) {
  assert(block.sizes.size() == block.strides.size() && block.sizes.size() == block.lane_strides.size());
  Dimensions view;
  for (std::size_t i = 0; i < block.sizes.size(); ++i) {
    if (block.sizes[i] == 0) return {};
    if (block.sizes[i] > 1) view.push_back({block.sizes[i], block.strides[i], block.lane_strides[i]});
  }
  // Repetitions (stride 0) come first, so that what is repeated stays in one piece.
  std::ranges::stable_sort(view, [](const Dimension& a, const Dimension& b) {
    if ((a.stride == 0) != (b.stride == 0)) return a.stride == 0;
    return a.stride != b.stride ? a.stride > b.stride : a.view_stride > b.view_stride;
  });
  Cutter cutter(base);
  cutter.cut(merged(view), block.offset, block.lane);
  return cutter.take();
}

std::vector<ViewBox> boxes_of_view(std::span<const std::int64_t> base, std::span<const std::int64_t> sizes,
                                   std::span<const std::int64_t> strides, std::int64_t storage_offset) {
  std::vector<std::int64_t> dense(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) dense[i - 1] = dense[i] * sizes[i];
  return boxes_of_lanes(base, {storage_offset, 0, sizes, strides, dense});
}

}  // namespace kernbench::addressing
