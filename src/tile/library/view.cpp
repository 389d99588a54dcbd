#include "tile/library/view.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "addressing/locate.h"
#include "tile/memory/tl_access.h"
#include "tile/program/program.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

namespace {

std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<std::int64_t>(shape[d], 1);
  return strides;
}

/// How each dimension of a view runs along one dimension of its tensor. Several may share one, as the heads of a
/// product and the elements of a head do, where each step of one passes over all of the next.
struct Alignment {
  static constexpr std::size_t kNone = 99;
  std::array<std::size_t, tl::Extents::kMaximumRank> dimension{};  // kNone: one element, or repeats
  std::array<std::int64_t, tl::Extents::kMaximumRank> step{};
  std::vector<std::int64_t> start;  // index of the view's first element in the tensor
};

/// The dimensions of a view that run along dimension `d` of its tensor, by falling step.
std::vector<std::size_t> along_dimension(const View& view, const Alignment& alignment, std::size_t d) {
  std::vector<std::size_t> dimensions;
  for (std::size_t v = 0; v < view.rank(); ++v)
    if (alignment.dimension[v] == d) dimensions.push_back(v);
  std::ranges::sort(dimensions, std::ranges::greater{}, [&](std::size_t v) { return alignment.step[v]; });
  return dimensions;
}

/// How far dimensions of a view reach along that of its tensor, from the first to behind the last element; nothing when
/// they cross.
std::optional<std::int64_t> reach_of(const View& view, const Alignment& alignment,
                                     std::span<const std::size_t> dimensions) {
  std::int64_t reach = 1;
  for (std::size_t i = dimensions.size(); i-- > 0;) {
    const std::size_t v = dimensions[i];
    if (alignment.step[v] < reach) return std::nullopt;
    reach += (view.sizes[v] - 1) * alignment.step[v];
  }
  return reach;
}

/// Nothing when a dimension of the view runs along several of the tensor.
std::optional<Alignment> align(const View& view) {
  const auto& shape = view.tensor.descriptor().shape;
  const auto strides = dense_strides(shape);
  Alignment alignment;
  alignment.start.resize(shape.size());
  std::int64_t left = view.offset;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    alignment.start[d] = left / strides[d];
    left %= strides[d];
  }
  for (std::size_t v = 0; v < view.rank(); ++v) {
    alignment.dimension[v] = Alignment::kNone;
    if (view.sizes[v] == 1 || view.strides[v] == 0) continue;
    std::size_t d = 0;
    while (d < shape.size() && (shape[d] == 1 || strides[d] > view.strides[v])) ++d;
    if (d == shape.size() || view.strides[v] % strides[d] != 0) return std::nullopt;
    alignment.dimension[v] = d;
    alignment.step[v] = view.strides[v] / strides[d];
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto reach = reach_of(view, alignment, along_dimension(view, alignment, d));
    if (!reach || alignment.start[d] + *reach > shape[d]) return std::nullopt;
  }
  return alignment;
}

/// What of a view lies in [low, high) of a dimension of its tensor, counted from the view's first element.
enum class Cut : std::uint8_t { none, box, torn };
/// Cuts `box` to it along `dimensions`; torn: what lies there is no box.
Cut cut_along(const View& view, const Alignment& alignment, std::span<const std::size_t> dimensions, std::int64_t low,
              std::int64_t high, Box& box) {
  if (dimensions.empty()) return low <= 0 && high > 0 ? Cut::box : Cut::none;
  const std::size_t outer = dimensions.front();
  const std::int64_t step = alignment.step[outer], size = view.sizes[outer];
  const std::int64_t inner = *reach_of(view, alignment, dimensions.subspan(1));
  // Indices of the outer dimension whose elements lie all, and partly, before `end`.
  const auto whole_before = [&](std::int64_t end) {
    return end < inner ? 0 : std::min(size, (end - inner) / step + 1);
  };
  const auto begun_before = [&](std::int64_t end) { return end <= 0 ? 0 : std::min(size, (end - 1) / step + 1); };
  if (whole_before(low) != begun_before(low) || whole_before(high) != begun_before(high)) return Cut::torn;
  const std::int64_t first = begun_before(low), last = begun_before(high);
  if (first >= last) return Cut::none;
  box.offset[outer] = first;
  box.shape[outer] = last - first;
  return Cut::box;
}

