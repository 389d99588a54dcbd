// An access as legs of a DMA operation and as places of values in memory, made from the pieces of shards.
#pragma once

#include <cstdint>
#include <vector>

#include "addressing/locate.h"
#include "addressing/page_table.h"
#include "hardware/command.h"
#include "numerics/memory/memory.h"
#include "tile/program/environment.h"

namespace kernbench::tile {

/// Adds a piece that starts at `target` to the leg of its slice: all pieces of one slice are one leg, and legs stand in
/// the order in which slices first occur. A piece of an interleaved tensor goes to a leg of each of its slices, and its
/// granules there stay rows of their own.
void append_leg(std::vector<hardware::DmaLeg>& legs, const addressing::ShardPiece& piece,
                const addressing::Translation& target);

/// A piece that begins at `address` of a memory as a place of a tile's elements of `item` bytes.
numerics::Piece data_piece(numerics::Memory& memory, std::uint64_t address, const addressing::ShardPiece& piece,
                           std::int64_t item);

/// The piece of append_leg as places of a tile's elements of `item` bytes: one, or one for each granule.
void append_data(std::vector<numerics::Piece>& pieces, const Environment& environment,
                 const addressing::ShardPiece& piece, const addressing::Translation& target, std::int64_t item);

}  // namespace kernbench::tile
