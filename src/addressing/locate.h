// The bytes of a box of a tensor, as pieces of the shards that hold it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "addressing/tensor_descriptor.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"

namespace kernbench::addressing {

/// Rows of equal length in one shard, and where they go in the box's own dense row-major layout. All in bytes.
/// A part of a shard that is not of this form gives several pieces. Rows that follow each other in the memory and in
/// the box are merged.
struct ShardPiece {
  std::uint32_t shard = 0;  // index in the descriptor's stored()
  PeCoordinate slice;       // its owner; of an interleaved array the first of its slices
  std::uint64_t va = 0;     // of the first byte; translate with `slice` as the reader
  std::int64_t rows = 1;
  std::int64_t row_bytes = 0;
  std::int64_t stride = 0;      // from row to row in memory
  std::int64_t box_offset = 0;  // of the first byte in the box
  std::int64_t box_stride = 0;  // from row to row in the box
  bool operator==(const ShardPiece&) const = default;
};

/// The bytes from the first to one past the last that a piece touches in memory.
constexpr std::int64_t span_bytes(const ShardPiece& piece) {
  return (piece.rows - 1) * piece.stride + piece.row_bytes;
}

/// The pieces of the box of `shape` elements at `offset` (each of the tensor's rank, at most 8) that lie inside of the
/// tensor; what lies outside has none. Of replicas, `reader` gets its own copy, else the one that nearest_copy chooses;
/// without a reader (the host) it is the lowest coordinate. Ordered by position in the box.
std::vector<ShardPiece> locate_box(const TensorDescriptor& tensor, std::span<const std::int64_t> offset,
                                   std::span<const std::int64_t> shape,
                                   std::optional<PeCoordinate> reader = std::nullopt);

/// Elements of a tensor, counted in row-major order, and the lanes of a tile that they belong to: element
/// offset + i0 * strides[0] + … is lane lane + i0 * lane_strides[0] + …, for 0 <= i < sizes. Strides are not negative.
struct LaneBlock {
  std::int64_t offset = 0, lane = 0;
  std::span<const std::int64_t> sizes, strides, lane_strides;
};

/// The pieces of such elements, all of which must lie in the tensor; box_offset and box_stride are places in the tile.
/// The reader chooses among replicas as in locate_box. In the order of the elements in memory, about: by descending
/// stride.
std::vector<ShardPiece> locate_lanes(const TensorDescriptor& tensor, const LaneBlock& block, PeCoordinate reader);

/// Like locate_box, with the pieces of every replica (what a host write must reach).
std::vector<ShardPiece> locate_all_copies(const TensorDescriptor& tensor, std::span<const std::int64_t> offset,
                                          std::span<const std::int64_t> shape);

/// The pieces of a box in one of the shards, row by row of the box. REQUIRES: the shard holds all of the box.
std::vector<ShardPiece> locate_in_shard(const TensorDescriptor& tensor, std::uint32_t shard,
                                        std::span<const std::int64_t> offset, std::span<const std::int64_t> shape);

/// A box of a tensor and where its elements go in a view: element (i0, i1, …) of the box goes to index
/// view_offset + i0 * view_strides[0] + … of the view's own dense row-major layout. All in elements.
struct ViewBox {
  std::vector<std::int64_t> offset, shape;
  std::vector<std::int64_t> view_strides;
  std::int64_t view_offset = 0;
};

/// Cuts a strided view of a tensor of shape `base` (row-major) into boxes; each element of the view in exactly one.
/// One box when the view is one (slices, selections, transposes, reshapes that keep whole rows).
std::vector<ViewBox> boxes_of_view(std::span<const std::int64_t> base, std::span<const std::int64_t> sizes,
                                   std::span<const std::int64_t> strides, std::int64_t storage_offset);

}  // namespace kernbench::addressing
