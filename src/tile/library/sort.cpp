#include "tile/library/sort.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tile/library/ordered.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

namespace {

constexpr std::int64_t kKeyBytes = 8;
constexpr std::int64_t kLiveKeys = 12;  // tiles of a block
constexpr std::int64_t kSmallestBlock = 256;
/// Measured on ahbm-1sip: what a layer adds beside the engine, and what it takes to read a block of elements that lie
/// on many PEs and to make its keys. With these the plan is the fastest of all blocks for one line of 4096, 16384 and
/// 128256 elements, 4 of 32000, 64 of 8192, 256 of 1024.
constexpr double kLayerNs = 1500, kBlockNs = 2000, kElementNs = 0.6;

/// Behind all elements.
constexpr std::int64_t kLastKey = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLowHalf = 0xffffffff;

DType sorted_type(DType dtype) {
  return is_floating_point(dtype) ? DType::f32 : DType::i32;
}

/// Keys of x, f32 or i32, whose elements are from `first` on along `axis`: 32 bits in the order of the elements, 31 of
/// the place, and one that tells -0 from +0.
tl::Tile keys_of(const tl::Tile& x, std::size_t axis, std::int64_t first, SortOrder by) {
  return tl::fuse([&] {
    tl::Extents line = x.shape();
    for (std::size_t d = 0; d < line.size(); ++d)
      if (d != axis) line[d] = 1;
    tl::Tile place = (tl::cast(tl::reshape(tl::arange(0, line[axis]), line), DType::i64) + first) * 2;
    tl::Tile order = x;
    if (is_floating_point(x.dtype())) {
      order = ordered_bits(x);
      if (!by.signed_zeros) {
        const auto zero = x == 0.0F;
        place = place + tl::cast(zero & (order < 0), DType::i64);
        order = tl::where(zero, 0, order);
      }
    }
    if (by.descending) order = -1 - order;
    return (tl::cast(order, DType::i64) << 32) | place;
  });
}

tl::Tile places_of(const tl::Tile& keys) {
  return tl::fuse([&] { return (keys & kLowHalf) >> 1; });
}

/// The elements of keys, f32 or i32.
tl::Tile elements_of(const tl::Tile& keys, bool floating, SortOrder by) {
  return tl::fuse([&] {
    tl::Tile order = tl::cast(keys >> 32, DType::i32);
    if (by.descending) order = -1 - order;
    if (!floating) return order;
    const auto bits = bits_of_ordered(order);
    if (by.signed_zeros) return tl::bitcast(bits, DType::f32);
    const auto minus_zero = (keys & 1) != 0;
    return tl::bitcast(tl::where(minus_zero, std::numeric_limits<std::int32_t>::min(), bits), DType::f32);
  });
}

tl::Tile loaded_keys(const View& x, const tl::Extents& at, const tl::Extents& shape, std::size_t axis,
                     SortOrder order) {
  const auto elements = tl::cast(fill_out(load(x, at, shape), shape), sorted_type(x.dtype()));
  return keys_of(elements, axis, at[axis], order);
}

/// The lanes from `first` on.
tl::Tile part_of(const tl::Tile& keys, std::size_t axis, std::int64_t first, std::int64_t count) {
  tl::Extents line = keys.shape(), shape = keys.shape();
  if (count == shape[axis]) return keys;
  for (std::size_t d = 0; d < line.size(); ++d) line[d] = d == axis ? count : 1;
  shape[axis] = count;
  const auto lanes = tl::reshape(tl::arange(first, first + count), line);
  return tl::gather(keys, tl::broadcast_to(lanes, shape), static_cast<int>(axis));
}

class SortedLines {
 public:
  SortedLines(const View& x, const SortOptions& options)
      : x_(x), axis_(options.dimension), extent_(x.sizes[options.dimension]), order_(options.order) {}