/// Nothing when a box of the tensor tears the view along one of its own.
std::optional<std::vector<Box>> aligned_parts(const View& view, const Alignment& alignment,
                                              std::span<const std::int64_t> offset,
                                              std::span<const std::int64_t> shape) {
  Box box{tl::Extents(view.sizes.span()), view.sizes};
  for (std::size_t v = 0; v < view.rank(); ++v) box.offset[v] = 0;
  bool torn = false;
  for (std::size_t d = 0; d < offset.size(); ++d) {
    const std::int64_t low = offset[d] - alignment.start[d];
    const Cut cut = cut_along(view, alignment, along_dimension(view, alignment, d), low, low + shape[d], box);
    if (cut == Cut::none) return std::vector<Box>();
    torn = torn || cut == Cut::torn;
  }
  if (torn) return std::nullopt;
  return std::vector<Box>{box};
}

/// Any view: its boxes in the tensor, cut to the shard, and from there back into boxes of the view.
std::vector<Box> general_parts(const View& view, const Box& shard) {
  std::vector<std::int64_t> distinct(view.sizes.begin(), view.sizes.end());
  for (std::size_t v = 0; v < view.rank(); ++v)
    if (view.strides[v] == 0) distinct[v] = std::min<std::int64_t>(distinct[v], 1);
  std::vector<Box> parts;
  for (const auto& in_tensor :
       addressing::boxes_of_view(view.tensor.descriptor().shape, distinct, view.strides.span(), view.offset)) {
    const auto common =
        intersection({tl::Extents(std::span(in_tensor.offset)), tl::Extents(std::span(in_tensor.shape))}, shard);
    if (!common) continue;
    std::int64_t start = in_tensor.view_offset;
    for (std::size_t d = 0; d < in_tensor.offset.size(); ++d)
      start += (common->offset[d] - in_tensor.offset[d]) * in_tensor.view_strides[d];
    for (const auto& part : addressing::boxes_of_view(distinct, common->shape.span(), in_tensor.view_strides, start)) {
      Box box{tl::Extents(std::span(part.offset)), tl::Extents(std::span(part.shape))};
      for (std::size_t v = 0; v < view.rank(); ++v)
        if (view.strides[v] == 0) box.shape[v] = view.sizes[v];
      parts.push_back(box);
    }
  }
  return parts;
}

/// The order of a view's dimensions in memory: by falling stride. Dimensions of one element, and those that repeat,
/// stay where they are: their stride says nothing.
tl::Extents memory_order(const View& view) {
  std::vector<std::size_t> places;
  for (std::size_t v = 0; v < view.rank(); ++v)
    if (view.sizes[v] != 1 && view.strides[v] != 0) places.push_back(v);
  std::vector<std::size_t> sorted = places;
  std::ranges::stable_sort(sorted, std::ranges::greater{}, [&](std::size_t v) { return view.strides[v]; });
  tl::Extents order = view.sizes;
  for (std::size_t v = 0; v < view.rank(); ++v) order[v] = static_cast<std::int64_t>(v);
  for (std::size_t i = 0; i < places.size(); ++i) order[places[i]] = static_cast<std::int64_t>(sorted[i]);
  return order;
}

bool is_identity(const tl::Extents& order) {
  for (std::size_t d = 0; d < order.size(); ++d)
    if (order[d] != static_cast<std::int64_t>(d)) return false;
  return true;
}

tl::Pointer pointer_to(const View& view, const tl::Extents& offsets) {
  std::int64_t element = view.offset;
  for (std::size_t d = 0; d < view.rank(); ++d) element += offsets[d] * view.strides[d];
  return view.tensor.data_ptr() + element;
}

