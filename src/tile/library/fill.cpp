#include "tile/library/fill.h"

#include <algorithm>

#include "tile/library/view.h"
#include "tile/program/program.h"

namespace kernbench::tile::library {

namespace {

constexpr std::int64_t kLargestFill = 32 * 1024;

/// Elements of a block: an eighth of the TCM at most, so that other programs of the PE have room too.
std::int64_t block_elements(DType dtype) {
  const auto& program = Program::current("fill", tl::Where::current());
  return std::clamp<std::int64_t>(program.pe().tcm().capacity().count() / 8 / item_size(dtype), 1, kLargestFill);
}

void fill_box(const tl::Tensor& tensor, const Box& box, tl::Scalar value) {
  const tl::Extents block = block_shape(box.shape, block_elements(tensor.dtype()));
  tl::Tile tile;
  for_each_block(box, block, [&](const tl::Extents& at, const tl::Extents& shape) {
    if (!tile.defined() || !(tile.shape() == shape)) {
      tile = tl::Tile();
      tile = tl::full(shape, value, tensor.dtype());
    }
    tl::store(tensor, at, tile);
  });
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

}  // namespace kernbench::tile::library
