#include "distributed/algorithms/grid.h"

#include "distributed/algorithms/both_ways.h"

namespace kernbench::distributed {

Grid::Grid(std::int64_t ranks) {
  for (std::int64_t candidate = 1; candidate * candidate <= ranks; ++candidate) {
    if (ranks % candidate == 0) rows = candidate;
  }
  columns = ranks / rows;
}

std::vector<RankPair> grid_channels(const GroupShape& ranks) {
  const Grid grid(ranks);
  std::vector<RankPair> channels;
  for (int rank = 0; rank < ranks; ++rank) {
    channels.emplace_back(rank, static_cast<int>(grid.row_of(rank).next()));
    if (grid.rows > 1) channels.emplace_back(rank, static_cast<int>(grid.column_of(rank).next()));
  }
  return channels;
}

std::vector<RankPair> bidirectional_grid_channels(const GroupShape& ranks) {
  return both_ways(grid_channels(ranks));
}

}  // namespace kernbench::distributed