/// How a view lies in a shard, which is a dense box of its own: the distance between elements of a dimension, and how
/// many of them one shard has at most.
struct InShard {
  tl::Extents strides, counts;
};

/// Dimensions of the view that pass over several of the tensor are taken as if the tensor was not cut.
InShard in_shard(const View& view, std::span<const std::int64_t> extents) {
  InShard lies{view.strides, view.sizes};
  const auto alignment = align(view);
  if (!alignment) return lies;
  const auto strides = dense_strides(extents);
  for (std::size_t v = 0; v < view.rank(); ++v) {
    const std::size_t d = alignment->dimension[v];
    if (d == Alignment::kNone) continue;
    lies.strides[v] = alignment->step[v] * strides[d];
    lies.counts[v] = std::min(view.sizes[v], tl::cdiv(extents[d], alignment->step[v]));
  }
  return lies;
}

/// Of the first shard: no other one is larger.
InShard in_largest_shard(const View& view) {
  const addressing::TensorDescriptor& tensor = view.tensor.descriptor();
  return in_shard(view, tensor.stored().empty() ? tensor.shape : tensor.stored().front().shape);
}

/// Where an element of the tensor lies in a shard, counted from the shard's first; nothing when it lies in another.
std::optional<std::int64_t> place_in(const addressing::Shard& shard, std::span<const std::int64_t> tensor,
                                     std::int64_t element) {
  std::int64_t place = 0, below = 1;
  for (std::size_t d = tensor.size(); d-- > 0; element /= tensor[d]) {
    const std::int64_t index = element % tensor[d] - shard.offset[d];
    if (index < 0 || index >= shard.shape[d]) return std::nullopt;
    place += index * below;
    below *= shard.shape[d];
  }
  return place;
}

const addressing::Shard* shard_of(const addressing::TensorDescriptor& tensor, std::int64_t element) {
  const auto& shards = tensor.stored();
  const auto found = std::ranges::find_if(
      shards, [&](const addressing::Shard& shard) { return place_in(shard, tensor.shape, element).has_value(); });
  return found == shards.end() ? nullptr : &*found;
}

}  // namespace

View view_of(const tl::Tensor& tensor) {
  const auto strides = dense_strides(tensor.descriptor().shape);
  return {tensor, tensor.shape(), tl::Extents(std::span<const std::int64_t>(strides)), 0};
}

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

static std::vector<Box> parts_in(const View& view, const std::optional<Alignment>& alignment,
                                 std::span<const std::int64_t> shard_offset,
                                 std::span<const std::int64_t> shard_shape) {
  if (view.numel() == 0) return {};
  if (alignment) {
    if (auto parts = aligned_parts(view, *alignment, shard_offset, shard_shape)) return *std::move(parts);
  }
  return general_parts(view, {tl::Extents(shard_offset), tl::Extents(shard_shape)});
}

std::vector<Box> parts_in(const View& view, std::span<const std::int64_t> shard_offset,
                          std::span<const std::int64_t> shard_shape) {
  return parts_in(view, view.numel() == 0 ? std::nullopt : align(view), shard_offset, shard_shape);
}

std::vector<std::vector<Box>> parts_by_shard(const View& view) {
  const auto alignment = view.numel() == 0 ? std::nullopt : align(view);
  std::vector<std::vector<Box>> parts;
  for (const addressing::Shard& shard : view.tensor.descriptor().shards)
    parts.push_back(parts_in(view, alignment, shard.offset, shard.shape));
  return parts;
}

std::vector<Box> local_boxes(const View& view) {
  std::vector<Box> boxes;
  for (std::size_t shard = 0; shard < view.tensor.local_shard_count(); ++shard) {
    const Box local = view.tensor.local_shard(shard);
    const auto parts = parts_in(view, local.offset.span(), local.shape.span());
    boxes.insert(boxes.end(), parts.begin(), parts.end());
  }
  return boxes;
}

