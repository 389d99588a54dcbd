// Gather: each rank sends its block straight to the root, which takes a part of as many tiles as a queue has slots from
// each rank in turn, so that all of them send at the same time.
#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {
namespace {

/// A rank that is s places before the root sends in step s.
void gather_at_root(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  const auto in_this_launch = [&](std::int64_t step) { return step >= blocks.first_step && step <= blocks.last_step; };
  const BlockParts parts(ranks);
  const BlockRow& mine = blocks.inputs[0];
  if (ranks.rank != arguments.root) {
    const std::int64_t step = (arguments.root - ranks.rank + ranks.size) % ranks.size;
    if (!in_this_launch(step)) return;
    const Pieces& share = of(blocks.sent, ranks.rank);
    for (std::int64_t part = 0; part < parts.count({&share, 1}); ++part) {
      parts.for_each_tile_of(
          share, part, [&](const Piece& at) { send_to(ranks.part(arguments.root), load(mine, at), ranks.window); });
    }
    return finish_sending();
  }
  if (blocks.first_step == 1) {
    keep_own(mine, of(blocks.outputs, ranks.rank), of(blocks.sent, ranks.rank), ranks.tile_elements);
  }
  const std::int64_t count = parts.count(blocks.received);
  for (std::int64_t part = 0; part < count; ++part) {
    for (std::int64_t step = blocks.first_step; step <= blocks.last_step; ++step) {
      const std::int64_t from = ranks.before(step);
      parts.for_each_tile_of(of(blocks.received, from), part, [&](const Piece& at) {
        store(of(blocks.outputs, from), at, receive_from(ranks.part(from), at, mine.tensor.dtype()));
      });
    }
  }
}

}  // namespace

CollectiveAlgorithm direct_gather() {
  return {.name = "direct_gather",
          .operation = CollectiveOperation::gather,
          .topology = kAllPairs,
          .method = "each rank sends its block to the root: 1 step",
          .fold_order = "",
          .runs_on = kRunsInRounds,
          .refusal = runs_on_any_group,
          .channels = channels_of_all_pairs,
          .kernel = gather_at_root,
          .in_rounds = true};
}

}  // namespace kernbench::distributed
