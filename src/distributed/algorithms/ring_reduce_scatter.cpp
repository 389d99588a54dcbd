// Reduce-scatter along a ring: block c goes once around, from rank c + 1 over c + 2, … to rank c, and every rank adds
// its own elements on the right: it is folded
//   ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]          (indices modulo n)
// from the left, in the tensor's own type (AVG: of x / n; of integers divided in the end). In step s a rank sends block
// r - s and receives block r - s - 1. Parts of blocks are pipelined as in ring_allreduce, with which the folds have
// their order in common.
//
// In both directions, every other row of PEs goes around the other way: there the same with the ranks in the opposite
// order.
#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/both_ways.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {
namespace {

void reduce_scatter_around_ring(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  const auto op = arguments.reduction;
  if (ranks.size == 1) return keep_own(blocks.inputs[0], blocks.outputs[0], blocks.sent[0], ranks.tile_elements);
  const BlockParts parts(ranks);
  const auto mine = [&](std::int64_t block, const Piece& at) {
    return contribution(op, load(of(blocks.inputs, block), at), ranks.size);
  };
  const auto reduced = [&](std::int64_t block, const Piece& at) {
    const tl::Tile added = mine(block, at);
    return reduce(op, receive_from(ranks.previous(), at, added.dtype()), added);
  };
  const std::int64_t count = parts.count(blocks.sent), own = ranks.number(ranks.rank);
  for (std::int64_t part = 0; part < count; ++part) {
    for (std::int64_t step = 1; step < ranks.size; ++step) {
      const std::int64_t block = ranks.number(ranks.before(step));
      parts.for_each_tile_of(of(blocks.sent, block), part, [&](const Piece& at) {
        send_to(ranks.next(), step == 1 ? mine(block, at) : reduced(block, at), ranks.window);
      });
    }
    parts.for_each_tile_of(of(blocks.sent, own), part, [&](const Piece& at) {
      store(blocks.outputs[0], at, finish_reduction(op, reduced(own, at), ranks.size));
    });
  }
  finish_sending();
}

void reduce_scatter_both_ways(const RankView& ranks, const CollectiveArguments& arguments) {
  reduce_scatter_around_ring(in_my_direction(ranks), arguments);
}

}  // namespace

CollectiveAlgorithm ring_reduce_scatter() {
  return {.name = "ring_reduce_scatter",
          .operation = CollectiveOperation::reduce_scatter,
          .topology = kRing,
          .method = "each rank's block once around the ring, n - 1 steps of 1/n of the input",
          .fold_order = "of the block for rank c: ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]",
          .runs_on = kRunsOnAnyGroup,
          .refusal = runs_on_any_group,
          .channels = ring_channels,
          .kernel = reduce_scatter_around_ring,
          .steps = [](const GroupShape& n) { return std::vector{ring_step(n, 1.0 / n, n - 1, n + 1)}; },
          .in_parts = true};
}

CollectiveAlgorithm bidirectional_ring_reduce_scatter() {
  return {
      .name = "bidirectional_ring_reduce_scatter",
      .operation = CollectiveOperation::reduce_scatter,
      .topology = kBidirectionalRing,
      .method = kTwoRings,
      .fold_order = "as `ring_reduce_scatter`; of PEs in odd rows of the mesh, with the ranks in the opposite order",
      .runs_on = kRunsOnSipsOfSeveralPes,
      .refusal =
          [](const GroupDescription& group) {
            return both_ways_refusal(group, bidirectional_ring_channels(group.ranks), "ring_reduce_scatter");
          },
      .channels = bidirectional_ring_channels,
      .kernel = reduce_scatter_both_ways,
      .steps = [](const GroupShape& n) { return std::vector{both_ways(ring_step(n, 1.0 / n, n - 1, n + 1))}; },
      .in_parts = true};
}

}  // namespace kernbench::distributed
