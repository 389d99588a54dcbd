#include "tile/memory/access.h"

#include <algorithm>

namespace kernbench::tile {

void append_leg(std::vector<hardware::DmaLeg>& legs, const addressing::ShardPiece& piece,
                const addressing::Translation& target) {
  auto leg = std::ranges::find(legs, target.slice, &hardware::DmaLeg::slice);
  if (leg == legs.end()) leg = legs.insert(leg, {target.slice, {}});
  leg->ranges.push_back({target.address, piece.rows, Bytes(piece.row_bytes), piece.stride});
}

numerics::Piece data_piece(const Environment& environment, const addressing::ShardPiece& piece,
                           const addressing::Translation& target, std::int64_t item) {
  return {.memory = &environment.bytes.slice(target.slice),
          .address = target.address,
          .rows = piece.rows,
          .row_bytes = piece.row_bytes,
          .stride = piece.stride,
          .offset = piece.box_offset / item,
          .row_stride = piece.box_stride / item};
}

}  // namespace kernbench::tile
