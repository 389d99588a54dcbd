// Barrier by direct exchange: each rank signals all others, and hears of them.
#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/barrier_signals.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {
namespace {

void signal_all(const RankView& ranks, const CollectiveArguments&) {
  for (std::int64_t distance = 1; distance < ranks.size; ++distance) signal(ranks, ranks.after(distance));
  for (std::int64_t distance = 1; distance < ranks.size; ++distance) hear(ranks, ranks.before(distance));
  finish_sending();
}

}  // namespace

CollectiveAlgorithm direct_barrier() {
  return {.name = "direct_barrier",
          .operation = CollectiveOperation::barrier,
          .topology = kAllPairs,
          .method = "each rank signals all others: 1 step",
          .fold_order = "",
          .runs_on = kRunsWhereAllPairsFit,
          .refusal = all_pairs_refusal,
          .channels = channels_of_all_pairs,
          .kernel = signal_all,
          .steps = [](const GroupShape& ranks) { return std::vector{all_pairs_step(ranks, 0)}; }};
}

}  // namespace kernbench::distributed