  /// Makes the elements of a box of the results; either may be missing.
  void make(const Box& box, const View* values, const View* indices) const {
    Box lines = box;
    lines.offset[axis_] = 0;
    lines.shape[axis_] = 1;
    const std::int64_t together = tcm_budget() / (kKeyBytes * kLiveKeys * extent_);
    const tl::Extents block = block_shape(lines.shape, std::max<std::int64_t>(together, 1));
    for_each_block(lines, block, [&](const tl::Extents& at, tl::Extents shape) {
      shape[axis_] = extent_;
      const auto sorted = tl::sort(loaded_keys(x_, at, shape, axis_, order_), static_cast<int>(axis_));
      const auto keys = part_of(sorted, axis_, box.offset[axis_], box.shape[axis_]);
      tl::Extents target = at;
      target[axis_] = box.offset[axis_];
      if (values != nullptr) store(*values, target, elements_of(keys, is_floating_point(x_.dtype()), order_));
      if (indices != nullptr) store(*indices, target, places_of(keys));
    });
  }

 private:
  const View& x_;
  std::size_t axis_;
  std::int64_t extent_;
  SortOrder order_;
};

/// Calls body(line, item) for the calling program's share of so many items of each line.
template <class Body>
void for_my_share(std::int64_t lines, std::int64_t items, const Body& body) {
  const std::int64_t all = lines * items, program = tl::program_id(), programs = tl::num_programs();
  for (std::int64_t i = all * program / programs; i < all * (program + 1) / programs; ++i) body(i / items, i % items);
}

/// Stages of the engine's network for `block` lanes, in lanes of 64 bits.
double lanes_of_network(std::int64_t block) {
  const auto levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(block - 1)));
  return static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(block))) * levels * (levels + 1) / 2;
}

/// Nanoseconds of a block on a PE.
class EngineTimes {
 public:
  explicit EngineTimes(const topology::PeSpec& pe)
      : lane_ns_(2.0 * cycles(pe.vector, VectorOperation::sort) / pe.vector.lanes /
                 static_cast<double>(pe.clock.count()) * 1e9) {}
  /// Keys that are there.
  double sorted(std::int64_t keys) const { return lanes_of_network(keys) * lane_ns_; }
  /// Elements that are loaded, made keys of, and sorted.
  double block(std::int64_t elements) const {
    return kBlockNs + kElementNs * static_cast<double>(elements) + sorted(elements);
  }

 private:
  double lane_ns_;
};

/// Keys of a block at most.
std::int64_t largest_sorted(const topology::PeSpec& pe) {
  const std::int64_t tcm = pe.tcm.capacity.count() / std::max(pe.contexts, 1);
  const auto fitting =
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(tcm / (kKeyBytes * kLiveKeys), 1)));
  return std::min<std::int64_t>(static_cast<std::int64_t>(fitting), kLargestBlock);
}

}  // namespace

FirstPlan plan_first(const topology::PeSpec& pe, std::int64_t lines, std::int64_t extent, std::int64_t k,
                     std::int64_t programs) {
  const EngineTimes times(pe);
  const auto rounds = [&](std::int64_t items) { return static_cast<double>(tl::cdiv(items, programs)); };
  FirstPlan best;
  best.sort.ns = std::numeric_limits<double>::infinity();
  const std::int64_t largest = largest_sorted(pe);
  for (std::int64_t block = kSmallestBlock; block <= largest && block < extent; block *= 2) {
    if (block < k) continue;
    for (std::int64_t group = 2; group * k <= largest; group *= 2) {
      std::int64_t blocks = tl::cdiv(extent, block);
      FirstPlan plan{.sort = {.block = block, .blocks = blocks}, .group = group};
      plan.sort.ns = rounds(lines * blocks) * times.block(block) + kLayerNs;
      for (; blocks > 1; blocks = tl::cdiv(blocks, group)) {
        const std::int64_t keys = std::min(group, blocks) * k;
        const double merged = times.sorted(keys) + kElementNs * static_cast<double>(keys);
        plan.sort.ns += rounds(lines * tl::cdiv(blocks, group)) * merged + kLayerNs;
      }
      if (plan.sort.ns < best.sort.ns) best = plan;
    }
  }
  return best;
}

