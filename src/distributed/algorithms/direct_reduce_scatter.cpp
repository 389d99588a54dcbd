// Reduce-scatter by direct exchange: every rank sends each other one its block, and folds its own:
//   ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]          (indices modulo n, c its number)
// from the left, in the tensor's own type (AVG: of x / n; of integers divided in the end): the order of
// ring_reduce_scatter, and so its bits. Parts of blocks are as in direct_all_gather.
#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/reduction.h"

namespace kernbench::distributed {
namespace {

void reduce_scatter_directly(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  const auto op = arguments.reduction;
  if (ranks.size == 1) return keep_own(blocks.inputs[0], blocks.outputs[0], blocks.sent[0], ranks.tile_elements);
  const BlockRow& own = of(blocks.inputs, ranks.rank);
  const DType dtype = own.tensor.dtype();
  const BlockParts parts(ranks);
  const std::int64_t count = parts.count(blocks.sent);
  for (std::int64_t part = 0; part < count; ++part) {
    for_each_distance(ranks, [&](std::int64_t distance) {
      const std::int64_t to = ranks.after(distance);
      parts.for_each_tile_of(of(blocks.sent, to), part, [&](const Piece& at) {
        send_to(ranks.part(to), contribution(op, load(of(blocks.inputs, to), at), ranks.size), ranks.window);
      });
    });
    parts.for_each_tile_of(of(blocks.sent, ranks.rank), part, [&](const Piece& at) {
      const tl::Tile mine = contribution(op, load(own, at), ranks.size);
      tl::Tile folded = receive_from(ranks.next(), at, dtype);
      for (std::int64_t distance = 2; distance < ranks.size; ++distance) {
        folded = reduce(op, folded, receive_from(ranks.part(ranks.after(distance)), at, dtype));
      }
      store(blocks.outputs[0], at, finish_reduction(op, reduce(op, folded, mine), ranks.size));
    });
  }
  finish_sending();
}

}  // namespace

CollectiveAlgorithm direct_reduce_scatter() {
  return {.name = "direct_reduce_scatter",
          .operation = CollectiveOperation::reduce_scatter,
          .topology = kAllPairs,
          .method = "each rank sends block c to rank c, which folds it: 1 step",
          .fold_order = "as `ring_reduce_scatter`: the same bits",
          .runs_on = kRunsWhereAllPairsFit,
          .refusal = all_pairs_refusal,
          .channels = channels_of_all_pairs,
          .kernel = reduce_scatter_directly,
          .steps = [](const GroupShape& n) { return std::vector{in_turn(all_pairs_step(n, 1.0 / n, n + 1))}; },
          .in_parts = true};
}

}  // namespace kernbench::distributed
