// All-gather of Bruck: every rank has twice as many blocks after each step, on any number of ranks (Bruck, Ho, Kipnis,
// Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing systems",
// 1997).
//
// In the step of distance d = 1, 2, 4, … < n a rank has its own block and those of the d - 1 ranks before it. It sends
// the first min(d, n - d) of these to the rank d places after it, and receives as many from the one d places before it.
// What comes in is stored where it belongs, and loaded from there in the next step.
#include <algorithm>

#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/bruck.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {
namespace {

void gather_by_doubling(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  const Pieces& share = of(blocks.received, ranks.rank);
  keep_own(blocks.inputs[0], of(blocks.outputs, ranks.rank), share, ranks.tile_elements);
  for (std::int64_t distance = 1; distance < ranks.size; distance *= 2) {
    std::vector<BlockTile> sent, taken;
    const auto append = [&](std::vector<BlockTile>& tiles, std::int64_t block) {
      const BlockRow& row = block == ranks.rank ? blocks.inputs[0] : of(blocks.outputs, block);
      append_tiles(tiles, row, of(blocks.received, block), ranks.tile_elements);
    };
    // Backwards: one place after the other.
    for (std::int64_t i = std::min(distance, ranks.size - distance); i-- > 0;) {
      append(sent, ranks.before(i));
      append(taken, ranks.before(distance + i));
    }
    exchange(ranks, distance, sent, taken);
  }
  finish_sending();
}

std::vector<CostStep> doubling_steps(const GroupShape& ranks) {
  std::vector<CostStep> steps;
  for (int distance = 1; distance < ranks; distance *= 2) {
    const double share = static_cast<double>(std::min(distance, ranks - distance)) / ranks;
    steps.push_back(bruck_step(ranks, distance, share));
    steps.back().through_memory = true;
    steps.back().memory = 2;
  }
  return steps;
}

}  // namespace

CollectiveAlgorithm bruck_all_gather() {
  return {.name = "bruck_all_gather",
          .operation = CollectiveOperation::all_gather,
          .topology = kBruck,
          .method =
              "to the ranks at distances 1, 2, 4, … all blocks so far, the last time those that are missing: "
              "ceil(log2 n) steps",
          .fold_order = "",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = bruck_refusal,
          .channels = bruck_channels,
          .kernel = gather_by_doubling,
          .steps = doubling_steps};
}

}  // namespace kernbench::distributed
