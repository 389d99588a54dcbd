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

void append_data(std::vector<numerics::Piece>& pieces, const Environment& environment,
                 const addressing::ShardPiece& piece, const addressing::Translation& target, std::int64_t item) {
  for_each_place(piece, target, [&](const addressing::ShardPiece& part, const addressing::Translation& place) {
    pieces.push_back({.memory = &environment.bytes.slice(place.slice),
                      .address = place.address,
                      .rows = part.rows,
                      .row_bytes = part.row_bytes,
                      .stride = part.stride,
                      .offset = part.box_offset / item,
                      .row_stride = part.box_stride / item});
  });
}

}  // namespace kernbench::tile