SortPlan plan_sort(const topology::PeSpec& pe, std::int64_t lines, std::int64_t extent, std::int64_t programs) {
  const std::int64_t largest = largest_sorted(pe);
  const EngineTimes times(pe);
  const auto rounds = [&](std::int64_t items) { return static_cast<double>(tl::cdiv(items, programs)); };
  SortPlan best;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t block = std::min(kSmallestBlock, largest); block <= largest; block *= 2) {
    const SortPlan plan{.block = std::min(block, extent), .blocks = tl::cdiv(extent, block)};
    double ns = rounds(lines * plan.blocks) * times.block(plan.block);
    if (plan.blocks > 1) {
      const auto levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(plan.blocks - 1)));
      const double layers = levels * (levels + 1) / 2;
      ns += layers * (rounds(lines * (plan.blocks / 2)) * 2 * times.sorted(plan.block) + kLayerNs) + kLayerNs;
    }
    if (ns < least) {
      least = ns;
      best = plan;
      best.ns = ns;
    }
    if (plan.blocks == 1) break;
  }
  return best;
}

std::vector<MergeLayer> merge_layers(std::int64_t blocks) {
  std::vector<MergeLayer> layers;
  for (std::int64_t sorted = 1; sorted < blocks; sorted *= 2) {
    for (std::int64_t apart = sorted; apart >= 1; apart /= 2) {
      MergeLayer& layer = layers.emplace_back();
      for (std::int64_t first = apart % sorted; first + apart < blocks; first += 2 * apart) {
        for (std::int64_t i = first; i < std::min(first + apart, blocks - apart); ++i)
          if (i / (2 * sorted) == (i + apart) / (2 * sorted)) layer.emplace_back(i, i + apart);
      }
    }
  }
  return layers;
}

void sort(const View& x, const View& values, const View& indices, const SortOptions& options) {
  const SortedLines lines(x, options);
  make_values_and_indices(values, indices, options.dimension, options.share,
                          [&](const Box& box, const View* best, const View* places) { lines.make(box, best, places); });
}

void sort_blocks(const View& x, SortOrder order, const SortPlan& plan, const View& keys) {
  for_my_share(x.sizes[0], plan.blocks, [&](std::int64_t line, std::int64_t block) {
    const std::int64_t first = block * plan.block, count = std::min(plan.block, x.sizes[1] - first);
    store(keys, {line, first}, tl::sort(loaded_keys(x, {line, first}, {1, count}, 1, order), 1));
    if (count < plan.block) store(keys, {line, first + count}, tl::full({1, plan.block - count}, kLastKey, DType::i64));
  });
}

void merge_blocks(const View& keys, const SortPlan& plan, const MergeLayer& layer) {
  for_my_share(keys.sizes[0], static_cast<std::int64_t>(layer.size()), [&](std::int64_t line, std::int64_t pair) {
    const auto [lower, upper] = layer[static_cast<std::size_t>(pair)];
    const tl::Extents shape{1, plan.block};
    const auto a = load(keys, {line, lower * plan.block}, shape);
    const auto b = tl::flip(load(keys, {line, upper * plan.block}, shape), 1);
    store(keys, {line, lower * plan.block}, tl::sort(tl::minimum(a, b), 1));
    store(keys, {line, upper * plan.block}, tl::sort(tl::maximum(a, b), 1));
  });
}

void merge_first(const View& keys, const FirstPlan& plan, std::int64_t apart, std::int64_t k) {
  const std::int64_t left = tl::cdiv(plan.sort.blocks, apart), step = apart * plan.sort.block;
  const View firsts{
      keys.tensor, {keys.sizes[0], left, k}, {keys.strides[0], step * keys.strides[1], keys.strides[1]}, keys.offset};
  for_my_share(keys.sizes[0], tl::cdiv(left, plan.group), [&](std::int64_t line, std::int64_t i) {
    const std::int64_t first = i * plan.group, count = std::min(plan.group, left - first);
    if (count == 1) return;
    const auto found = tl::reshape(load(firsts, {line, first, 0}, {1, count, k}), {1, count * k});
    store(keys, {line, first * step}, part_of(tl::sort(found, 1), 1, 0, k));
  });
}

void read_keys(const View& keys, SortOrder order, const SortPlan& plan, const View& values, const View& indices) {
  for_my_share(values.sizes[0], tl::cdiv(values.sizes[1], plan.block), [&](std::int64_t line, std::int64_t block) {
    const std::int64_t first = block * plan.block, count = std::min(plan.block, values.sizes[1] - first);
    const auto found = load(keys, {line, first}, {1, count});
    store(values, {line, first}, elements_of(found, is_floating_point(values.dtype()), order));
    store(indices, {line, first}, places_of(found));
  });
}

}  // namespace kernbench::tile::library
