// From shard pieces to what moves and what changes: the legs of a DMA operation, and the places of values in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "data/memory.h"
#include "hardware/operation.h"
#include "kernel/environment.h"
#include "kernel/locate.h"
#include "kernel/page_table.h"

namespace kernbench::kernel {

/// Adds a piece that starts at `target` to the leg of its slice: all pieces of one slice are one leg, and legs stand in
/// the order in which slices first occur.
void append_leg(std::vector<hardware::DmaLeg>& legs, const ShardPiece& piece, const Translation& target);

/// The same piece as a place of a tile's elements of `item` bytes.
data::Piece data_piece(const Environment& environment, const ShardPiece& piece, const Translation& target,
                       std::int64_t item);

}  // namespace kernbench::kernel
