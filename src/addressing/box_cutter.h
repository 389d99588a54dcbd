// Cutting strided lanes of a tensor into boxes, without an allocation for any of them.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "addressing/locate.h"

namespace kernbench::addressing {

/// Dimensions of a tensor, at most.
inline constexpr std::size_t kMaximumRank = 8;
using Indices = std::array<std::int64_t, kMaximumRank>;

/// A box of a tensor of `rank` dimensions, and where its elements go: see ViewBox.
struct LaneBox {
  std::size_t rank = 0;
  Indices offset{}, shape{}, lane_strides{};
  std::int64_t lane = 0;
};

/// Cuts lanes into boxes of a tensor of shape `base`, and gives each to `take`; every element is in one of them.
template <class Take>
class BoxCutter {
 public:
  /// REQUIRES: at most 8 dimensions, of the tensor and of the lanes.
  BoxCutter(std::span<const std::int64_t> base, Take take) : rank_(base.size()), take_(take) {
    assert(rank_ <= kMaximumRank);
    std::int64_t stride = 1;
    for (std::size_t i = rank_; i-- > 0;) {
      base_[i] = base[i], strides_[i] = stride;
      stride *= base[i];
    }
  }

  void cut(const LaneBlock& block) {
    assert(block.sizes.size() == block.strides.size() && block.sizes.size() == block.lane_strides.size());
    assert(block.sizes.size() <= kMaximumRank);
    std::array<Dimension, kMaximumRank> dimensions;
    std::size_t count = 0;
    for (std::size_t i = 0; i < block.sizes.size(); ++i) {
      if (block.sizes[i] == 0) return;
      if (block.sizes[i] > 1) dimensions[count++] = {block.sizes[i], block.strides[i], block.lane_strides[i]};
    }
    // Repetitions (stride 0) come first, so that what is repeated stays in one piece. By insertion: stable, and few.
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t j = i; j > 0 && before(dimensions[j], dimensions[j - 1]); --j)
        std::swap(dimensions[j], dimensions[j - 1]);
    }
    cut(std::span(dimensions).first(merge(std::span(dimensions).first(count))), block.offset, block.lane);
  }

 private:
  /// `count` elements at distance `stride` in the tensor and `lane_stride` in the lanes.
  struct Dimension {
    std::int64_t count = 1, stride = 0, lane_stride = 0;
  };

  static bool before(const Dimension& a, const Dimension& b) {
    if ((a.stride == 0) != (b.stride == 0)) return a.stride == 0;
    return a.stride != b.stride ? a.stride > b.stride : a.lane_stride > b.lane_stride;
  }

  /// Joins dimensions that continue each other in the tensor and in the lanes. Returns how many are left.
  static std::size_t merge(std::span<Dimension> dimensions) {
    std::size_t left = 0;
    for (const Dimension& next : dimensions) {
      if (left > 0) {
        Dimension& last = dimensions[left - 1];
        if (last.stride == next.stride * next.count && last.lane_stride == next.lane_stride * next.count) {
          last = {last.count * next.count, next.stride, next.lane_stride};
          continue;
        }
      }
      dimensions[left++] = next;
    }
    return left;
  }

  /// Dimensions descend by stride; none has count 1.
  void cut(std::span<const Dimension> view, std::int64_t offset, std::int64_t lane) {
    if (try_box(view, offset, lane)) return;
    if (view.size() == 1 && view[0].stride == 1) return cut_run(view[0], offset, lane);
    const Dimension& outer = view.front();
    for (std::int64_t i = 0; i < outer.count; ++i)
      cut(view.subspan(1), offset + i * outer.stride, lane + i * outer.lane_stride);
  }

  LaneBox box_at(std::int64_t offset, std::int64_t lane) const {
    LaneBox box{.rank = rank_, .lane = lane};
    for (std::size_t i = 0; i < rank_; ++i) box.offset[i] = offset / strides_[i] % base_[i], box.shape[i] = 1;
    return box;
  }

  /// Lays each dimension of the view along one dimension of the tensor, or over several that it covers entirely.
  bool try_box(std::span<const Dimension> view, std::int64_t offset, std::int64_t lane) {
    LaneBox box = box_at(offset, lane);
    for (const Dimension& dimension : view)
      if (!lay(dimension, box)) return false;
    take_(box);
    return true;
  }

  bool lay(Dimension dimension, LaneBox& box) const {
    while (true) {
      const auto fits = [&](std::size_t i) { return strides_[i] == dimension.stride && base_[i] > 1; };
      std::size_t i = 0;
      while (i < rank_ && !fits(i)) ++i;
      if (i == rank_ || box.shape[i] != 1) return false;
      box.lane_strides[i] = dimension.lane_stride;
      if (box.offset[i] + dimension.count <= base_[i]) {
        box.shape[i] = dimension.count;
        return true;
      }
      if (box.offset[i] != 0 || dimension.count % base_[i] != 0) return false;
      box.shape[i] = base_[i];
      dimension = {dimension.count / base_[i], dimension.stride * base_[i], dimension.lane_stride * base_[i]};
    }
  }

  /// Consecutive elements: the largest boxes of whole inner dimensions, one after the other.
  void cut_run(const Dimension& run, std::int64_t offset, std::int64_t lane) {
    for (std::int64_t done = 0; done < run.count;) {
      LaneBox box = box_at(offset + done, lane + done * run.lane_stride);
      const std::int64_t left = run.count - done;
      std::size_t level = 0;
      while (strides_[level] > left || (offset + done) % strides_[level] != 0) ++level;
      box.shape[level] = std::min(left / strides_[level], base_[level] - box.offset[level]);
      for (std::size_t i = level; i < rank_; ++i) {
        if (i > level) box.shape[i] = base_[i];
        box.lane_strides[i] = strides_[i] * run.lane_stride;
      }
      done += box.shape[level] * strides_[level];
      take_(box);
    }
  }

  std::size_t rank_;
  Indices base_{}, strides_{};
  Take take_;
};

}  // namespace kernbench::addressing
