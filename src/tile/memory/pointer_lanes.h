// Lanes of pointer tiles: resolves offsets and masks, and cuts lanes into runs.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/program/program.h"

namespace kernbench::tile {

/// The lanes of a tile of pointers into one tensor, in row-major order.
struct PointerLanes {
  std::vector<std::int64_t> offsets;  // of each lane, in elements from the tensor's first
  std::vector<std::uint8_t> active;   // one byte for each lane, 0: masked off; empty: all lanes are active

  bool is_active(std::size_t lane) const { return active.empty() || active[lane] != 0; }
};

/// The lanes of `pointers` for which `mask` (may be null; broadcasts to the pointers' shape) is true. When offsets and
/// mask are known (tile/program/known.h) at once; else this suspends until both have been computed and costs one
/// pe.control.scalar_read. InvalidValueError for an invalid lane of the mask, or of the offsets where the mask is true;
/// OutOfBoundsError for an active lane outside of the tensor, which is made inactive
/// instead when it is not written and reads may leave tensors; NoDataError when a value would have to be computed under
/// --no-data; ValueError when the offsets are no integers.
PointerLanes resolve_lanes(Program& program, const char* call, const tl::PointerTile& pointers, const TileState* mask,
                           const tl::Where& where, bool write);

/// `rows` runs of `length` lanes: lane `lane + r * lane_stride + i * lane_step` is element `offset + r * stride + i`.
struct LaneRun {
  std::int64_t lane = 0, offset = 0;
  std::int64_t length = 1, rows = 1;
  std::int64_t stride = 0, lane_stride = 0, lane_step = 1;
  bool operator==(const LaneRun&) const = default;
};

/// The active lanes as runs, in the order of lanes, or of addresses where that makes half as many or fewer; no run
/// names an element twice, and of lanes that name one element the later lane comes later. Runs of equal length at equal
/// distances, three or more, become rows of one.
std::vector<LaneRun> runs_of(const PointerLanes& lanes);

/// The lanes of a strided block from `offset`.
PointerLanes lanes_of_block(std::int64_t offset, const tl::Extents& shape, const tl::Extents& strides);

/// The index of `lane` in a tile of `shape`: "[1, 3]".
std::string lane_text(std::int64_t lane, const tl::Extents& shape);

}  // namespace kernbench::tile
