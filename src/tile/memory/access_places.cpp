// The legs and lanes of boxes, strided blocks and pointer tiles (Places of memory_access.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "addressing/interleaved_places.h"
#include "addressing/tensor_descriptor.h"
#include "base/name_format.h"
#include "kernbench/error.h"
#include "tile/memory/access.h"
#include "tile/memory/memory_access.h"
#include "tile/memory/touched_pages.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

namespace {

/// Translates pieces of a tensor's shards and collects where they lead.
class PlaceBuilder {
 public:
  PlaceBuilder(const AccessCall& call, const tl::Tensor& tensor)
      : call_(call),
        tensor_(tensor.descriptor()),
        environment_(call.program.environment()),
        pages_(environment_.addresses.page()),
        item_(item_size(tensor.dtype())) {}

  /// One range for the piece.
  void add(const addressing::ShardPiece& piece) {
    const addressing::Translation target = translate(piece);
    append_leg(places_.legs, piece, target);
    if (environment_.data_enabled) append_data(places_.pieces, environment_, piece, target, item_);
  }

  /// One range for the piece, or a longer or taller one where it goes on with the range before it.
  void add_merged(const addressing::ShardPiece& piece) {
    const addressing::Translation target = translate(piece);
    if (environment_.data_enabled) append_data(places_.pieces, environment_, piece, target, item_);
    const std::int64_t granule = target.region ? target.region->how().granule.count() : 0;
    for_each_rows(piece, target, [&](const addressing::PlacedRows& rows) {
      const auto [slice, address] = rows.first;
      hardware::StridedRange range{address, rows.rows, Bytes(rows.row_bytes), rows.stride};
      if (granule == 0 && range.rows > 1 && range.stride == rows.row_bytes) range = {address, 1, range.total(), 0};
      if (leg_ >= places_.legs.size() || places_.legs[leg_].slice != slice) find_leg(slice);
      auto& ranges = places_.legs[leg_].ranges;
      // What the hash sends to a slice granule by granule stays apart.
      const bool joins = granule == 0 || address % static_cast<std::uint64_t>(granule) != 0;
      if (ranges.empty() || !joins || !extend(ranges.back(), range)) ranges.push_back(range);
    });
  }

  Places take() {
    places_.pages = pages_.take();
    return std::move(places_);
  }

 private:
  addressing::Translation translate(const addressing::ShardPiece& piece) {
    pages_.add(piece);
    try {
      return environment_.addresses.translate(call_.reader(), piece.va, Bytes(span_bytes(piece)));
    } catch (const addressing::UnmappedAccess& error) {
      std::string message = fmt::format("tl::{}: {}", call_.name, error.what());
      // Addresses of a tensor that is long gone, or that never was, are nobody's.
      if (error.range() != tensor_.va) {
        message += fmt::format("; the tensor given is \"{}\", whose range is [{:#x}, {:#x})", tensor_.name, tensor_.va,
                               tensor_.va + static_cast<std::uint64_t>(tensor_.va_bytes.count()));
      }
      throw OutOfBoundsError(message, call_.program.place(call_.where));
    }
  }

  void find_leg(PeCoordinate slice) {
    const auto found = std::ranges::find(places_.legs, slice, &hardware::DmaLeg::slice);
    leg_ = static_cast<std::size_t>(found - places_.legs.begin());
    if (found == places_.legs.end()) places_.legs.push_back({slice, {}});
  }

  /// Joins `next` to `last` when it continues its only row, or is its next row.
  static bool extend(hardware::StridedRange& last, const hardware::StridedRange& next) {
    if (next.rows != 1) return false;
    const auto distance = static_cast<std::int64_t>(next.address - last.address);
    if (last.rows == 1 && distance == last.row_bytes.count()) {
      last.row_bytes += next.row_bytes;
      return true;
    }
    if (next.row_bytes != last.row_bytes) return false;
    if (last.rows == 1 && next.address > last.address + static_cast<std::uint64_t>(last.row_bytes.count())) {
      last.stride = distance;
    } else if (last.rows == 1 || distance != last.rows * last.stride) {
      return false;
    }
    ++last.rows;
    return true;
  }

