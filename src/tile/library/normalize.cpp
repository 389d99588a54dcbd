#include "tile/library/normalize.h"

#include <algorithm>
#include <utility>

#include "tile/library/elementwise.h"
#include "tile/library/pipeline.h"

namespace kernbench::tile::library {

namespace {

/// Whole lines along `along`, as many as fit.
tl::Extents lines(const Box& box, const std::vector<bool>& along) {
  std::int64_t line = 1;
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) line *= box.shape[d];
  const std::int64_t budget = std::min(tcm_budget() / (4 * kLineTiles), std::max(kLargestBlock, line));
  std::int64_t left = std::max<std::int64_t>(budget / line, 1);
  tl::Extents block = box.shape;
  for (std::size_t d = along.size(); d-- > 0;) {
    if (along[d]) continue;
    block[d] = std::min(box.shape[d], left);
    left = std::max<std::int64_t>(left / block[d], 1);
  }
  return block;
}

/// The blocks of whole lines of the program's share.
std::vector<Box> blocks_of_lines(const View& out, const std::vector<bool>& along, Share share) {
  std::vector<Box> blocks;
  for (const Box& box : lines_of(out, along, share)) append_blocks(blocks, box, lines(box, along));
  return growing(std::move(blocks), along);
}

/// Sum over the dimensions of a line, which stay with extent 1.
tl::Tile line_sum(tl::Tile tile, const std::vector<bool>& along) {
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d] && tile.shape()[d] != 1) tile = tl::sum(tile, static_cast<int>(d), true);
  return tile;
}

}  // namespace

bool line_fits(std::int64_t elements, std::int64_t budget) {
  return elements * 4 * kLineTiles <= budget;
}

void softmax(const View& x, std::size_t dimension, bool logarithm, const View& out, Share share) {
  std::vector<bool> along(x.rank(), false);
  along[dimension] = true;
  const auto axis = static_cast<int>(dimension);
  pipeline(blocks_of_lines(out, along, share), {x}, [&](const Box& block, const std::vector<tl::Tile>& tiles) {
    const auto softmax_of = [&] {
      auto tile = tl::cast(fill_out(tiles.front(), block.shape), DType::f32);
      tile = tile - tl::max(tile, axis, true);
      if (logarithm) {
        tile = tile - tl::log(tl::sum(tl::exp(tile), axis, true));
      } else {
        tile = tl::exp(tile);
        tile = tile * (1.0F / tl::sum(tile, axis, true));  // one division for each line
      }
      return tl::cast(tile, out.dtype());
    };
    store(out, block.offset, tl::fuse(softmax_of));
  });
}

void normalize(const View& x, const std::optional<View>& weight, const std::optional<View>& bias,
               const NormOptions& options, const View& out, Share share) {
  std::vector<bool> along(x.rank(), false);
  float count = 1;
  for (std::size_t d = x.rank() - options.dimensions; d < x.rank(); ++d) {
    along[d] = true;
    count *= static_cast<float>(x.sizes[d]);
  }
  const auto wide = [](const tl::Tile& tile) { return tl::cast(tile, DType::f32); };
  std::vector<View> operands{x};
  if (weight) operands.push_back(*weight);
  if (bias) operands.push_back(*bias);
  pipeline(blocks_of_lines(out, along, share), operands, [&](const Box& block, const std::vector<tl::Tile>& tiles) {
    const auto normalized = [&] {
      auto tile = fill_out(wide(tiles[0]), block.shape);
      if (options.centred) tile = tile - line_sum(tile, along) / count;
      const auto square = line_sum(tile * tile, along) / count;
      tile = tile * tl::rsqrt(square + static_cast<float>(options.epsilon));
      if (weight) tile = tile * wide(tiles[1]);
      if (bias) tile = tile + wide(tiles.back());
      return tl::cast(tile, out.dtype());
    };
    store(out, block.offset, tl::fuse(normalized));
  });
}

}  // namespace kernbench::tile::library
