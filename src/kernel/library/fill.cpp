#include "kernel/library/fill.h"

#include <algorithm>
#include <optional>

#include "kernel/program.h"

namespace kernbench::kernel::library {

namespace {

constexpr std::int64_t kLargestBlock = 32 * 1024;

/// Elements of a block: an eighth of the TCM at most, so that other programs of the PE have room too.
std::int64_t block_elements(DType dtype) {
  const auto& program = Program::current("fill", tl::Where::current());
  return std::clamp<std::int64_t>(program.pe().tcm().capacity().count() / 8 / item_size(dtype), 1, kLargestBlock);
}

using Box = tl::Tensor::Box;

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box result = a;
  for (std::size_t d = 0; d < a.offset.size(); ++d) {
    const std::int64_t begin = std::max(a.offset[d], b.offset[d]);
    const std::int64_t end = std::min(a.offset[d] + a.shape[d], b.offset[d] + b.shape[d]);
    if (begin >= end) return std::nullopt;
    result.offset[d] = begin;
    result.shape[d] = end - begin;
  }
  return result;
}

/// The largest block of `shape` that is contiguous in row-major order and within the limit.
tl::Extents block_shape(const tl::Extents& shape, std::int64_t limit) {
  tl::Extents block = shape;
  std::int64_t elements = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    block[d] = std::clamp<std::int64_t>(limit / elements, 1, shape[d]);
    elements *= block[d];
  }
  return block;
}

/// Steps `at` to the next block of `box`; false after the last.
bool advance(tl::Extents& at, const Box& box, const tl::Extents& block) {
  for (std::size_t d = at.size(); d-- > 0;) {
    at[d] += block[d];
    if (at[d] < box.offset[d] + box.shape[d]) return true;
    at[d] = box.offset[d];
  }
  return false;
}

void fill_box(const tl::Tensor& tensor, const Box& box, tl::Scalar value) {
  const tl::Extents block = block_shape(box.shape, block_elements(tensor.dtype()));
  tl::Extents at = box.offset;
  tl::Tile tile;
  do {
    tl::Extents shape = block;
    for (std::size_t d = 0; d < at.size(); ++d) shape[d] = std::min(block[d], box.offset[d] + box.shape[d] - at[d]);
    if (!tile.defined() || !(tile.shape() == shape)) {
      tile = tl::Tile();
      tile = tl::full(shape, value, tensor.dtype());
    }
    tl::store(tensor, at, tile);
  } while (advance(at, box, block));
}

}  // namespace

void fill(tl::Tensor tensor, const std::vector<Box>& boxes, tl::Scalar value) {
  for (std::size_t shard = 0; shard < tensor.local_shard_count(); ++shard) {
    const Box local = tensor.local_shard(shard);
    for (const Box& box : boxes) {
      if (const auto common = intersection(local, box)) fill_box(tensor, *common, value);
    }
  }
}

}  // namespace kernbench::kernel::library
