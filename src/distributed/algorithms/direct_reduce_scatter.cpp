// Reduce-scatter by direct exchange: every rank sends each other one its block, and folds its own:
//   ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]          (indices modulo n, c its number)
// from the left, in the tensor's own type (AVG: of x / n; of integers divided in the end): the order of
// ring_reduce_scatter, and so its bits. Parts of blocks are as in direct_all_gather.
#include <algorithm>
#include <vector>

#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/reduction.h"

namespace kernbench::distributed {
namespace {

/// The ranks that get something from this PE, which has some of the blocks only: others of them first on each rank, so
/// that the ranks that have none of these do not all begin with the same one.
std::vector<std::int64_t> targets_of(const RankView& ranks, std::span<const Pieces> sent) {
  std::vector<std::int64_t> targets;
  for (std::int64_t rank = 0; rank < ranks.size; ++rank) {
    if (!of(sent, rank).empty()) targets.push_back(rank);
  }
  if (targets.empty()) return targets;
  const auto count = static_cast<std::int64_t>(targets.size());
  const std::int64_t first = (ranks.rank + way_of_this_pe(*ranks.machine, ranks.size - 1) + 1) % count;
  std::ranges::rotate(targets, targets.begin() + first);
  std::erase(targets, ranks.rank);
  return targets;
}

void reduce_scatter_directly(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  const auto op = arguments.reduction;
  if (ranks.size == 1) return keep_own(blocks.inputs[0], blocks.outputs[0], blocks.sent[0], ranks.tile_elements);
  const BlockRow& own = of(blocks.inputs, ranks.rank);
  const DType dtype = own.tensor.dtype();
  const BlockParts parts(ranks);
  const std::int64_t count = parts.count(blocks.sent);
  const std::vector<std::int64_t> targets = targets_of(ranks, blocks.sent);
  for (std::int64_t part = 0; part < count; ++part) {
    for (const std::int64_t to : targets) {
      parts.for_each_tile_of(of(blocks.sent, to), part, [&](const Piece& at) {
        send_to(ranks.part(to), contribution(op, load(of(blocks.inputs, to), at), ranks.size), ranks.window);
      });
    }
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
