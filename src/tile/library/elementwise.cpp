#include "tile/library/elementwise.h"

#include <algorithm>
#include <utility>

#include "tile/library/pipeline.h"

namespace kernbench::tile::library {

namespace {

Box whole(const View& view) {
  Box box{view.sizes, view.sizes};
  for (std::size_t d = 0; d < view.rank(); ++d) box.offset[d] = 0;
  return box;
}

}  // namespace

std::vector<Box> share_of(const View& out, Share share) {
  if (share == Share::held) return local_boxes(out);
  Box box = whole(out);
  if (out.rank() == 0) return tl::program_id() == 0 ? std::vector{box} : std::vector<Box>{};
  std::size_t largest = 0;
  for (std::size_t d = 1; d < out.rank(); ++d)
    if (out.sizes[d] > out.sizes[largest]) largest = d;
  const std::int64_t piece = tl::cdiv(out.sizes[largest], tl::num_programs());
  box.offset[largest] = tl::program_id() * piece;
  box.shape[largest] = std::min(piece, out.sizes[largest] - box.offset[largest]);
  if (box.shape[largest] <= 0 || box.shape.numel() == 0) return {};
  return {box};
}

std::vector<Box> lines_of(const View& out, const std::vector<bool>& along, Share share) {
  if (share == Share::held) return local_boxes(out);
  tl::Extents lines = out.sizes;
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) lines[d] = 1;
  const std::int64_t count = lines.numel(), program = tl::program_id(), programs = tl::num_programs();
  const std::int64_t end = count * (program + 1) / programs;
  std::vector<Box> boxes;
  for (std::int64_t at = count * program / programs; at < end;) {
    Box box = whole(out);
    // The largest box that begins here and is a part of the lines in their order.
    std::int64_t below = 1, left = at;
    bool grows = true;
    for (std::size_t d = lines.size(); d-- > 0;) {
      const std::int64_t index = left % lines[d];
      left /= lines[d];
      if (along[d]) continue;
      box.offset[d] = index;
      box.shape[d] = grows ? std::min(lines[d] - index, std::max<std::int64_t>((end - at) / below, 1)) : 1;
      grows = grows && box.shape[d] == lines[d];
      below *= box.shape[d];
    }
    boxes.push_back(box);
    at += below;
  }
  return boxes;
}

tl::Tile fill_out(const tl::Tile& tile, const tl::Extents& shape) {
  return tile.shape() == shape ? tile : tl::broadcast_to(tile, shape);
}

void elementwise(const View& out, const std::vector<View>& operands, const TileFunction& function, int live_tiles,
                 Share share) {
  std::vector<std::size_t> fast;
  const auto add_fast = [&](const View& view) {
    const auto dimension = fast_dimension(view);
    if (dimension && std::ranges::find(fast, *dimension) == fast.end()) fast.push_back(*dimension);
  };
  add_fast(out);
  for (const View& operand : operands) add_fast(operand);
  if (fast.size() < 2) fast.clear();  // all agree: whole rows
  const std::int64_t limit = std::clamp<std::int64_t>(tcm_budget() / (4 * live_tiles), 1, kLargestBlock);
  std::vector<Box> blocks;
  for (const Box& box : share_of(out, share)) append_blocks(blocks, box, block_shape(box.shape, limit, fast));
  std::vector<bool> long_rows(out.rank(), false);
  for (const std::size_t d : fast) long_rows[d] = true;
  pipeline(growing(std::move(blocks), long_rows), operands, [&](const Box& block, std::vector<tl::Tile> tiles) {
    const tl::Tile result =
        tl::fuse([&] { return fill_out(tl::cast(function(tiles, block), out.dtype()), block.shape); });
    tiles.clear();
    store(out, block.offset, result);
  });
}

}  // namespace kernbench::tile::library