  const AccessCall& call_;
  const addressing::TensorDescriptor& tensor_;
  const Environment& environment_;
  TouchedPages pages_;
  std::int64_t item_;
  Places places_;
  std::size_t leg_ = 0;
};

/// Finds the pieces of short runs without a search through all shards for each.
class RunLocator {
 public:
  RunLocator(const addressing::TensorDescriptor& tensor, PeCoordinate reader)
      : tensor_(tensor), reader_(reader), item_(item_size(tensor.dtype)) {}

  template <class Add>
  void locate(const LaneRun& run, const Add& add) {
    if (goes_backwards(run)) return locate_forwards(run, add);
    if (run.rows == 1 && run.lane_step == 1 && !tensor_.shape.empty() && locate_in_row(run, add)) return;
    const std::array<std::int64_t, 2> sizes{run.rows, run.length}, strides{run.stride, 1},
        lanes{run.lane_stride, run.lane_step};
    for (const addressing::ShardPiece& piece :
         locate_lanes(tensor_, {run.offset, run.lane, sizes, strides, lanes}, reader_)) {
      add(piece);
    }
  }

 private:
  static bool goes_backwards(const LaneRun& run) {
    return (run.rows > 1 && run.lane_stride < 0) || (run.length > 1 && run.lane_step < 0);
  }

  /// Rows of a piece ascend in the tile: what goes backwards there is taken row by row, or element by element.
  template <class Add>
  void locate_forwards(const LaneRun& run, const Add& add) {
    for (std::int64_t row = 0; row < run.rows; ++row) {
      LaneRun part = run;
      part.lane += row * run.lane_stride, part.offset += row * run.stride;
      part.rows = 1, part.stride = part.lane_stride = 0;
      if (run.lane_step >= 0) {
        locate(part, add);
        continue;
      }
      for (std::int64_t i = 0; i < run.length; ++i) {
        locate({.lane = part.lane + i * run.lane_step, .offset = part.offset + i}, add);
      }
    }
  }

  /// A run within one row of the tensor and of one shard that has been met before.
  template <class Add>
  bool locate_in_row(const LaneRun& run, const Add& add) {
    const std::size_t rank = tensor_.shape.size();
    std::array<std::int64_t, 8> at{};
    std::int64_t rest = run.offset;
    for (std::size_t i = rank; i-- > 0;) {
      at[i] = rest % tensor_.shape[i];
      rest /= tensor_.shape[i];
    }
    if (at[rank - 1] + run.length > tensor_.shape[rank - 1]) return false;
    for (const std::uint32_t index : met_) {
      if (holds(tensor_.stored()[index], at, run.length)) return add(piece_of(index, at, run)), true;
    }
    const std::span<const std::int64_t> offset(at.data(), rank);
    const std::array<std::int64_t, 8> ones{1, 1, 1, 1, 1, 1, 1, 1};
    const std::uint32_t index = locate_box(tensor_, offset, {ones.data(), rank}, reader_).front().shard;
    met_.push_back(index);
    if (!holds(tensor_.stored()[index], at, run.length)) return false;
    add(piece_of(index, at, run));
    return true;
  }

  static bool holds(const addressing::Shard& shard, const std::array<std::int64_t, 8>& at, std::int64_t length) {
    const std::size_t rank = shard.shape.size();
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t inside = at[i] - shard.offset[i], count = i + 1 == rank ? length : 1;
      if (inside < 0 || inside + count > shard.shape[i]) return false;
    }
    return true;
  }

  addressing::ShardPiece piece_of(std::uint32_t index, const std::array<std::int64_t, 8>& at,
                                  const LaneRun& run) const {
    const addressing::Shard& shard = tensor_.stored()[index];
    std::int64_t element = 0;
    for (std::size_t i = 0; i < shard.shape.size(); ++i) element = element * shard.shape[i] + at[i] - shard.offset[i];
    return {.shard = index,
            .slice = shard.owner,
            .va = shard.va + static_cast<std::uint64_t>(element * item_),
            .rows = 1,
            .row_bytes = run.length * item_,
            .stride = 0,
            .box_offset = run.lane * item_,
            .box_stride = 0};
  }