tl::Extents block_shape(const tl::Extents& shape, std::int64_t limit, std::span<const std::size_t> fast) {
  constexpr std::int64_t kRow = 128;
  tl::Extents block = shape;
  for (std::size_t d = 0; d < block.size(); ++d) block[d] = 1;
  std::int64_t elements = 1;
  const auto grow = [&](std::size_t d, std::int64_t most) {
    elements /= block[d];
    block[d] = std::max(block[d], std::min({shape[d], most, std::max<std::int64_t>(limit / elements, 1)}));
    elements *= block[d];
  };
  for (const std::size_t d : fast) grow(d, kRow);
  for (std::size_t d = shape.size(); d-- > 0;) grow(d, shape[d]);
  return block;
}

std::optional<std::size_t> fast_dimension(const View& view) {
  std::optional<std::size_t> fast;
  for (std::size_t d = 0; d < view.rank(); ++d) {
    if (view.sizes[d] == 1 || view.strides[d] == 0) continue;
    if (!fast || view.strides[d] <= view.strides[*fast]) fast = d;
  }
  return fast;
}

namespace {

/// How a block of a view lies in memory, and what turns it back.
struct MemoryBlock {
  tl::Extents sizes, strides, back;
};

MemoryBlock memory_block(const View& view, const tl::Extents& shape) {
  const tl::Extents order = memory_order(view);
  MemoryBlock block{shape, shape, {}};
  for (std::size_t d = 0; d < order.size(); ++d) {
    const auto v = static_cast<std::size_t>(order[d]);
    block.sizes[d] = view.strides[v] == 0 ? 1 : shape[v];
    block.strides[d] = view.strides[v];
  }
  if (is_identity(order)) return block;
  block.back = order;
  for (std::size_t d = 0; d < order.size(); ++d)
    block.back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
  return block;
}

}  // namespace

tl::Tile load(const View& view, const tl::Extents& offsets, const tl::Extents& shape, tl::Where where) {
  const MemoryBlock block = memory_block(view, shape);
  const tl::Tile tile = tl::load(pointer_to(view, offsets), block.sizes, block.strides, {}, where);
  return block.back.empty() ? tile : tl::permute(tile, block.back, where);
}

static tl::BlockPointer pointer_to_block(const View& view, const tl::Extents& offsets, const MemoryBlock& block,
                                         tl::Where where) {
  tl::Extents none = block.sizes;
  for (std::size_t d = 0; d < none.size(); ++d) none[d] = 0;
  return tl::make_block_ptr(pointer_to(view, offsets), block.sizes, block.strides, none, block.sizes, where);
}

tl::Tile load(const tl::MulticastGroup& mates, const View& view, const tl::Extents& offsets, const tl::Extents& shape,
              tl::Where where) {
  const MemoryBlock block = memory_block(view, shape);
  const tl::Tile tile = tl::multicast_load(mates, pointer_to_block(view, offsets, block, where), {}, where);
  return block.back.empty() ? tile : tl::permute(tile, block.back, where);
}

PendingLoad load_async(const View& view, const tl::Extents& offsets, const tl::Extents& shape, tl::Where where) {
  const MemoryBlock block = memory_block(view, shape);
  return {tl::load_async(pointer_to_block(view, offsets, block, where), {}, where), block.back};
}

PendingLoad load_async(const tl::MulticastGroup& mates, const View& view, const tl::Extents& offsets,
                       const tl::Extents& shape, tl::Where where) {
  const MemoryBlock block = memory_block(view, shape);
  return {tl::multicast_load_async(mates, pointer_to_block(view, offsets, block, where), {}, where), block.back};
}

tl::Tile wait(PendingLoad pending, tl::Where where) {
  tl::wait(pending.load.token, where);
  auto tile = std::move(pending.load.tile);
  return pending.back.empty() ? tile : tl::permute(tile, pending.back, where);
}

