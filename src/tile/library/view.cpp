#include "tile/library/view.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "addressing/locate.h"
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

std::vector<Box> parts_in(const View& view, std::span<const std::int64_t> shard_offset,
                          std::span<const std::int64_t> shard_shape) {
  if (view.numel() == 0) return {};
  if (const auto alignment = align(view)) {
    if (auto parts = aligned_parts(view, *alignment, shard_offset, shard_shape)) return *std::move(parts);
  }
  return general_parts(view, {tl::Extents(shard_offset), tl::Extents(shard_shape)});
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

/// The block of a tile of `shape` that is stored with gaps of `lanes` - 1 lanes; nothing where it would leave the
/// tensor or pass elements twice, or has no gaps.
std::optional<GapStore> gap_store(const View& view, const tl::Pointer& first, const tl::Extents& shape,
                                  const tl::Extents& strides, std::int64_t lanes) {
  if (lanes == 1 || shape.size() == tl::Extents::kMaximumRank) return std::nullopt;
  std::int64_t reach = 0, elements = 1;  // from the first element to the last one; elements in a row
  for (std::size_t d = 0; d < shape.size(); ++d) {
    reach += (shape[d] - 1) * strides[d];
    if (strides[d] == lanes) elements = std::max(elements, shape[d]);
  }
  if (elements == 1) return std::nullopt;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] != lanes && strides[d] < elements * lanes) return std::nullopt;
  // First so that lanes begin and end with the rows of a tensor whose length they divide.
  for (const std::int64_t place : {first.offset() % lanes, std::int64_t{0}, lanes - 1}) {
    const std::int64_t begin = first.offset() - place;
    if (begin < 0 || begin + reach + lanes > view.tensor.numel()) continue;
    return GapStore{first - place, appended(shape, lanes), appended(strides, 1), place};
  }
  return std::nullopt;
}

/// A tile in the order of the view's memory, of the view's type.
struct StoredTile {
  tl::Tile tile;
  tl::Extents strides;
};

StoredTile in_memory_order(const View& view, const tl::Tile& tile, tl::Where where) {
  const tl::Extents order = memory_order(view);
  tl::Extents strides = order;
  for (std::size_t d = 0; d < order.size(); ++d) strides[d] = view.strides[static_cast<std::size_t>(order[d])];
  const tl::Tile converted = tl::cast(tile, view.dtype(), tl::Rounding::rtne, where);
  return {is_identity(order) ? converted : tl::permute(converted, order, where), strides};
}

}  // namespace

std::int64_t run_of(const View& view, const tl::Extents& shape) {
  std::vector<std::size_t> dimensions;
  for (std::size_t d = 0; d < view.rank(); ++d)
    if (shape[d] > 1 && view.strides[d] != 0) dimensions.push_back(d);
  std::ranges::sort(dimensions, {}, [&](std::size_t d) { return view.strides[d]; });
  std::int64_t run = 1;
  for (const std::size_t d : dimensions) {
    if (view.strides[d] != run) break;
    run *= shape[d];
  }
  return run;
}

std::int64_t lanes_of_store(const View& view, const MachineLimits& limits) {
  constexpr double kLaneBytes = 4;
  const auto fast = fast_dimension(view);
  if (!fast) return 1;
  const std::int64_t lanes = view.strides[*fast], item = item_size(view.dtype());
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
  const tl::Extents shape = stored.tile.shape();
  const std::int64_t lanes = lanes_of_store(view, machine_limits());
  const auto gaps = gap_store(view, first, shape, stored.strides, lanes);
  if (!gaps) {
    tl::store(first, stored.strides, stored.tile, {}, where);
    return;
  }
  const tl::Tile chosen = tl::arange(0, lanes, where) == gaps->place;
  const tl::Tile column = tl::expand_dims(stored.tile, static_cast<int>(shape.size()), where);
  tl::store(gaps->first, gaps->strides, tl::broadcast_to(column, gaps->sizes, where), {.mask = chosen}, where);
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

std::int64_t tcm_budget() {
  return machine_limits().tcm;
}

}  // namespace kernbench::tile::library
