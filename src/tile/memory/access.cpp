#include "tile/memory/access.h"

#include <algorithm>

#include "addressing/interleaved_places.h"

namespace kernbench::tile {

void append_leg(std::vector<hardware::DmaLeg>& legs, const addressing::ShardPiece& piece,
                const addressing::Translation& target) {
  for_each_rows(piece, target, [&](const addressing::PlacedRows& rows) {
    auto leg = std::ranges::find(legs, rows.first.slice, &hardware::DmaLeg::slice);
    if (leg == legs.end()) leg = legs.insert(leg, {rows.first.slice, {}});
    leg->ranges.push_back({rows.first.address, rows.rows, Bytes(rows.row_bytes), rows.stride});
  });
}

numerics::Piece data_piece(numerics::Memory& memory, std::uint64_t address, const addressing::ShardPiece& piece,
                           std::int64_t item) {
  return {.memory = &memory,
          .address = address,
          .rows = piece.rows,
          .row_bytes = piece.row_bytes,
          .stride = piece.stride,
          .offset = piece.box_offset / item,
          .row_stride = piece.box_stride / item};
}

void append_data(std::vector<numerics::Piece>& pieces, const Environment& environment,
                 const addressing::ShardPiece& piece, const addressing::Translation& target, std::int64_t item) {
  for_each_place(piece, target, [&](const addressing::ShardPiece& part, const addressing::Translation& place) {
    pieces.push_back(data_piece(environment.bytes.slice(place.slice), place.address, part, item));
  });
}

}  // namespace kernbench::tile
