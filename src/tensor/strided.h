// Copies between strided arrays of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kernbench::tensor {

using Extents = std::vector<std::int64_t>;

/// Strides of a dense row-major array, in elements.
Extents dense_strides(std::span<const std::int64_t> sizes);
/// The product; ValueError when it does not fit ("shape … is too large").
std::int64_t checked_numel(std::span<const std::int64_t> sizes);
/// Whether an array with these strides is dense and row-major (dimensions of one element do not matter).
bool is_dense(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

/// One side of a copy: strides in elements.
struct StridedBytes {
  std::byte* data;
  std::span<const std::int64_t> strides;
};
struct ConstStridedBytes {
  const std::byte* data;
  std::span<const std::int64_t> strides;
};

/// Copies elements of `item` bytes (1, 2, 4 or 8). The two sides do not overlap.
void copy_strided(StridedBytes to, ConstStridedBytes from, std::span<const std::int64_t> sizes, std::int64_t item);

}  // namespace kernbench::tensor
