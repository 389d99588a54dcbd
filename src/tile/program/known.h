// Known tiles: those whose values follow from the kernel's own numbers alone, before any memory has been read.
//
// A tile is known when its element type is an integer or bool and it comes from arange, full, zeros or zeros_like, or
// from known tiles and scalars by an operation of the vector engine or a change of shape. So masks and offsets of
// pointers are there when a load is issued, with data and under --no-data alike. Tiles of floats and products (tl::dot)
// are never known: nothing that steers an access needs them, and under --no-data nobody should pay for their bytes.
//
// What is known changes no time: the commands that make a known tile run on the vector engine like all others.
#pragma once

#include <optional>

#include "numerics/value.h"
#include "tile/program/tile_state.h"

namespace kernbench::tile {

/// The value of a known tile; null for any other. It may still have to be computed: see known_view.
const numerics::Value* known_value(const TileState& tile);

/// The elements of a known tile, computed now if need be; absent for any other tile. Good as long as the tile lives.
std::optional<numerics::TileView> known_view(const TileState& tile);

}  // namespace kernbench::tile
