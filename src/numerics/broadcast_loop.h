// Walks a result and its broadcast operands together, row by row.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "numerics/shape.h"

namespace kernbench::numerics {

/// The loop nest over `result` with kOperands operands that broadcast to it. Dimensions that are contiguous in all
/// operands are merged, so that rows are as long as they can be.
template <std::size_t kOperands>
class BroadcastLoop {
 public:
  using Offsets = std::array<std::int64_t, kOperands>;

  BroadcastLoop(const Shape& result, const std::array<const Shape*, kOperands>& operands) {
    Offsets next_stride;
    next_stride.fill(1);
    for (std::size_t i = result.rank(); i-- > 0;) {
      Dimension dimension{result[i], {}};
      for (std::size_t o = 0; o < kOperands; ++o) {
        const Shape& shape = *operands[o];
        const std::size_t skipped = result.rank() - shape.rank();
        const std::int64_t extent = i >= skipped ? shape[i - skipped] : 1;
        dimension.strides[o] = extent == 1 ? 0 : next_stride[o];
        next_stride[o] *= extent;
      }
      add_outer(dimension);
    }
    if (dimensions_.empty()) dimensions_.push_back({1, {}});
    numel_ = result.numel();
  }

  /// Strides of the operands along a row: 1, or 0 where one element repeats.
  const Offsets& row_strides() const { return dimensions_.front().strides; }

  /// Calls visit(result_offset, operand_offsets, count) for each row, in order; offsets and counts in elements.
  template <class Visit>
  void for_each_row(Visit&& visit) const {
    const std::int64_t row = dimensions_.front().extent;
    std::vector<std::int64_t> index(dimensions_.size(), 0);
    Offsets offsets{};
    for (std::int64_t start = 0; start < numel_; start += row) {
      visit(start, offsets, row);
      for (std::size_t d = 1; d < dimensions_.size(); ++d) {
        const Dimension& dimension = dimensions_[d];
        for (std::size_t o = 0; o < kOperands; ++o) offsets[o] += dimension.strides[o];
        if (++index[d] < dimension.extent) break;
        for (std::size_t o = 0; o < kOperands; ++o) offsets[o] -= dimension.strides[o] * dimension.extent;
        index[d] = 0;
      }
    }
  }

 private:
  struct Dimension {
    std::int64_t extent;
    Offsets strides;
  };

  void add_outer(const Dimension& outer) {
    if (outer.extent == 1) return;
    if (!dimensions_.empty()) {
      Dimension& inner = dimensions_.back();
      bool contiguous = true;
      for (std::size_t o = 0; o < kOperands; ++o) {
        contiguous = contiguous && outer.strides[o] == inner.strides[o] * inner.extent;
      }
      if (contiguous) {
        inner.extent *= outer.extent;
        return;
      }
    }
    dimensions_.push_back(outer);
  }

  std::vector<Dimension> dimensions_;  // innermost first
  std::int64_t numel_ = 0;
};

}  // namespace kernbench::numerics
