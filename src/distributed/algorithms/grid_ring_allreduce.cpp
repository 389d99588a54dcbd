// All-reduce on a grid of ranks: reduce-scatter along the rows, all-reduce of what that leaves along the columns,
// all-gather along the rows; each a ring. On a torus of SIPs every message goes to a neighbour, and there are
// 2 (columns - 1) + 2 (rows - 1) steps instead of 2 (n - 1).
//
// A prime number of ranks makes one row (grid.h), and the ring of ring_allreduce.
//
// The elements of each shard are cut into a chunk for each column, and each of these into a part for each row. Of chunk
// c, row i is folded to y[i] = ((x[i, c+1] ∘ x[i, c+2]) ∘ …) ∘ x[i, c], then part q of the chunk over the rows,
//   ((y[q+1] ∘ y[q+2]) ∘ …) ∘ y[q]
// (indices modulo columns and rows), from the left, in the tensor's own type (AVG: of x / n; of integers divided in the
// end).
//
// What a ring passes on is bounded as in ring_allreduce; the rings follow each other, and partial results are stored in
// the tensor.
//
// In four ways, a quarter of the PEs does that; the others go along the columns first, in the opposite direction, or
// both. Then all four links of a rank are in use at one time.
#include <algorithm>
#include <array>

#include "distributed/algorithms/both_ways.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/grid.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/own_ranges.h"
#include "distributed/algorithms/ring_pass.h"

namespace kernbench::distributed {
namespace {

/// Over the lines of ranks, one inside the other.
void reduce_over(std::span<const Line> lines, bool backwards, const RankView& ranks,
                 const CollectiveArguments& arguments) {
  std::vector<RingOfParts> rings;
  for (const Line& line : lines) rings.emplace_back(line, ranks, backwards);
  for_each_own_range(arguments, [&](Range shard) {
    reduce_over_rings(rings, *arguments.tensor, arguments.reduction, shard, ranks.size);
  });
  finish_sending();
}

/// The bits of `way`: backwards; columns before rows.
void reduce_on_grid(std::int64_t way, const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  const Grid grid(ranks.size);
  const Line in_row = grid.row_of(ranks.rank), in_column = grid.column_of(ranks.rank);
  const bool columns_first = (way & 2) != 0 && grid.rows > 1;
  const std::array lines{columns_first ? in_column : in_row, columns_first ? in_row : in_column};
  reduce_over(lines, (way & 1) != 0, ranks, arguments);
}

void reduce_one_way(const RankView& ranks, const CollectiveArguments& arguments) {
  reduce_on_grid(0, ranks, arguments);
}

void reduce_four_ways(const RankView& ranks, const CollectiveArguments& arguments) {
  reduce_on_grid(way_of_this_pe(*ranks.machine, 4), ranks, arguments);
}

/// Of a line of so many ranks one way loads all chunks and stores one, and the other one loads one and stores the
/// others: how many in each step.
double touched_in_step(int line) {
  return (line + 0.5) / std::max(1, line - 1);
}

std::vector<CostStep> grid_steps(const GroupShape& ranks) {
  const Grid grid(ranks);
  const auto columns = static_cast<int>(grid.columns), rows = static_cast<int>(grid.rows);
  CostStep along_rows{.share = 1.0 / columns, .times = columns - 1},
      along_columns{.share = 1.0 / ranks, .times = rows - 1};
  for (int rank = 0; rank < ranks; ++rank) {
    along_rows.messages.push_back({rank, rank / columns * columns + (rank + 1) % columns});
    along_columns.messages.push_back({rank, (rank + columns) % ranks});
  }
  along_rows.memory = touched_in_step(columns);
  along_columns.memory = touched_in_step(rows);
  // There and back; each of the four passes begins with what the one before has stored.
  CostStep turn{.messages = {},
                .share = (2.0 / columns + 1.0 / ranks) / 3,
                .latencies = 0,
                .times = rows > 1 ? 3 : 1,
                .through_memory = true};
  if (rows == 1) return {along_rows, along_rows, turn};
  return {along_rows, along_columns, along_columns, along_rows, turn};
}

/// Of the four ways two begin along the columns, so that all links are in use. The steps of the longer lines set the
/// pace; where the lines are of one length, no link is used by two ways at a time.
std::vector<CostStep> four_way_steps(const GroupShape& ranks) {
  const Grid grid(ranks);
  if (grid.rows == 1) {
    std::vector<CostStep> steps = grid_steps(ranks);
    for (CostStep& step : steps) step = both_ways(step);
    return steps;
  }
  const auto columns = static_cast<int>(grid.columns), rows = static_cast<int>(grid.rows);
  const auto phase = [&](double in_row, double in_column) {
    CostStep step{.share = 0.5, .times = std::max(rows, columns) - 1};
    const auto pace = static_cast<double>(step.times);
    step.memory = (in_row * (columns + 0.5) + in_column * (rows + 0.5)) / pace;
    for (int rank = 0; rank < ranks; ++rank) {
      step.messages.push_back({rank, rank / columns * columns + (rank + 1) % columns, in_row * (columns - 1) / pace});
      step.messages.push_back({rank, (rank + columns) % ranks, in_column * (rows - 1) / pace, 1});
    }
    return both_ways(step);
  };
  const CostStep first = phase(1.0 / columns, 1.0 / rows), second = phase(1.0 / ranks, 1.0 / ranks);
  const CostStep turn{.messages = {},
                      .share = (1.0 / columns + 1.0 / rows + 1.0 / ranks) / 3,
                      .latencies = 0,
                      .times = 3,
                      .through_memory = true};
  return {first, second, second, first, turn};
}

std::string grid_refusal(const GroupDescription& group) {
  return more_channels_than_fit(group, grid_channels(group.ranks));
}

}  // namespace

CollectiveAlgorithm grid_ring_allreduce() {
  return {.name = "grid_ring_allreduce",
          .operation = CollectiveOperation::all_reduce,
          .topology = kGrid,
          .method = "rings along the rows and columns of the most square grid of ranks, 2(rows + columns - 2) steps",
          .fold_order = "as `ring_allreduce` along each row, then its results along each column",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = grid_refusal,
          .channels = grid_channels,
          .kernel = reduce_one_way,
          .steps = grid_steps,
          .in_parts = true};
}

CollectiveAlgorithm bidirectional_grid_allreduce() {
  return {.name = "bidirectional_grid_allreduce",
          .operation = CollectiveOperation::all_reduce,
          .topology = kBidirectionalGrid,
          .method = "four of the grid's rings, each of a quarter of the PEs: rows or columns first, in both directions",
          .fold_order =
              "as `grid_ring_allreduce`; by the PE's row of the mesh modulo 4, of 1 and 3 with the ranks of "
              "each line in the opposite order, of 2 and 3 along the columns first",
          .runs_on = kRunsOnSipsOfSeveralPes,
          .refusal =
              [](const GroupDescription& group) {
                return both_ways_refusal(group, bidirectional_grid_channels(group.ranks), "grid_ring_allreduce");
              },
          .channels = bidirectional_grid_channels,
          .kernel = reduce_four_ways,
          .steps = four_way_steps,
          .in_parts = true};
}

}  // namespace kernbench::distributed
