#include "tile/library/choose.h"

#include <algorithm>
#include <map>

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

/// What the blocks of a box take from x, counted from its start.
class Places {
 public:
  Places(const View& x, std::size_t dimension, const View& index, bool from_end, const Box& box)
      : x_(x), dimension_(dimension), index_(index), from_end_(from_end) {
    bool is_one_line = true;
    for (std::size_t d = 0; d < index.rank(); ++d)
      if (d != dimension && index.strides[d] != 0 && index.sizes[d] != 1) is_one_line = false;
    keeps_ = is_one_line && box.shape[dimension] * kBytesOfAPlace <= tcm_budget() / 4;
  }
  /// Of the block at `at`. Where all blocks take the same line of indices, each part of it is loaded once.
  tl::Tile of(const tl::Extents& at, const tl::Extents& shape) {
    if (!keeps_) return load_places(at, shape);
    const auto [place, is_new] = kept_.try_emplace(at[dimension_]);
    if (is_new) place->second = load_places(at, shape);
    return place->second;
  }

 private:
  static constexpr std::int64_t kBytesOfAPlace = 4;

  tl::Tile load_places(const tl::Extents& at, const tl::Extents& shape) const {
    const std::int64_t extent = x_.sizes[dimension_];
    const auto given = load(index_, at, shape);
    assume(given, [&](std::int64_t lane) { return assumed_row(number_of(lane, given, index_, at), extent); });
    auto chosen = tl::cast(given, DType::i32);
    if (from_end_) chosen = tl::where(chosen < 0, chosen + extent, chosen);
    check_indices(given, chosen, extent);
    return chosen * x_.strides[dimension_];
  }

  const View& x_;
  std::size_t dimension_;
  const View& index_;
  bool from_end_, keeps_ = false;
  std::map<std::int64_t, tl::Tile> kept_;  // by where they begin along the dimension
};

}  // namespace

void gather(const View& x, std::size_t dimension, const View& index, const View& out, bool from_end) {
  for (const Box& box : local_boxes(out)) {
    const auto block =
        block_shape(box.shape, std::clamp<std::int64_t>(tcm_budget() * 3 / 4 / (6 * 4), 1, kLargestGather));
    Places places(x, dimension, index, from_end, box);
    for_each_block(box, block, [&](const tl::Extents& at, const tl::Extents& shape) {
      auto elements = places.of(at, shape);
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
