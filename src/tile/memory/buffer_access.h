// Common parts of accesses to TCM buffers: checks, and the places of elements.
#pragma once

#include <vector>

#include "numerics/memory/memory.h"
#include "tile/memory/memory_access.h"
#include "tile/program/buffer_state.h"

namespace kernbench::tile {

/// ValueError for an empty buffer, or another program's.
const BufferState& own_buffer(const AccessCall& call, const tl::Buffer& buffer);
/// ValueError for a box of other dimensions or without elements, OutOfBoundsError for one that leaves the buffer of
/// shape `extents` that `allocated` made.
void check_inside(const AccessCall& call, const tl::Extents& extents, const tl::Where& allocated,
                  const tl::Extents& offsets, const tl::Extents& shape);
void check_inside(const AccessCall& call, const BufferState& buffer, const tl::Extents& offsets,
                  const tl::Extents& shape);
/// ValueError for a shape without elements, or a type that tiles do not have.
void check_buffer(const AccessCall& call, const tl::Extents& shape, DType dtype);
std::vector<numerics::Piece> pieces_of(const BufferAccess& access);

}  // namespace kernbench::tile
