// Pieces of a tensor behind translation: cut where they go from one slice to another.
#pragma once

#include <algorithm>
#include <cstdint>

#include "addressing/locate.h"
#include "addressing/page_table.h"

namespace kernbench::addressing {

/// How many rows of the piece from `row` on lie in the granule in which that one begins; at least 1.
inline std::int64_t rows_in_granule(const ShardPiece& piece, std::uint64_t address, std::int64_t row,
                                    std::int64_t granule) {
  const std::int64_t left = granule - static_cast<std::int64_t>(address % static_cast<std::uint64_t>(granule));
  if (piece.row_bytes > left || piece.stride <= 0) return 1;
  return std::min(piece.rows - row, (left - piece.row_bytes) / piece.stride + 1);
}

/// visit(ShardPiece, Translation) for the parts of a piece that each lie in one slice, by granule; the piece itself
/// where no region lies behind its translation. `target` is where the piece's first byte leads.
template <class Visit>
void for_each_place(const ShardPiece& piece, const Translation& target, const Visit& visit) {
  if (!target.region) return visit(piece, target);
  const std::int64_t granule = target.region->how().granule.count();
  for (std::int64_t row = 0; row < piece.rows;) {
    const std::uint64_t address = target.address + static_cast<std::uint64_t>(row * piece.stride);
    ShardPiece part = piece;
    part.rows = rows_in_granule(piece, address, row, granule);
    part.va = piece.va + static_cast<std::uint64_t>(row * piece.stride);
    part.box_offset = piece.box_offset + row * piece.box_stride;
    if (part.rows == 1) part.stride = part.box_stride = 0;
    row += part.rows;
    target.region->for_each_granule(address, part.rows == 1 ? piece.row_bytes : 1,
                                    [&](const SliceAddress& place, std::int64_t length) {
                                      part.slice = place.slice;
                                      if (part.rows == 1) part.row_bytes = length;
                                      visit(part, Translation{.slice = place.slice, .address = place.address});
                                      part.va += static_cast<std::uint64_t>(length);
                                      part.box_offset += length;
                                    });
  }
}

/// Rows in one slice; what a leg of a transfer has of a piece.
struct PlacedRows {
  SliceAddress first;
  std::int64_t rows = 1, row_bytes = 0, stride = 0;
};

/// visit(PlacedRows) for the same parts; granules of a long row that follow each other in one slice are rows of one
/// visit.
template <class Visit>
void for_each_rows(const ShardPiece& piece, const Translation& target, const Visit& visit) {
  if (!target.region)
    return visit(PlacedRows{{target.slice, target.address}, piece.rows, piece.row_bytes, piece.stride});
  const std::int64_t granule = target.region->how().granule.count();
  for (std::int64_t row = 0; row < piece.rows;) {
    const std::uint64_t address = target.address + static_cast<std::uint64_t>(row * piece.stride);
    const std::int64_t together = rows_in_granule(piece, address, row, granule);
    row += together;
    if (together > 1) {
      visit(PlacedRows{target.region->decode(address), together, piece.row_bytes, piece.stride});
      continue;
    }
    target.region->for_each_run(address, piece.row_bytes,
                                [&](const SliceAddress& place, std::int64_t rows, std::int64_t row_bytes) {
                                  visit(PlacedRows{place, rows, row_bytes, rows == 1 ? 0 : granule});
                                });
  }
}

}  // namespace kernbench::addressing
