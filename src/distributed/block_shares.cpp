#include "distributed/block_shares.h"

#include <algorithm>

#include "base/fingerprint.h"

namespace kernbench::distributed {

using addressing::Shard;
using addressing::TensorDescriptor;

namespace {

std::int64_t elements_of(const Shard& shard) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shard.shape) elements *= extent;
  return elements;
}

/// The elements of a shard in the tensor's row-major order. A placement may cut any dimension: what the last ones have
/// whole follows each other, as a column's, and dimensions that lie at one distance are one count of rows.
Pieces rows_of(const TensorDescriptor& tensor, const Shard& shard) {
  struct Loop {
    std::int64_t extent, stride;
  };
  std::vector<Loop> loops;  // the inner ones first
  std::int64_t first = 0, columns = 1, stride = 1;
  bool whole = true;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    const std::int64_t extent = shard.shape[i];
    first += shard.offset[i] * stride;
    if (whole) {
      columns *= extent;
    } else if (!loops.empty() && loops.back().extent * loops.back().stride == stride) {
      loops.back().extent *= extent;
    } else if (extent != 1) {
      loops.push_back({extent, stride});
    }
    whole = whole && extent == tensor.shape[i];
    stride *= tensor.shape[i];
  }
  const Loop rows = loops.empty() ? Loop{1, 0} : loops.front();
  Pieces pieces{{first, rows.extent, rows.stride, columns}};
  for (std::size_t i = 1; i < loops.size(); ++i) {
    const std::size_t inner = pieces.size();
    for (std::int64_t step = 1; step < loops[i].extent; ++step) {
      for (std::size_t k = 0; k < inner; ++k) {
        pieces.push_back(pieces[k]);
        pieces.back().begin += step * loops[i].stride;
      }
    }
  }
  return pieces;
}

void append(Pieces& pieces, const Piece& piece) {
  if (piece.rows < 1 || piece.columns < 1) return;
  pieces.push_back(piece.rows == 1 ? Piece{piece.begin, 1, 0, piece.columns} : piece);
}

/// What of the rows lies in [low, high), counted from `low`: rows that are cut stand for themselves.
void append_part(const Piece& rows, std::int64_t low, std::int64_t high, Pieces& pieces) {
  const std::int64_t stride = rows.rows == 1 ? rows.columns : rows.stride;
  const auto begin_of = [&](std::int64_t row) { return rows.begin + row * stride; };
  std::int64_t first = std::max<std::int64_t>(0, (low - rows.begin) / stride);
  while (first < rows.rows && begin_of(first) + rows.columns <= low) ++first;
  std::int64_t end = rows.rows;
  if (begin_of(end - 1) >= high) end = std::max<std::int64_t>(0, tl::cdiv(high - rows.begin, stride));
  const auto append_row = [&](std::int64_t row) {
    const std::int64_t begin = std::max(begin_of(row), low), stop = std::min(begin_of(row) + rows.columns, high);
    append(pieces, {begin - low, 1, 0, stop - begin});
  };
  if (first >= end) return;
  if (begin_of(first) < low || end - first == 1) append_row(first++);
  if (first >= end) return;
  const bool last_is_cut = begin_of(end - 1) + rows.columns > high;
  const std::int64_t whole = end - first - (last_is_cut ? 1 : 0);
  append(pieces, {begin_of(first) - low, whole, stride, rows.columns});
  if (last_is_cut) append_row(end - 1);
}

}  // namespace

Pieces& BlockShares::share(PeCoordinate pe, std::size_t block) {
  return shares_.try_emplace(pe, none_).first->second[block];
}

void BlockShares::add_held(std::size_t block, const BlockPlace& place) {
  for (const Shard& shard : place.tensor->shards) {
    if (elements_of(shard) == 0) continue;
    Pieces pieces;
    for (const Piece& rows : rows_of(*place.tensor, shard)) {
      append_part(rows, place.offset, place.offset + place.elements, pieces);
    }
    if (pieces.empty()) continue;
    Pieces& mine = share(shard.owner, block);
    mine.insert(mine.end(), pieces.begin(), pieces.end());
  }
}

void BlockShares::add_even(std::size_t block, std::span<const PeCoordinate> pes, std::int64_t elements) {
  const auto count = static_cast<std::int64_t>(pes.size());
  const std::int64_t part = tl::cdiv(elements, count);
  for (std::int64_t i = 0; i < count && i * part < elements; ++i) {
    share(pes[static_cast<std::size_t>(i)], block).push_back({i * part, 1, 0, std::min(part, elements - i * part)});
  }
}

std::span<const Pieces> BlockShares::of(PeCoordinate pe) const {
  const auto found = shares_.find(pe);
  return found == shares_.end() ? none_ : found->second;
}

std::vector<PeCoordinate> BlockShares::pes() const {
  std::vector<PeCoordinate> pes;
  for (const auto& [pe, shares] : shares_) pes.push_back(pe);
  return pes;
}

std::uint64_t BlockShares::fingerprint(bool pes) const {
  Fingerprint hash;
  const auto add = [&](std::int64_t value) { hash.add(static_cast<std::uint64_t>(value)); };
  for (const auto& [pe, shares] : shares_) {
    if (pes) add(pe.cube.value), add(pe.pe.value);
    for (std::size_t block = 0; block < shares.size(); ++block) {
      for (const Piece& piece : shares[block]) {
        for (const std::int64_t value :
             {static_cast<std::int64_t>(block), piece.begin, piece.rows, piece.stride, piece.columns}) {
          add(value);
        }
      }
    }
  }
  return hash.value();
}

bool has_replicas(const TensorDescriptor& tensor) {
  std::int64_t held = 0;
  for (const Shard& shard : tensor.shards) held += elements_of(shard);
  return held > tensor.numel();
}

}  // namespace kernbench::distributed