namespace {

/// A block of memory whose last dimension runs from one element to the next, which is its lane `place`.
struct GapStore {
  tl::Pointer first;
  tl::Extents sizes, strides;
  std::int64_t place = 0;
};

tl::Extents appended(const tl::Extents& extents, std::int64_t extent) {
  std::vector<std::int64_t> result(extents.begin(), extents.end());
  result.push_back(extent);
  return tl::Extents(std::span<const std::int64_t>(result));
}

/// A tile in the order of the view's memory, of the view's type.
struct StoredTile {
  tl::Tile tile;
  tl::Extents order, strides;
};

StoredTile in_memory_order(const View& view, const tl::Tile& tile, tl::Where where) {
  const tl::Extents order = memory_order(view);
  tl::Extents strides = order;
  for (std::size_t d = 0; d < order.size(); ++d) strides[d] = view.strides[static_cast<std::size_t>(order[d])];
  const tl::Tile converted = tl::cast(tile, view.dtype(), tl::Rounding::rtne, where);
  return {is_identity(order) ? converted : tl::permute(converted, order, where), order, strides};
}

/// A block of a tile in one shard, by distances in that shard.
struct BlockInShard {
  tl::Extents strides;
  std::int64_t lanes = 0;  // the smallest distance
  std::int64_t reach = 0;  // from the first element to the last one
};

/// Nothing where elements with gaps would be passed twice.
std::optional<BlockInShard> block_in(const View& view, const addressing::Shard& shard, const tl::Extents& order,
                                     const tl::Extents& shape) {
  const InShard lies = in_shard(view, shard.shape);
  BlockInShard block{order};
  std::int64_t elements = 1;  // in a row
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t stride = block.strides[d] = lies.strides[static_cast<std::size_t>(order[d])];
    if (shape[d] == 1) continue;
    block.reach += (shape[d] - 1) * stride;
    if (block.lanes == 0 || stride < block.lanes) block.lanes = stride, elements = shape[d];
  }
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && block.strides[d] != block.lanes && block.strides[d] < elements * block.lanes)
      return std::nullopt;
  return block;
}

/// The block of a tile that is stored with gaps of at most `most` - 1 lanes; nothing where it has none, or does not lie
/// in one shard with them.
std::optional<GapStore> gap_store(const View& view, const tl::Pointer& first, const StoredTile& stored,
                                  std::int64_t most) {
  const tl::Extents shape = stored.tile.shape();
  if (most == 1 || shape.size() == tl::Extents::kMaximumRank) return std::nullopt;
  const addressing::TensorDescriptor& tensor = view.tensor.descriptor();
  const addressing::Shard* shard = shard_of(tensor, first.offset());
  if (shard == nullptr) return std::nullopt;
  const auto block = block_in(view, *shard, stored.order, shape);
  if (!block || block->lanes < 2 || block->lanes > most) return std::nullopt;
  std::int64_t last = first.offset();
  for (std::size_t d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * stored.strides[d];
  const std::int64_t lanes = block->lanes, at = *place_in(*shard, tensor.shape, first.offset());
  const auto lies_at = [&](std::int64_t element, std::int64_t place) {
    return element >= 0 && element < tensor.numel() && place_in(*shard, tensor.shape, element) == place;
  };
  // First so that lanes begin and end with the rows of a shard whose length they divide.
  for (const std::int64_t place : {at % lanes, std::int64_t{0}, lanes - 1}) {
    const std::int64_t before = place, behind = lanes - 1 - place;
    if (lies_at(first.offset() - before, at - before) && lies_at(first.offset() + behind, at + behind) &&
        lies_at(last - before, at + block->reach - before) && lies_at(last + behind, at + block->reach + behind))
      return GapStore{first - place, appended(shape, lanes), appended(stored.strides, 1), place};
  }
  return std::nullopt;
}

}  // namespace

std::int64_t run_of(const View& view, const tl::Extents& shape) {
  const InShard lies = in_largest_shard(view);
  const auto count = [&](std::size_t d) { return std::min(shape[d], lies.counts[d]); };
  std::vector<std::size_t> dimensions;
  for (std::size_t d = 0; d < view.rank(); ++d)
    if (count(d) > 1 && view.strides[d] != 0) dimensions.push_back(d);
  std::ranges::sort(dimensions, {}, [&](std::size_t d) { return lies.strides[d]; });
  std::int64_t run = 1;
  for (const std::size_t d : dimensions) {
    if (lies.strides[d] != run) break;
    run *= count(d);
  }
  return run;
}

