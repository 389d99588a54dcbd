// Scatter: the root sends each rank its block straight away, a part of as many tiles as a queue has slots to each rank
// in turn, so that all of them receive at the same time.
#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {
namespace {

/// A rank that is s places after the root receives in step s.
void scatter_from_root(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  const auto in_this_launch = [&](std::int64_t step) { return step >= blocks.first_step && step <= blocks.last_step; };
  const BlockParts parts(ranks);
  const BlockRow& mine = blocks.outputs[0];
  if (ranks.rank != arguments.root) {
    const std::int64_t step = (ranks.rank - arguments.root + ranks.size) % ranks.size;
    if (!in_this_launch(step)) return;
    const Pieces& share = of(blocks.received, ranks.rank);
    for (std::int64_t part = 0; part < parts.count({&share, 1}); ++part) {
      parts.for_each_tile_of(share, part, [&](const Piece& at) {
        store(mine, at, receive_from(ranks.part(arguments.root), at, mine.tensor.dtype()));
      });
    }
    return;
  }
  if (blocks.first_step == 1) {
    keep_own(of(blocks.inputs, ranks.rank), mine, of(blocks.sent, ranks.rank), ranks.tile_elements);
  }
  const std::int64_t count = parts.count(blocks.sent);
  for (std::int64_t part = 0; part < count; ++part) {
    for (std::int64_t step = blocks.first_step; step <= blocks.last_step; ++step) {
      const std::int64_t to = ranks.after(step);
      parts.for_each_tile_of(of(blocks.sent, to), part, [&](const Piece& at) {
        send_to(ranks.part(to), load(of(blocks.inputs, to), at), ranks.window);
      });
    }
  }
  finish_sending();
}

}  // namespace

CollectiveAlgorithm direct_scatter() {
  return {.name = "direct_scatter",
          .operation = CollectiveOperation::scatter,
          .topology = kAllPairs,
          .method = "the root sends each rank its block: 1 step",
          .fold_order = "",
          .runs_on = kRunsInRounds,
          .refusal = runs_on_any_group,
          .channels = channels_of_all_pairs,
          .kernel = scatter_from_root,
          .in_rounds = true};
}

}  // namespace kernbench::distributed
