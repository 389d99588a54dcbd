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

/// The boxes of one level by part, written down as in the definition of Placement; absent parts are left out.
inline std::map<int, PlainBox> plain_parts(Placement placement, const PlainBox& whole, int parts) {
  std::map<int, PlainBox> result;
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
                                                               int pes) {
  std::map<std::pair<CubeId, PeId>, PlainBox> boxes;
  if (std::ranges::find(shape, 0) != shape.end()) return boxes;
  const PlainBox whole{std::vector<std::int64_t>(shape.size(), 0), shape};
  for (const auto& [cube, of_cube] : plain_parts(policy.cube, whole, policy.num_cubes == 0 ? cubes : policy.num_cubes))
    for (const auto& [pe, box] : plain_parts(policy.pe, of_cube, policy.num_pes == 0 ? pes : policy.num_pes))
      boxes[{CubeId{cube}, PeId{pe}}] = box;
  return boxes;
}

}  // namespace kernbench::testing
