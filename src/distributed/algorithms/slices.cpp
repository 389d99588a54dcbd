#include "distributed/algorithms/slices.h"

#include <algorithm>

#include "kernbench/tl.h"

namespace kernbench::distributed {
namespace {

/// Of one piece: the rest of its first row, whole rows, the beginning of the last row.
void append_slice(const Piece& piece, std::int64_t begin, std::int64_t end, Pieces& into) {
  while (begin < end) {
    const std::int64_t row = begin / piece.columns, column = begin % piece.columns;
    const std::int64_t at = piece.begin + row * piece.stride + column;
    const std::int64_t whole = column == 0 ? (end - begin) / piece.columns : 0;
    if (whole > 0) {
      into.push_back({at, whole, whole == 1 ? 0 : piece.stride, piece.columns});
      begin += whole * piece.columns;
      continue;
    }
    const std::int64_t columns = std::min(piece.columns - column, end - begin);
    into.push_back({at, 1, 0, columns});
    begin += columns;
  }
}

}  // namespace

std::int64_t elements_of(const Pieces& pieces) {
  std::int64_t elements = 0;
  for (const Piece& piece : pieces) elements += piece.elements();
  return elements;
}

Pieces slice_of(const Pieces& pieces, std::int64_t begin, std::int64_t end) {
  Pieces slice;
  std::int64_t before = 0;
  for (const Piece& piece : pieces) {
    const std::int64_t elements = piece.elements();
    append_slice(piece, std::max<std::int64_t>(0, begin - before), std::min(elements, end - before), slice);
    before += elements;
  }
  return slice;
}

Pieces part_of(const Pieces& pieces, std::int64_t index, std::int64_t count) {
  const std::int64_t all = elements_of(pieces), each = tl::cdiv(all, count);
  return slice_of(pieces, std::min(all, index * each), std::min(all, (index + 1) * each));
}

}  // namespace kernbench::distributed
