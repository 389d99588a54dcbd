// Blocks: what a collective moves between ranks when its input and its output are not one tensor. A block is a row of
// elements of a tensor, one for each rank; the PEs of a rank share its elements out among themselves, in the same way
// on all ranks, and each PE talks to its counterparts about its share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernbench/tl.h"
#include "tensor/placement/device_part.h"

namespace kernbench::distributed {

/// Elements of a device tensor that follow each other in row-major order, wherever its placement has put them.
struct BlockRow {
  tl::Tensor tensor;
  std::int64_t offset = 0;  // of the first one in the tensor
  bool is(const BlockRow& other) const {
    return &tensor.descriptor() == &other.tensor.descriptor() && offset == other.offset;
  }
};

/// Some elements of a block, counted from its first: `rows` times `columns` that follow each other, `stride` apart.
struct Piece {
  std::int64_t begin = 0, rows = 1, stride = 0, columns = 0;
  std::int64_t elements() const { return rows * columns; }
  bool operator==(const Piece&) const = default;
};
using Pieces = std::vector<Piece>;

/// What one launch of a collective moves, as the calling PE sees it. Blocks are counted by rank: block r is that of, or
/// for, rank r. Where a rank has one block only, it is the first.
struct BlockArguments {
  std::span<const BlockRow> inputs = {}, outputs = {};
  std::span<const Pieces> sent = {}, received = {};  // the PE's share of each block
  /// Of an algorithm that exchanges with rank r + s in step s: the steps of this launch.
  std::int64_t first_step = 1, last_step = 0;
};

/// The part of a piece that goes in one message.
Piece tile_of(const Piece& piece, std::int64_t number, std::int64_t tile_elements);
std::int64_t tiles_of(const Piece& piece, std::int64_t tile_elements);
std::int64_t tiles_of(const Pieces& pieces, std::int64_t tile_elements);

/// Calls body(tile) for the tiles [first, first + count) of the pieces, as far as there are.
template <class Body>
void for_each_tile(const Pieces& pieces, std::int64_t tile_elements, std::int64_t first, std::int64_t count,
                   const Body& body) {
  std::int64_t before = 0;  // tiles of the pieces so far
  for (const Piece& piece : pieces) {
    const std::int64_t tiles = tiles_of(piece, tile_elements);
    const std::int64_t end = std::min(tiles, first + count - before);
    for (std::int64_t i = std::max<std::int64_t>(0, first - before); i < end; ++i) {
      body(tile_of(piece, i, tile_elements));
    }
    before += tiles;
    if (before >= first + count) return;
  }
}

/// One row: {columns}; else {rows, columns}.
tl::Extents shape_of(const Piece& tile);
tl::Tile load(const BlockRow& block, const Piece& tile);
tl::Tile load(const BlockRow& block, const Piece& tile, const tl::Where& where);
void store(const BlockRow& block, const Piece& tile, const tl::Tile& value);
void store(const BlockRow& block, const Piece& tile, const tl::Tile& value, const tl::Where& where);
/// Waits for the next tile from the counterpart on `part`.
tl::Tile receive_from(const tensor::DevicePart& part, const Piece& tile, DType dtype);

/// The share of a block that stays on its rank goes from one tensor to another; not when it is there already.
void keep_own(const BlockRow& from, const BlockRow& to, const Pieces& pieces, std::int64_t tile_elements);

}  // namespace kernbench::distributed
