// All-to-all by pairs: in step s, from 1 to n - 1, each rank sends to the rank s places after it and receives from the
// one s places before it. Every element goes once, straight to its rank.
//
// Of each block as many tiles at a time as a queue has slots. In the order S(1), R(1), S(2), R(2), … of the sends and
// receives of the steps of a part, and of the parts after each other, everything waits for earlier things of all ranks
// only: a send for slots that the receive of the part before has emptied, a receive for its send. Meanwhile credits of
// one step come back beside the messages of others. Of two ranks there are no others: they take one tile for each that
// they send, once all slots are full, so that a credit is used when it comes.
#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/bruck.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {
namespace {

/// The only step of a launch.
void exchange_in_one_step(const RankView& ranks, const BlockArguments& blocks) {
  const std::int64_t step = blocks.first_step, to = ranks.after(step), from = ranks.before(step);
  std::vector<BlockTile> sent, taken;
  append_tiles(sent, of(blocks.inputs, to), of(blocks.sent, to), ranks.tile_elements);
  append_tiles(taken, of(blocks.outputs, from), of(blocks.received, from), ranks.tile_elements);
  exchange(ranks, step, sent, taken);
  finish_sending();
}

void exchange_pairwise(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  if (blocks.first_step == 1) {
    keep_own(of(blocks.inputs, ranks.rank), of(blocks.outputs, ranks.rank), of(blocks.sent, ranks.rank),
             ranks.tile_elements);
  }
  if (blocks.first_step == blocks.last_step) return exchange_in_one_step(ranks, blocks);
  const DType dtype = blocks.inputs[0].tensor.dtype();
  const BlockParts parts(ranks);
  const std::int64_t count = std::max(parts.count(blocks.sent), parts.count(blocks.received));
  for (std::int64_t part = 0; part < count; ++part) {
    for (std::int64_t step = blocks.first_step; step <= blocks.last_step; ++step) {
      const std::int64_t to = ranks.after(step), from = ranks.before(step);
      parts.for_each_tile_of(of(blocks.sent, to), part, [&](const Piece& at) {
        send_to(ranks.part(to), load(of(blocks.inputs, to), at), ranks.window);
      });
      parts.for_each_tile_of(of(blocks.received, from), part, [&](const Piece& at) {
        store(of(blocks.outputs, from), at, receive_from(ranks.part(from), at, dtype));
      });
    }
  }
  finish_sending();
}

std::vector<CostStep> pairwise_steps(const GroupShape& ranks) {
  std::vector<CostStep> steps;
  for (int distance = 1; distance < ranks; ++distance) {
    steps.push_back({.share = 1.0 / ranks.ranks, .loaded = true, .memory = 2});
    for (int rank = 0; rank < ranks; ++rank) steps.back().messages.push_back({rank, (rank + distance) % ranks});
  }
  return steps;
}

}  // namespace

CollectiveAlgorithm pairwise_all_to_all() {
  return {.name = "pairwise_all_to_all",
          .operation = CollectiveOperation::all_to_all,
          .topology = kAllPairs,
          .method = "n - 1 steps: in step s to the rank s places after, from the rank s places before",
          .fold_order = "",
          .runs_on = kRunsInRounds,
          .refusal = runs_on_any_group,
          .channels = channels_of_all_pairs,
          .kernel = exchange_pairwise,
          .steps = pairwise_steps,
          .in_rounds = true};
}

}  // namespace kernbench::distributed