std::int64_t lanes_of_store(const View& view, const MachineLimits& limits) {
  constexpr double kLaneBytes = 4;
  const InShard lies = in_largest_shard(view);
  std::int64_t lanes = 0;
  for (std::size_t d = 0; d < view.rank(); ++d)
    if (lies.counts[d] > 1 && view.strides[d] != 0 && (lanes == 0 || lies.strides[d] < lanes)) lanes = lies.strides[d];
  if (lanes < 2) return 1;
  const std::int64_t item = item_size(view.dtype());
  const double copied = limits.lane * static_cast<double>(std::max(item, limits.narrowest)) / kLaneBytes;
  const double all = static_cast<double>(lanes) * (static_cast<double>(item) + copied);
  return all < static_cast<double>(limits.access) ? lanes : 1;
}

void store(const View& view, const tl::Extents& offsets, const tl::Tile& tile, tl::Where where) {
  const StoredTile stored = in_memory_order(view, tile, where);
  tl::store(pointer_to(view, offsets), stored.strides, stored.tile, {}, where);
}

void store_with_gaps(const View& view, const tl::Extents& offsets, const tl::Tile& tile, tl::Where where) {
  const StoredTile stored = in_memory_order(view, tile, where);
  const tl::Pointer first = pointer_to(view, offsets);
  const auto gaps = gap_store(view, first, stored, lanes_of_store(view, machine_limits()));
  if (!gaps) {
    tl::store(first, stored.strides, stored.tile, {}, where);
    return;
  }
  const auto rank = static_cast<int>(stored.order.size());
  const std::int64_t lanes = gaps->sizes[stored.order.size()];
  const tl::Tile chosen = tl::arange(0, lanes, where) == gaps->place;
  const tl::Tile column = tl::expand_dims(stored.tile, rank, where);
  // Granules of an interleaved tensor may begin anywhere between the lanes.
  const bool known = !view.tensor.descriptor().is_interleaved() && lanes <= 255;
  const ChosenLane lane{static_cast<std::uint8_t>(known ? item_size(view.dtype()) : 0),
                        static_cast<std::uint8_t>(known ? gaps->place : 0),
                        static_cast<std::uint8_t>(known ? lanes : 0)};
  store_lane(gaps->first, gaps->strides, tl::broadcast_to(column, gaps->sizes, where), chosen, lane, where);
}

void touch(const View& view, const tl::Extents& offsets, const tl::Extents& shape, tl::Where where) {
  MemoryBlock rows = memory_block(view, shape);
  rows.sizes[rows.sizes.size() - 1] = 1;
  tl::load(pointer_to(view, offsets), rows.sizes, rows.strides, {}, where);
}

MachineLimits limits_of(const topology::Topology& topology) {
  const auto& [pe, cube] = std::tie(topology.pe, topology.cube);
  const auto slice = static_cast<double>(cube.slice_bandwidth().count());
  const double copy = cycles(pe.vector, topology::VectorOperation::copy);
  const double lanes = static_cast<double>(pe.clock.count()) * pe.vector.lanes;
  return {.tcm = pe.tcm.capacity.count() / std::max(pe.contexts, 1),
          .access = cube.hbm.access.count(),
          .walk = slice * pe.mmu.miss.in_seconds(),
          .lane = slice * copy / lanes,
          .narrowest = pe.vector.narrowest.count()};
}

MachineLimits machine_limits() {
  const auto& program = Program::current("library kernel", tl::Where::current());
  return limits_of(program.environment().machine.topology());
}

std::int64_t widest_item(std::span<const View> views) {
  std::int64_t widest = item_size(DType::f32);
  for (const View& view : views) widest = std::max<std::int64_t>(widest, item_size(view.dtype()));
  return widest;
}

std::int64_t tcm_budget() {
  return machine_limits().tcm;
}

}  // namespace kernbench::tile::library
