#include "tile/library/top_k.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tile/library/ordered.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

namespace {

constexpr std::int64_t kLiveTiles = 12;
/// Measured on ahbm-1sip: cycles of a group of lanes and nanoseconds of a block in a round, what it takes to load a
/// block again, and what the first one takes besides.
constexpr double kRoundCycles = 17, kRoundNs = 135, kLoadedBlockNs = 100, kLoadedElementNs = 0.1, kFirstBlockNs = 1000;
/// No element: behind all indices.
constexpr std::int64_t kNowhere = std::numeric_limits<std::int32_t>::max();

/// The type in which the elements of `dtype` are loaded.
DType loaded_type(DType dtype) {
  if (is_floating_point(dtype)) return DType::f32;
  return item_size(dtype) < 4 ? DType::i32 : dtype;
}

/// Integers in the order of the elements.
tl::Tile keys_of(const tl::Tile& x, bool largest) {
  const tl::Tile key = is_floating_point(x.dtype()) ? ordered_bits(x) : x;
  return largest ? key : -1 - key;
}

/// The element of a key.
tl::Tile element_of(const tl::Tile& found, bool floating, bool largest) {
  tl::Tile key = largest ? found : -1 - found;
  if (!floating) return key;
  return tl::bitcast(bits_of_ordered(key), DType::f32);
}

/// The best elements of lines.
struct Found {
  tl::Tile key, index;
};

class TopK {
 public:
  TopK(const View& x, const TopKOptions& options)
      : x_(x), options_(options), axis_(options.dimension), extent_(x.sizes[options.dimension]) {}

  /// Makes the elements of a box of the results; either may be missing.
  void make(const Box& box, const View* values, const View* indices) const {
    Box source = box;
    source.offset[axis_] = 0;
    source.shape[axis_] = extent_;
    const auto width = static_cast<std::int64_t>(item_size(loaded_type(x_.dtype())));
    const std::int64_t limit = std::clamp<std::int64_t>(tcm_budget() / (width * kLiveTiles), 1, kLargestBlock);
    tl::Extents line = source.shape;
    for (std::size_t d = 0; d < line.size(); ++d)
      if (d != axis_) line[d] = 1;
    // Whole lines first: a line that is cut is read again in each round.
    const tl::Extents one = block_shape(line, limit);
    tl::Extents rest = source.shape;
    rest[axis_] = 1;
    tl::Extents block = block_shape(rest, std::max<std::int64_t>(limit / one[axis_], 1));
    for_each_block({source.offset, rest}, block, [&](const tl::Extents& at, const tl::Extents& shape) {
      lines(at, shape, one[axis_], box, values, indices);
    });
  }

 private:
  void lines(const tl::Extents& at, const tl::Extents& shape, std::int64_t step, const Box& box, const View* values,
             const View* indices) const {
    Found last;
    tl::Tile whole;
    if (step == extent_) whole = keys(at, shape, 0, extent_);
    for (std::int64_t j = 0; j < box.offset[axis_] + box.shape[axis_]; ++j) {
      Found best;
      for (std::int64_t first = 0; first < extent_; first += step) {
        const std::int64_t count = std::min(step, extent_ - first);
        const Found found = best_of(whole.defined() ? whole : keys(at, shape, first, count), first, last);
        best = best.key.defined() ? better_of(best, found) : found;
      }
      last = std::move(best);
      if (j < box.offset[axis_]) continue;
      tl::Extents target = at;
      target[axis_] = j;
      if (values != nullptr) store(*values, target, element_of(last.key, floating(), options_.largest));
      if (indices != nullptr) store(*indices, target, last.index);
    }
  }

  bool floating() const { return is_floating_point(x_.dtype()); }

  tl::Tile keys(tl::Extents at, tl::Extents shape, std::int64_t first, std::int64_t count) const {
    at[axis_] = first;
    shape[axis_] = count;
    return keys_of(tl::cast(fill_out(load(x_, at, shape), shape), loaded_type(x_.dtype())), options_.largest);
  }

  /// The best of a block that begins at `first`, of those that come after `last`.
  Found best_of(const tl::Tile& keys, std::int64_t first, const Found& last) const {
    const auto axis = static_cast<int>(axis_);
    tl::Extents line = keys.shape();
    for (std::size_t d = 0; d < line.size(); ++d)
      if (d != axis_) line[d] = 1;
    const auto positions = tl::reshape(tl::arange(0, line[axis_]), line) + first;
    const std::int64_t none = item_size(keys.dtype()) == 8 ? std::numeric_limits<std::int64_t>::min()
                                                           : std::numeric_limits<std::int32_t>::min();
    if (!last.key.defined()) {
      const auto key = tl::max(keys, axis, true);
      return {key, tl::min(tl::where(keys == key, positions, kNowhere), axis, true)};
    }
    const auto left = (keys < last.key) | ((keys == last.key) & (positions > last.index));
    const auto key = tl::max(tl::where(left, keys, none), axis, true);
    return {key, tl::min(tl::where(left & (keys == key), positions, kNowhere), axis, true)};
  }

  /// `b` begins behind `a`; where a block has none that is left, its index is nowhere.
  static Found better_of(const Found& a, const Found& b) {
    const auto second = (b.key > a.key) | (a.index == kNowhere);
    return {tl::where(second, b.key, a.key), tl::where(second, b.index, a.index)};
  }

  const View& x_;
  const TopKOptions& options_;
  std::size_t axis_;
  std::int64_t extent_;
};

}  // namespace

void top_k(const View& x, const View& values, const View& indices, const TopKOptions& options) {
  const TopK kernel(x, options);
  make_values_and_indices(
      values, indices, options.dimension, options.share,
      [&](const Box& box, const View* best, const View* places) { kernel.make(box, best, places); });
}

double top_k_ns(const topology::PeSpec& pe, std::int64_t lines, std::int64_t extent, std::int64_t k,
                std::int64_t programs) {
  constexpr std::int64_t kWidth = 4;
  const std::int64_t tcm = pe.tcm.capacity.count() / std::max(pe.contexts, 1);
  const std::int64_t block = std::clamp<std::int64_t>(tcm / (kWidth * kLiveTiles), 1, kLargestBlock);
  const double lane_ns = kRoundCycles / pe.vector.lanes / static_cast<double>(pe.clock.count()) * 1e9;
  const std::int64_t mine = tl::cdiv(lines, programs);
  const bool whole = extent <= block;
  const auto blocks = static_cast<double>(whole ? tl::cdiv(mine * extent, block) : mine * tl::cdiv(extent, block));
  const auto elements = static_cast<double>(mine * extent);
  const double reading = blocks * kLoadedBlockNs + elements * kLoadedElementNs,
               round = blocks * kRoundNs + elements * lane_ns;
  const auto rounds = static_cast<double>(k);
  return kFirstBlockNs + (whole ? reading + rounds * round : rounds * (reading + round));
}

}  // namespace kernbench::tile::library
