// Reduce along a ring: the elements go once around, tile by tile, from the rank after the root to the root, and every
// rank adds its own on the right: they are folded
//   ((x[d+1] ∘ x[d+2]) ∘ …) ∘ x[d]          (indices modulo n, d the root)
// from the left, in the tensor's own type (AVG: of x / n; of integers divided in the end). Only the root's tensor
// changes.
//
// In both directions, every other row of PEs goes around the other way: there the same with the ranks in the opposite
// order.
#include "distributed/algorithms/both_ways.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/pieces.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {
namespace {

void reduce_along_ring(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  const tl::Tensor& x = *arguments.tensor;
  const auto op = arguments.reduction;
  const bool is_root = ranks.number(ranks.rank) == arguments.root;
  const bool is_first = ranks.number(ranks.before(1)) == arguments.root;
  for_each_local_shard(x, [&](Range shard) {
    for_each_tile(shard, elements_of_piece(shard, ranks, x.dtype()), [&](std::int64_t at, std::int64_t elements) {
      tl::Tile folded = contribution(op, tl::load(x, {at}, {elements}), ranks.size);
      if (!is_first) folded = reduce(op, receive_from(ranks.previous(), elements, x.dtype()), folded);
      if (!is_root) return send_to(ranks.next(), folded, ranks.window);
      tl::store(x, {at}, finish_reduction(op, folded, ranks.size));
    });
  });
  finish_sending();
}

void reduce_both_ways_to_root(const RankView& ranks, const CollectiveArguments& arguments) {
  reduce_along_ring(in_my_direction(ranks), arguments);
}

}  // namespace

CollectiveAlgorithm ring_reduce() {
  return {.name = "ring_reduce",
          .operation = CollectiveOperation::reduce,
          .topology = kRing,
          .method = "from the rank after the root to the root, tile by tile, each adding its own",
          .fold_order = "with root d: ((x[d+1] ∘ x[d+2]) ∘ …) ∘ x[d]",
          .runs_on = kRunsOnAnyGroup,
          .refusal = runs_on_any_group,
          .channels = ring_channels,
          .kernel = reduce_along_ring,
          .steps = [](const GroupShape& n) { return std::vector{line_step(n, 2)}; },
          .in_pieces = true};
}

CollectiveAlgorithm bidirectional_ring_reduce() {
  return {.name = "bidirectional_ring_reduce",
          .operation = CollectiveOperation::reduce,
          .topology = kBidirectionalRing,
          .method = kTwoRings,
          .fold_order = "as `ring_reduce`; of PEs in odd rows of the mesh, with the ranks in the opposite order",
          .runs_on = kRunsOnSipsOfSeveralPes,
          .refusal =
              [](const GroupDescription& group) {
                return both_ways_refusal(group, bidirectional_ring_channels(group.ranks), "ring_reduce");
              },
          .channels = bidirectional_ring_channels,
          .kernel = reduce_both_ways_to_root,
          .steps = [](const GroupShape& n) { return std::vector{both_ways(line_step(n, 2))}; },
          .in_pieces = true};
}

}  // namespace kernbench::distributed
