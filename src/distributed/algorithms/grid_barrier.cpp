// Barrier on a grid of ranks: signals both ways along the rows, then along the columns. After columns / 2 steps a rank
// has heard of its row, after rows / 2 more of all rows. On a torus of SIPs every signal goes to a neighbour.
#include "distributed/algorithms/barrier_signals.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/grid.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {
namespace {

void signal_on_grid(const RankView& ranks, const CollectiveArguments&) {
  const Grid grid(ranks.size);
  signal_both_ways(ranks, grid.row_of(ranks.rank));
  signal_both_ways(ranks, grid.column_of(ranks.rank));
  finish_sending();
}

std::vector<CostStep> signal_steps(const GroupShape& ranks) {
  const Grid grid(ranks);
  std::vector<CostStep> steps{both_ways_step(ranks, [&](int rank) { return grid.row_of(rank); })};
  if (grid.rows > 1) steps.push_back(both_ways_step(ranks, [&](int rank) { return grid.column_of(rank); }));
  return steps;
}

}  // namespace

CollectiveAlgorithm bidirectional_grid_barrier() {
  return {.name = "bidirectional_grid_barrier",
          .operation = CollectiveOperation::barrier,
          .topology = kBidirectionalGrid,
          .method =
              "signals to both neighbours in the row of the most square grid of ranks, then in the column: columns / 2 "
              "+ rows / 2 steps",
          .fold_order = "",
          .runs_on = kRunsWhereChannelsFit,
          .refusal =
              [](const GroupDescription& group) {
                return more_channels_than_fit(group, bidirectional_grid_channels(group.ranks));
              },
          .channels = bidirectional_grid_channels,
          .kernel = signal_on_grid,
          .steps = signal_steps};
}

}  // namespace kernbench::distributed
