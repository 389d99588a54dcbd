#include "tile/library/choose.h"

#include <algorithm>

#include "tile/library/elementwise.h"
#include "tile/library/embedding.h"
#include "tile/library/index_check.h"
#include "tile/program/known.h"

namespace kernbench::tile::library {

namespace {

constexpr std::int64_t kLargestGather = 4 * 1024;

/// 0, 1, … along one dimension of a tile of `rank` dimensions, the others of extent 1.
tl::Tile positions(std::size_t rank, std::size_t dimension, std::int64_t begin, std::int64_t length) {
  std::vector<std::int64_t> shape(rank, 1);
  shape[dimension] = length;
  return tl::reshape(tl::arange(begin, begin + length), tl::Extents(std::span<const std::int64_t>(shape)));
}

/// Which one of all indices a lane of a tile of them is, that begins at `at`; what repeats counts once.
std::int64_t number_of(std::int64_t lane, const tl::Tile& tile, const View& index, const tl::Extents& at) {
  std::int64_t number = 0, behind = tile.numel();
  for (std::size_t d = 0; d < index.rank(); ++d) {
    const std::int64_t length = tile.shape()[d];
    behind /= length;
    if (index.strides[d] != 0) number = number * index.sizes[d] + at[d] + lane / behind % length;
  }
  return number;
}

}  // namespace

void gather(const View& x, std::size_t dimension, const View& index, const View& out, bool from_end) {
  for (const Box& box : local_boxes(out)) {
    const auto block = block_shape(box.shape, std::clamp<std::int64_t>(tcm_budget() / (6 * 4), 1, kLargestGather));
    for_each_block(box, block, [&](const tl::Extents& at, const tl::Extents& shape) {
      const auto given = load(index, at, shape);
      assume(given,
             [&](std::int64_t lane) { return assumed_row(number_of(lane, given, index, at), x.sizes[dimension]); });
      auto chosen = tl::cast(given, DType::i32);
      if (from_end) chosen = tl::where(chosen < 0, chosen + x.sizes[dimension], chosen);
      check_indices(given, chosen, x.sizes[dimension]);
      auto elements = chosen * x.strides[dimension];
      for (std::size_t d = 0; d < out.rank(); ++d) {
        if (d == dimension || x.strides[d] == 0 || x.sizes[d] == 1) continue;
        elements = elements + positions(out.rank(), d, at[d], shape[d]) * x.strides[d];
      }
      store(out, at, tl::load(x.tensor.data_ptr() + x.offset + fill_out(elements, shape)));
    });
  }
}

void triangle(const View& x, std::int64_t diagonal, bool upper, const View& out) {
  const std::size_t rank = x.rank();
  elementwise(out, {x}, [=](const std::vector<tl::Tile>& tiles, const Box& block) {
    const auto& tile = tiles.front();
    const auto rows = positions(rank, rank - 2, block.offset[rank - 2], block.shape[rank - 2]);
    const auto columns = positions(rank, rank - 1, block.offset[rank - 1], block.shape[rank - 1]);
    const auto offset = columns - rows;
    return tl::where(upper ? offset >= diagonal : offset <= diagonal, tile, 0);
  });
}

}  // namespace kernbench::tile::library
