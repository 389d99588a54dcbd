// Cuts a composite GEMM into the steps of its pipeline.
#pragma once

#include <cstdint>

#include "kernbench/tl.h"
#include "kernbench/units.h"

namespace kernbench::tile {

/// c [m,n] = a [m,k] times b [k,n].
struct CompositeProblem {
  std::int64_t m = 0, n = 0, k = 0;
  // Bytes of an element that a step loads; 0: the operand is a tile and is not loaded.
  std::int64_t a_item = 0, b_item = 0;
};

struct CompositePlan {
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 0;
  /// Two steps' tiles of the operands in HBM, and two f32 accumulators: one is stored while the next is computed.
  Bytes tcm;
};

/// Tiles as the options say; an extent that they leave open starts at four times the array's (tile_k: at 512) and is
/// halved, the largest use first, until all fits into `room`, but not below the array's extents (tile_k: 64). No tile
/// is larger than the problem. What does not fit even so is for the caller to refuse.
CompositePlan plan_composite(const CompositeProblem& problem, const tl::CompositeGemmOptions& options,
                             std::int64_t array_rows, std::int64_t array_columns, Bytes room);

}  // namespace kernbench::tile
