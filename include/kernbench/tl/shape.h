// Changing the shape of tiles. reshape, ravel, view and expand_dims move nothing and cost nothing; the others are
// vector commands.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "kernbench/tl/types.h"

namespace kernbench::tl {

/// The same elements in row-major order in another shape; one extent may be -1.
Tile reshape(const Tile& x, Extents shape, Where where = Where::current());
Tile view(const Tile& x, Extents shape, Where where = Where::current());
Tile ravel(const Tile& x, Where where = Where::current());
/// Inserts an extent of 1 before dimension `axis` (-rank - 1 … rank).
Tile expand_dims(const Tile& x, int axis, Where where = Where::current());
/// Result dimension i is dimension order[i].
Tile permute(const Tile& x, Extents order, Where where = Where::current());
/// Swaps the last two dimensions, or permutes.
Tile trans(const Tile& x, Where where = Where::current());
Tile trans(const Tile& x, Extents order, Where where = Where::current());
Tile broadcast_to(const Tile& x, Extents shape, Where where = Where::current());
/// Along `axis`; all tiles have one type and agree in the other extents.
Tile cat(std::span<const Tile> tiles, int axis = 0, Where where = Where::current());
Tile cat(std::initializer_list<Tile> tiles, int axis = 0, Where where = Where::current());
Tile cat(const Tile& a, const Tile& b, int axis = 0, Where where = Where::current());
/// Stacks two tiles of one shape (after broadcasting) on a new last dimension of extent 2.
Tile join(const Tile& a, const Tile& b, Where where = Where::current());
/// Undoes join: the last extent must be 2.
std::pair<Tile, Tile> split(const Tile& x, Where where = Where::current());

}  // namespace kernbench::tl
