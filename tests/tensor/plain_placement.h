// Where a policy puts a tensor, worked out from the words of Placement alone: a reference for resolve_dp_policy and for
// all that stands on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "kernbench/coordinates.h"
#include "kernbench/placement.h"

namespace kernbench::testing {

/// What torch::chunk does: pieces of ceil(extent / parts) until nothing is left.
inline std::vector<std::pair<std::int64_t, std::int64_t>> chunk(std::int64_t extent, std::int64_t parts) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  std::int64_t size = 0;
  while (size * parts < extent) ++size;
  for (std::int64_t begin = 0; begin < extent; begin += size)
    pieces.emplace_back(begin, std::min(size, extent - begin));
  return pieces;
}

struct PlainBox {
  std::vector<std::int64_t> offset, shape;
};

/// Every way to cut the dimensions from `cuts.size()` on into at most `parts` parts.
inline void all_cuts(const PlainBox& whole, std::int64_t parts, std::vector<std::int64_t> cuts,
                     std::vector<std::vector<std::int64_t>>& all) {
  if (cuts.size() == whole.shape.size()) {
    all.push_back(cuts);
    return;
  }
  cuts.push_back(0);
  for (cuts.back() = 1; cuts.back() <= parts; ++cuts.back()) all_cuts(whole, parts / cuts.back(), cuts, all);
}

/// Placement::balanced, by trying every grid.
inline std::map<int, PlainBox> balanced_parts(const PlainBox& whole, int parts, int itemsize) {
  if (whole.shape.empty()) return {{0, whole}};
  const std::size_t last = whole.shape.size() - 1;
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < last; ++d) rows *= whole.shape[d];
  std::vector<std::vector<std::int64_t>> all;
  all_cuts(whole, parts, {}, all);
  std::vector<std::int64_t> best;
  std::int64_t least = 0;
  for (const auto& cuts : all) {
    bool fits = last == 0 || cuts[last] == 1 || (rows < parts && whole.shape[last] / cuts[last] * itemsize >= 64);
    std::int64_t fullest = 1;
    for (std::size_t d = 0; d <= last; ++d) {
      fits = fits && cuts[d] <= whole.shape[d];
      fullest *= (whole.shape[d] + cuts[d] - 1) / cuts[d];
    }
    if (!fits || (!best.empty() && (fullest > least || (fullest == least && cuts < best)))) continue;
    best = cuts;
    least = fullest;
  }
  std::map<int, PlainBox> result;
  std::vector<std::int64_t> place(last + 1, 0);
  for (int part = 0;; ++part) {
    PlainBox box = whole;
    for (std::size_t d = 0; d <= last; ++d) {
      std::int64_t begin = 0;
      for (std::int64_t piece = 0; piece <= place[d]; ++piece) {
        const std::int64_t size = whole.shape[d] / best[d] + (piece < whole.shape[d] % best[d] ? 1 : 0);
        if (piece == place[d]) box.offset[d] += begin, box.shape[d] = size;
        begin += size;
      }
    }
    result[part] = box;
    std::size_t d = last + 1;
    while (d > 0 && ++place[d - 1] == best[d - 1]) place[--d] = 0;
    if (d == 0) return result;
  }
}

/// The boxes of one level by part, written down as in the definition of Placement; absent parts are left out.
inline std::map<int, PlainBox> plain_parts(Placement placement, const PlainBox& whole, int parts, int itemsize) {
  std::map<int, PlainBox> result;
  if (placement == Placement::balanced) return balanced_parts(whole, parts, itemsize);
  if (placement == Placement::replicate) {
    for (int part = 0; part < parts; ++part) result[part] = whole;
    return result;
  }
  const auto narrow = [](PlainBox box, std::size_t dimension, std::pair<std::int64_t, std::int64_t> piece) {
    box.offset[dimension] += piece.first;
    box.shape[dimension] = piece.second;
    return box;
  };
  if (whole.shape.empty()) return {{0, whole}};  // a scalar is one row
  const std::size_t last = whole.shape.size() - 1;
  if (placement == Placement::row_wise || placement == Placement::column_wise || last == 0) {
    const std::size_t dimension = placement == Placement::row_wise ? 0 : last;
    const auto pieces = chunk(whole.shape[dimension], parts);
    for (std::size_t i = 0; i < pieces.size(); ++i) result[static_cast<int>(i)] = narrow(whole, dimension, pieces[i]);
    return result;
  }
  int rows = parts;
  while (rows * rows > parts || parts % rows != 0) --rows;
  const int columns = parts / rows;
  const auto tall = chunk(whole.shape[0], rows), wide = chunk(whole.shape[last], columns);
  for (std::size_t row = 0; row < tall.size(); ++row)
    for (std::size_t column = 0; column < wide.size(); ++column) {
      const auto y = static_cast<int>(row), x = static_cast<int>(column);
      const int part = placement == Placement::tiled_row_major ? y * columns + x : x * rows + y;
      result[part] = narrow(narrow(whole, 0, tall[row]), last, wide[column]);
    }
  return result;
}

/// What each PE of a SIP with so many cubes and PEs holds; PEs without elements are left out.
inline std::map<std::pair<CubeId, PeId>, PlainBox> plain_boxes(const DPPolicy& policy,
                                                               const std::vector<std::int64_t>& shape, int cubes,
                                                               int pes, int itemsize) {
  std::map<std::pair<CubeId, PeId>, PlainBox> boxes;
  if (std::ranges::find(shape, 0) != shape.end()) return boxes;
  const PlainBox whole{std::vector<std::int64_t>(shape.size(), 0), shape};
  for (const auto& [cube, of_cube] :
       plain_parts(policy.cube, whole, policy.num_cubes == 0 ? cubes : policy.num_cubes, itemsize))
    for (const auto& [pe, box] : plain_parts(policy.pe, of_cube, policy.num_pes == 0 ? pes : policy.num_pes, itemsize))
      boxes[{CubeId{cube}, PeId{pe}}] = box;
  return boxes;
}

}  // namespace kernbench::testing
