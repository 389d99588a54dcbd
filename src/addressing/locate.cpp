#include "addressing/locate.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "addressing/box_cutter.h"
#include "addressing/page_table.h"
#include "base/small_vector.h"

namespace kernbench::addressing {

namespace {

/// One loop over memory and box, in bytes.
struct Loop {
  std::int64_t count, stride, box_stride;
};

/// A box of a tensor, and in elements where its own elements go: `lane` for the first, `strides` from one to the next.
struct Box {
  std::span<const std::int64_t> offset, shape, strides;
  std::int64_t lane = 0;
};

/// Row-major strides of a dense box.
class DenseStrides {
 public:
  explicit DenseStrides(std::span<const std::int64_t> shape) : size_(shape.size()) {
    std::int64_t stride = 1;
    for (std::size_t i = size_; i-- > 0;) {
      strides_[i] = stride;
      stride *= shape[i];
    }
  }
  std::span<const std::int64_t> span() const { return {strides_.data(), size_}; }

 private:
  Indices strides_;
  std::size_t size_;
};

/// The part of a box that one shard holds, as nested loops.
class Intersection {
 public:
  /// REQUIRES: the box and the shard have a common element.
  Intersection(const Shard& shard, const Box& box, std::int64_t item) : box_offset_(box.lane * item) {
    std::int64_t stride = item;
    for (std::size_t i = box.shape.size(); i-- > 0;) {
      const std::int64_t low = std::max(box.offset[i], shard.offset[i]);
      const std::int64_t high = std::min(box.offset[i] + box.shape[i], shard.offset[i] + shard.shape[i]);
      const std::int64_t box_stride = box.strides[i] * item;
      memory_offset_ += (low - shard.offset[i]) * stride;
      box_offset_ += (low - box.offset[i]) * box_stride;
      push({high - low, stride, box_stride}, item);
      stride *= shard.shape[i];
    }
    if (loops_ == 0) loop_[loops_++] = {1, item, item};  // one element
  }

  void append_pieces(std::uint32_t index, const Shard& shard, std::int64_t item, std::vector<ShardPiece>& out) const {
    // The innermost loop is always a row: its elements are adjacent on both sides.
    ShardPiece piece{.shard = index,
                     .slice = shard.owner,
                     .va = shard.va + static_cast<std::uint64_t>(memory_offset_),
                     .rows = 1,
                     .row_bytes = loop_[0].count * item,
                     .stride = 0,
                     .box_offset = box_offset_,
                     .box_stride = 0};
    if (loops_ > 1) {
      piece.rows = loop_[1].count;
      piece.stride = loop_[1].stride;
      piece.box_stride = loop_[1].box_stride;
    }
    Indices at{};
    while (true) {
      out.push_back(piece);
      std::size_t level = 2;
      for (; level < loops_; ++level) {
        const Loop& loop = loop_[level];
        piece.va += static_cast<std::uint64_t>(loop.stride);
        piece.box_offset += loop.box_stride;
        if (++at[level] < loop.count) break;
        piece.va -= static_cast<std::uint64_t>(loop.stride * loop.count);
        piece.box_offset -= loop.box_stride * loop.count;
        at[level] = 0;
      }
      if (level >= loops_) return;
    }
  }

 private:
  /// Loops come from the innermost outwards; one that continues the previous loop on both sides is merged with it.
  void push(const Loop& loop, std::int64_t item) {
    if (loop.count == 1) return;
    if (loops_ > 0) {
      Loop& inner = loop_[loops_ - 1];
      if (loop.stride == inner.stride * inner.count && loop.box_stride == inner.box_stride * inner.count) {
        inner.count *= loop.count;
        return;
      }
    } else if (loop.stride != item || loop.box_stride != item) {
      loop_[loops_++] = {1, item, item};
    }
    loop_[loops_++] = loop;
  }

  std::array<Loop, kMaximumRank + 1> loop_;  // of which loops_ are set
  std::size_t loops_ = 0;
  std::int64_t memory_offset_ = 0, box_offset_;
};

/// Whether the box and the shard have a common element: decides for most shards of a large tensor, so it comes first.
bool overlaps(const Shard& shard, std::span<const std::int64_t> offset, std::span<const std::int64_t> shape) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t begin = shard.offset[i];
    if (offset[i] >= begin + shard.shape[i] || offset[i] + shape[i] <= begin || shape[i] == 0) return false;
  }
  return true;
}

/// Whether the shard holds all of the box that lies inside of the tensor.
bool holds(const Shard& shard, const TensorDescriptor& tensor, std::span<const std::int64_t> offset,
           std::span<const std::int64_t> shape) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t low = std::max<std::int64_t>(offset[i], 0);
    const std::int64_t high = std::min(offset[i] + shape[i], tensor.shape[i]);
    if (low < shard.offset[i] || high > shard.offset[i] + shard.shape[i]) return false;
  }
  return true;
}

void sort_by_box(std::vector<ShardPiece>& pieces) {
  const auto before = [](const ShardPiece& a, const ShardPiece& b) {
    return a.box_offset != b.box_offset ? a.box_offset < b.box_offset : a.shard < b.shard;
  };
  if (!std::ranges::is_sorted(pieces, before)) std::ranges::sort(pieces, before);
}