  const addressing::TensorDescriptor& tensor_;
  PeCoordinate reader_;
  std::int64_t item_;
  std::vector<std::uint32_t> met_;  // shards that hold an element of an earlier run
};

/// Whether two lanes may name one element: false only when each stride passes over all that the smaller ones reach.
bool may_repeat(const tl::Extents& shape, const tl::Extents& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride, count
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1) dimensions.emplace_back(strides[i], shape[i]);
  }
  std::ranges::sort(dimensions);
  std::int64_t reach = 0;  // of the smaller ones: the largest distance of two of their elements
  for (const auto& [stride, count] : dimensions) {
    if (stride <= reach) return true;
    reach += stride * (count - 1);
  }
  return false;
}

/// The first lane, in row-major order, whose element is `limit` or more away from the block's first.
tl::Extents first_lane_beyond(const StridedBlock& block, std::int64_t limit) {
  tl::Extents lane = block.shape;
  std::int64_t rest = 0;  // what the dimensions after this one can reach
  for (std::size_t i = 0; i < lane.size(); ++i) lane[i] = 0;
  for (std::size_t i = 0; i < block.shape.size(); ++i) {
    rest = 0;
    for (std::size_t j = i + 1; j < block.shape.size() && rest < limit; ++j) {
      const std::int64_t steps = block.shape[j] - 1;
      const bool beyond = block.strides[j] != 0 && steps >= (limit + block.strides[j] - 1) / block.strides[j];
      rest = beyond ? limit : rest + steps * block.strides[j];
    }
    if (rest >= limit || block.strides[i] == 0) continue;
    const std::int64_t missing = limit - rest;
    lane[i] = std::min(block.shape[i] - 1, (missing + block.strides[i] - 1) / block.strides[i]);
    limit = std::max<std::int64_t>(0, limit - lane[i] * block.strides[i]);
  }
  return lane;
}

/// Whether the block reaches an element that is `limit` or more away from its first.
bool reaches(const StridedBlock& block, std::int64_t limit) {
  std::int64_t reach = 0;
  for (std::size_t i = 0; i < block.shape.size(); ++i) {
    if (block.strides[i] == 0 || block.shape[i] == 1) continue;
    if (block.shape[i] - 1 > limit / block.strides[i]) return true;
    reach += (block.shape[i] - 1) * block.strides[i];
    if (reach >= limit) return true;
  }
  return reach >= limit;
}

/// Whether a lane of the block lies outside of its tensor.
bool leaves(const tl::Tensor& tensor, const StridedBlock& block) {
  const std::int64_t elements = tensor.numel();
  return block.offset < 0 || block.offset >= elements || reaches(block, elements - block.offset);
}

/// The lanes of a block that lie in its tensor.
PointerLanes lanes_inside(const tl::Tensor& tensor, const StridedBlock& block) {
  PointerLanes lanes;
  const auto count = static_cast<std::size_t>(block.tile.numel());
  lanes.offsets.resize(count);
  lanes.active.resize(count);
  tl::Extents index = block.shape;
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = 0;
  for (std::int64_t left = block.shape.numel(); left > 0; --left) {
    std::int64_t element = block.offset, lane = block.lane, step = 0;
    bool inside = true;  // strides are not negative, so what overflows is beyond the end
    for (std::size_t i = 0; i < index.size(); ++i) {
      lane += index[i] * block.lane_strides[i];
      inside = inside && !__builtin_mul_overflow(index[i], block.strides[i], &step) &&
               !__builtin_add_overflow(element, step, &element);
    }
    if (inside && element >= 0 && element < tensor.numel()) {
      lanes.offsets[static_cast<std::size_t>(lane)] = element;
      lanes.active[static_cast<std::size_t>(lane)] = 1;
    }
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < block.shape[i]) break;
      index[i] = 0;
    }
  }
  return lanes;
}

}  // namespace

