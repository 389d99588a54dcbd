// Known tiles: those whose values follow from the kernel's own numbers alone, before any memory has been read.
//
// A tile is known when its element type is an integer or bool and it comes from arange, full, zeros or zeros_like, or
// from known tiles and scalars by an operation of the vector engine or a change of shape. So masks and offsets of
// pointers are there when a load is issued, with data and under --no-data alike. Tiles of floats and products (tl::dot)
// are never known: nothing that steers an access needs them, and under --no-data nobody should pay for their bytes.
//
// What is known changes no time: the commands that make a known tile run on the vector engine like all others.
//
// A library kernel whose accesses follow from integers in memory may have a run without data take values for them
// (assume). What derives from these is known, too, but is waited for, and read, as values of memory are with data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "kernbench/tl.h"
#include "numerics/value.h"
#include "tile/program/tile_state.h"

namespace kernbench::tile {

/// The value of a known tile; null for any other. It may still have to be computed: see known_view.
const numerics::Value* known_value(const TileState& tile);

/// The elements of a known tile, computed now if need be; absent for any other tile. Good as long as the tile lives.
std::optional<numerics::TileView> known_view(const TileState& tile);

/// Under --no-data, `value` says what a tile of i32 or i64 that has been loaded is taken to hold; with data nothing
/// happens. To be called before the tile is used.
void assume(const tl::Tile& tile, const std::function<std::int64_t(std::int64_t lane)>& value);

}  // namespace kernbench::tile