/// The index of the copy to read among shards of one box.
std::uint32_t choose(const TensorDescriptor& tensor, std::span<const std::uint32_t> copies,
                     std::optional<PeCoordinate> reader) {
  if (copies.size() == 1 || !reader) return copies.front();
  std::vector<PeCoordinate> owners;
  for (const std::uint32_t copy : copies) owners.push_back(tensor.stored()[copy].owner);
  return copies[nearest_copy(owners, *reader)];
}

/// Appends the pieces of a box; of shards that hold parts of it, one after the other by virtual address. `met` is the
/// shard that held all of the last box and its reader was given, if any: what it holds now, it is given again, since
/// of an element there are no others but replicas of that shard.
void append_pieces(const TensorDescriptor& tensor, const Box& box, std::optional<PeCoordinate> reader,
                   std::vector<ShardPiece>& pieces, std::optional<std::uint32_t>& met) {
  const std::int64_t item = item_size(tensor.dtype);
  const std::vector<Shard>& stored = tensor.stored();
  if (met && holds(stored[*met], tensor, box.offset, box.shape) && overlaps(stored[*met], box.offset, box.shape))
    return Intersection(stored[*met], box, item).append_pieces(*met, stored[*met], item, pieces);
  if (reader) {
    const auto own = std::ranges::lower_bound(stored, *reader, {}, &Shard::owner);
    if (own != stored.end() && own->owner == *reader && holds(*own, tensor, box.offset, box.shape)) {
      if (!overlaps(*own, box.offset, box.shape)) return;
      met = static_cast<std::uint32_t>(own - stored.begin());
      return Intersection(*own, box, item).append_pieces(*met, *own, item, pieces);
    }
  }
  SmallVector<std::uint32_t, 16> overlapping;
  for (std::uint32_t i = 0; i < stored.size(); ++i)
    if (overlaps(stored[i], box.offset, box.shape)) overlapping.push_back(i);
  // Replicas share their virtual address.
  const auto va = [&](std::uint32_t i) { return stored[i].va; };
  if (!std::ranges::is_sorted(overlapping, {}, va))
    std::ranges::sort(overlapping, {}, [&](std::uint32_t i) { return std::pair(va(i), i); });
  for (std::size_t first = 0, last = 0; first < overlapping.size(); first = last) {
    while (last < overlapping.size() && va(overlapping[last]) == va(overlapping[first])) ++last;
    const std::uint32_t chosen =
        choose(tensor, std::span<const std::uint32_t>(overlapping).subspan(first, last - first), reader);
    const Shard& shard = stored[chosen];
    if (first == 0 && last == overlapping.size() && holds(shard, tensor, box.offset, box.shape)) met = chosen;
    Intersection(shard, box, item).append_pieces(chosen, shard, item, pieces);
  }
}

}  // namespace

std::vector<ShardPiece> locate_box(const TensorDescriptor& tensor, std::span<const std::int64_t> offset,
                                   std::span<const std::int64_t> shape, std::optional<PeCoordinate> reader) {
  assert(offset.size() == tensor.shape.size() && shape.size() == tensor.shape.size());
  assert(shape.size() <= kMaximumRank);
  std::vector<ShardPiece> pieces;
  const DenseStrides strides(shape);
  std::optional<std::uint32_t> met;
  append_pieces(tensor, {offset, shape, strides.span(), 0}, reader, pieces, met);
  sort_by_box(pieces);
  return pieces;
}

std::vector<ShardPiece> locate_lanes(const TensorDescriptor& tensor, const LaneBlock& block, PeCoordinate reader) {
  std::vector<ShardPiece> pieces;
  std::optional<std::uint32_t> met;
  BoxCutter cutter(tensor.shape, [&](const LaneBox& box) {
    const auto first = [&](const Indices& values) { return std::span(values).first(box.rank); };
    append_pieces(tensor, {first(box.offset), first(box.shape), first(box.lane_strides), box.lane}, reader, pieces,
                  met);
  });
  cutter.cut(block);
  return pieces;
}

std::vector<ShardPiece> locate_all_copies(const TensorDescriptor& tensor, std::span<const std::int64_t> offset,
                                          std::span<const std::int64_t> shape) {
  assert(offset.size() == tensor.shape.size() && shape.size() == tensor.shape.size());
  const std::int64_t item = item_size(tensor.dtype);
  std::vector<ShardPiece> pieces;
  const DenseStrides strides(shape);
  const Box box{offset, shape, strides.span(), 0};
  for (std::uint32_t i = 0; i < tensor.stored().size(); ++i) {
    if (overlaps(tensor.stored()[i], offset, shape))
      Intersection(tensor.stored()[i], box, item).append_pieces(i, tensor.stored()[i], item, pieces);
  }
  sort_by_box(pieces);
  return pieces;
}

std::vector<ShardPiece> locate_in_shard(const TensorDescriptor& tensor, std::uint32_t shard,
                                        std::span<const std::int64_t> offset, std::span<const std::int64_t> shape) {
  assert(holds(tensor.stored()[shard], tensor, offset, shape));
  std::vector<ShardPiece> pieces;
  if (!overlaps(tensor.stored()[shard], offset, shape)) return pieces;
  const std::int64_t item = item_size(tensor.dtype);
  const DenseStrides strides(shape);
  Intersection(tensor.stored()[shard], {offset, shape, strides.span(), 0}, item)
      .append_pieces(shard, tensor.stored()[shard], item, pieces);
  return pieces;
}

}  // namespace kernbench::addressing
