// What the algorithms on a grid of ranks have in common: each rank talks to its neighbours in its row and column.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

inline constexpr std::string_view kGrid = "grid_2d";
inline constexpr std::string_view kBidirectionalGrid = "bidirectional_grid";

/// The most square grid of n ranks, not taller than wide, rank r in row r / columns: the SIPs of a torus_2d without a
/// mesh of its own. A prime number makes one row.
struct Grid {
  explicit Grid(std::int64_t ranks);
  /// The line through a rank along its row, and along its column.
  Line row_of(std::int64_t rank) const { return {rank / columns * columns, 1, columns, rank % columns}; }
  Line column_of(std::int64_t rank) const { return {rank % columns, columns, rows, rank / columns}; }

  std::int64_t rows = 1, columns = 1;
};

/// To the next rank of the row and of the column, and around.
std::vector<RankPair> grid_channels(const GroupShape& ranks);
/// To those before as well.
std::vector<RankPair> bidirectional_grid_channels(const GroupShape& ranks);

}  // namespace kernbench::distributed