Places places_of_box(const AccessCall& call, const tl::Tensor& tensor, const tl::Extents& offsets,
                     const tl::Extents& shape) {
  PlaceBuilder places(call, tensor);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (offsets[i] >= tensor.descriptor().shape[i] || offsets[i] <= -shape[i]) return {};  // outside altogether
  }
  for (const auto& piece : locate_box(tensor.descriptor(), offsets.span(), shape.span(), call.reader())) {
    places.add(piece);
  }
  return places.take();
}

StridedBlock whole_block(std::int64_t offset, const tl::Extents& shape, const tl::Extents& strides) {
  StridedBlock block{offset, 0, shape, strides, shape, shape};
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    block.lane_strides[i] = stride;
    stride *= shape[i];
  }
  return block;
}

void check_strided(const AccessCall& call, const tl::Tensor& tensor, const StridedBlock& block, bool write) {
  if (block.strides.size() != block.shape.size()) {
    call.value_error(
        fmt::format("{} strides were given for a block of {} dimensions", block.strides.size(), block.shape.size()));
  }
  for (const std::int64_t extent : block.shape) {
    if (extent <= 0)
      call.value_error(fmt::format("block shape {} must be positive in every dimension", to_text(block.shape)));
  }
  for (const std::int64_t stride : block.strides) {
    if (stride < 0) {
      call.value_error(
          fmt::format("strides {} must not be negative; start at the block's lowest element and turn the "
                      "tile around, or use a tile of pointers",
                      to_text(block.strides)));
    }
  }
  if (!leaves(tensor, block)) return;
  if (!write && call.program.environment().reads_may_leave_tensors) return;
  const std::int64_t elements = tensor.numel();
  const bool before = block.offset < 0 || block.offset >= elements;
  tl::Extents lane = block.shape;
  for (std::size_t i = 0; i < lane.size(); ++i) lane[i] = 0;
  if (!before) lane = first_lane_beyond(block, elements - block.offset);
  std::int64_t element = block.offset, number = block.lane;
  for (std::size_t i = 0; i < lane.size(); ++i) {
    element += lane[i] * block.strides[i];
    number += lane[i] * block.lane_strides[i];
  }
  const std::string what =
      block.tile.empty() ? std::string("the pointer")
                         : fmt::format("lane {} of the block of shape {} and strides {}", lane_text(number, block.tile),
                                       to_text(block.tile), to_text(block.strides));
  throw OutOfBoundsError(fmt::format("tl::{}: {} lies at element {} of tensor {} of shape {}; {}", call.name, what,
                                     element, tensor.descriptor().name, to_text(tensor.shape()), valid_text(elements)),
                         call.program.place(call.where));
}

Places places_of_strided(const AccessCall& call, const tl::Tensor& tensor, const StridedBlock& block, bool write) {
  if (leaves(tensor, block)) return places_of_lanes(call, tensor, lanes_inside(tensor, block));
  if (write && may_repeat(block.shape, block.strides)) {
    PointerLanes lanes = lanes_of_block(block.offset, block.shape, block.strides);
    const PointerLanes places = lanes_of_block(block.lane, block.shape, block.lane_strides);
    PlaceBuilder builder(call, tensor);
    RunLocator locator(tensor.descriptor(), call.reader());
    for (std::size_t i = 0; i < lanes.offsets.size(); ++i) {
      locator.locate({.lane = places.offsets[i], .offset = lanes.offsets[i]},
                     [&](const addressing::ShardPiece& piece) { builder.add_merged(piece); });
    }
    return builder.take();
  }
  PlaceBuilder builder(call, tensor);
  const addressing::LaneBlock lanes{block.offset, block.lane, block.shape.span(), block.strides.span(),
                                    block.lane_strides.span()};
  for (const auto& piece : locate_lanes(tensor.descriptor(), lanes, call.reader())) {
    builder.add_merged(piece);
  }
  return builder.take();
}

Places places_of_lanes(const AccessCall& call, const tl::Tensor& tensor, const PointerLanes& lanes) {
  PlaceBuilder builder(call, tensor);
  RunLocator locator(tensor.descriptor(), call.reader());
  for (const LaneRun& run : runs_of(lanes)) {
    locator.locate(run, [&](const addressing::ShardPiece& piece) { builder.add_merged(piece); });
  }
  return builder.take();
}

}  // namespace kernbench::tile
