#include "distributed/algorithms/blocks.h"

#include <limits>

#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

namespace {

/// Rows of a tile; 1: a part of one row.
std::int64_t rows_of_tile(const Piece& piece, std::int64_t tile_elements) {
  return std::max<std::int64_t>(1, tile_elements / piece.columns);
}

tl::Extents strides_of(const Piece& tile) {
  if (tile.rows == 1) return {1};
  return {tile.stride, 1};
}

}  // namespace

std::int64_t tiles_of(const Piece& piece, std::int64_t tile_elements) {
  if (piece.columns > tile_elements) return piece.rows * tl::cdiv(piece.columns, tile_elements);
  return tl::cdiv(piece.rows, rows_of_tile(piece, tile_elements));
}

Piece tile_of(const Piece& piece, std::int64_t number, std::int64_t tile_elements) {
  if (piece.columns > tile_elements) {
    const std::int64_t tiles = tl::cdiv(piece.columns, tile_elements);
    const std::int64_t row = number / tiles, column = number % tiles * tile_elements;
    return {piece.begin + row * piece.stride + column, 1, 0, std::min(tile_elements, piece.columns - column)};
  }
  const std::int64_t rows = rows_of_tile(piece, tile_elements), first = number * rows;
  return {piece.begin + first * piece.stride, std::min(rows, piece.rows - first), piece.stride, piece.columns};
}

std::int64_t tiles_of(const Pieces& pieces, std::int64_t tile_elements) {
  std::int64_t tiles = 0;
  for (const Piece& piece : pieces) tiles += tiles_of(piece, tile_elements);
  return tiles;
}

tl::Extents shape_of(const Piece& tile) {
  if (tile.rows == 1) return {tile.columns};
  return {tile.rows, tile.columns};
}

tl::Tile load(const BlockRow& block, const Piece& tile) {
  return tl::load(block.tensor.data_ptr() + (block.offset + tile.begin), shape_of(tile), strides_of(tile));
}

void store(const BlockRow& block, const Piece& tile, const tl::Tile& value) {
  tl::store(block.tensor.data_ptr() + (block.offset + tile.begin), strides_of(tile), value);
}

tl::Tile load(const BlockRow& block, const Piece& tile, const tl::Where& where) {
  return tl::load(block.tensor.data_ptr() + (block.offset + tile.begin), shape_of(tile), strides_of(tile), {}, where);
}

void store(const BlockRow& block, const Piece& tile, const tl::Tile& value, const tl::Where& where) {
  tl::store(block.tensor.data_ptr() + (block.offset + tile.begin), strides_of(tile), value, {}, where);
}

tl::Tile receive_from(const tensor::DevicePart& part, const Piece& tile, DType dtype) {
  return tl::recv(dtype, shape_of(tile), counterpart_on(part));
}

void keep_own(const BlockRow& from, const BlockRow& to, const Pieces& pieces, std::int64_t tile_elements) {
  if (from.is(to)) return;
  for_each_tile(pieces, tile_elements, 0, std::numeric_limits<std::int64_t>::max(),
                [&](const Piece& tile) { store(to, tile, load(from, tile)); });
}

}  // namespace kernbench::distributed
