// Barrier on a tree, the first of the two of double_tree_allreduce, over the channels of both: signals go up from the
// leaves, and down from the root, which has heard of all ranks then.
#include "distributed/algorithms/barrier_signals.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/double_tree.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {
namespace {

void signal_up_and_down(const RankView& ranks, const CollectiveArguments&) {
  const TreePlace place = first_tree(static_cast<int>(ranks.size), static_cast<int>(ranks.rank));
  for (const int child : place.children) {
    if (child >= 0) hear(ranks, child);
  }
  if (place.parent >= 0) {
    signal(ranks, place.parent);
    hear(ranks, place.parent);
  }
  for (const int child : place.children) {
    if (child >= 0) signal(ranks, child);
  }
  finish_sending();
}

std::vector<CostStep> tree_steps(const GroupShape& ranks) {
  std::vector<CostStep> steps = levels_of_tree(first_tree, ranks, true);
  for (CostStep& step : levels_of_tree(first_tree, ranks, false)) steps.push_back(std::move(step));
  return steps;
}

}  // namespace

CollectiveAlgorithm tree_barrier() {
  return {.name = "tree_barrier",
          .operation = CollectiveOperation::barrier,
          .topology = kDoubleTree,
          .method = "signals up a binary tree and down again: 2 log2(n) steps",
          .fold_order = "",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = double_tree_refusal,
          .channels = double_tree_channels,
          .kernel = signal_up_and_down,
          .steps = tree_steps};
}

}  // namespace kernbench::distributed
