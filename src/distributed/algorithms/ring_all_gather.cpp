// All-gather along a ring: each rank's block goes from rank to rank, n - 1 times, and every rank keeps and passes on
// what comes in. In step s a rank sends block r - s + 1 and receives block r - s.
//
// The PE that holds an element of the output receives it, so that what comes in is stored where it is. A block goes in
// parts of as many tiles as a queue has slots: a rank has then never sent more tiles that it has not received than the
// queue of its successor holds.
//
// In both directions, every other row of PEs goes around the other way: there the same with the ranks in the opposite
// order.
#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/both_ways.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {
namespace {

void gather_around_ring(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  const std::int64_t own_block = ranks.number(ranks.rank);
  const BlockRow &mine = blocks.inputs[0], &own = of(blocks.outputs, own_block);
  const BlockParts parts(ranks);
  const std::int64_t count = parts.count(blocks.received);
  for (std::int64_t part = 0; part < count; ++part) {
    parts.for_each_tile_of(of(blocks.received, own_block), part, [&](const Piece& at) {
      if (ranks.size == 1 && mine.is(own)) return;
      const tl::Tile tile = load(mine, at);
      if (ranks.size > 1) send_to(ranks.next(), tile, ranks.window);
      if (!mine.is(own)) store(own, at, tile);
    });
    for (std::int64_t step = 1; step < ranks.size; ++step) {
      const bool last = step + 1 == ranks.size;
      const std::int64_t block = ranks.number(ranks.before(step));
      parts.for_each_tile_of(of(blocks.received, block), part, [&](const Piece& at) {
        const tl::Tile tile = receive_from(ranks.previous(), at, mine.tensor.dtype());
        if (!last) send_to(ranks.next(), tile, ranks.window);
        store(of(blocks.outputs, block), at, tile);
      });
    }
  }
  finish_sending();
}

void gather_both_ways(const RankView& ranks, const CollectiveArguments& arguments) {
  gather_around_ring(in_my_direction(ranks), arguments);
}

}  // namespace

CollectiveAlgorithm ring_all_gather() {
  return {.name = "ring_all_gather",
          .operation = CollectiveOperation::all_gather,
          .topology = kRing,
          .method = "each rank's block around the ring, n - 1 steps of 1/n of the output",
          .fold_order = "",
          .runs_on = kRunsOnAnyGroup,
          .refusal = runs_on_any_group,
          .channels = ring_channels,
          .kernel = gather_around_ring,
          .steps = [](const GroupShape& n) { return std::vector{ring_step(n, 1.0 / n, n - 1, n - 1)}; },
          .in_parts = true};
}

CollectiveAlgorithm bidirectional_ring_all_gather() {
  return {.name = "bidirectional_ring_all_gather",
          .operation = CollectiveOperation::all_gather,
          .topology = kBidirectionalRing,
          .method = kTwoRings,
          .fold_order = "",
          .runs_on = kRunsOnSipsOfSeveralPes,
          .refusal =
              [](const GroupDescription& group) {
                return both_ways_refusal(group, bidirectional_ring_channels(group.ranks), "ring_all_gather");
              },
          .channels = bidirectional_ring_channels,
          .kernel = gather_both_ways,
          .steps = [](const GroupShape& n) { return std::vector{both_ways(ring_step(n, 1.0 / n, n - 1, n - 1))}; },
          .in_parts = true};
}

}  // namespace kernbench::distributed
