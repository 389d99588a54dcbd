// Broadcast along a ring: the root's elements go from rank to rank, tile by tile, each rank keeping and passing on what
// comes in; the last one passes nothing on.
//
// In both directions, every other row of PEs goes around the other way: there the same with the ranks in the opposite
// order.
#include "distributed/algorithms/both_ways.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/pieces.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {
namespace {

void broadcast_around_ring(const RankView& ranks, const CollectiveArguments& arguments) {
  const tl::Tensor& x = *arguments.tensor;
  const bool is_root = ranks.number(ranks.rank) == arguments.root;
  const bool is_last = ranks.number(ranks.after(1)) == arguments.root;
  for_each_local_shard(x, [&](Range shard) {
    for_each_tile(shard, elements_of_piece(shard, ranks, x.dtype()), [&](std::int64_t at, std::int64_t elements) {
      tl::Tile tile;
      if (is_root) {
        if (!is_last) tile = tl::load(x, {at}, {elements});
      } else {
        tile = receive_from(ranks.previous(), elements, x.dtype());
        tl::store(x, {at}, tile);
      }
      if (!is_last) send_to(ranks.next(), tile, ranks.window);
    });
  });
  finish_sending();
}

void broadcast_both_ways(const RankView& ranks, const CollectiveArguments& arguments) {
  broadcast_around_ring(in_my_direction(ranks), arguments);
}

}  // namespace

CollectiveAlgorithm ring_broadcast() {
  return {.name = "ring_broadcast",
          .operation = CollectiveOperation::broadcast,
          .topology = kRing,
          .method = "from rank to rank, tile by tile, each passing on what comes in",
          .fold_order = "",
          .runs_on = kRunsOnAnyGroup,
          .refusal = runs_on_any_group,
          .channels = ring_channels,
          .kernel = broadcast_around_ring,
          .steps = [](const GroupShape& n) { return std::vector{line_step(n, 1)}; },
          .in_pieces = true};
}

CollectiveAlgorithm bidirectional_ring_broadcast() {
  return {.name = "bidirectional_ring_broadcast",
          .operation = CollectiveOperation::broadcast,
          .topology = kBidirectionalRing,
          .method = kTwoRings,
          .fold_order = "",
          .runs_on = kRunsOnSipsOfSeveralPes,
          .refusal =
              [](const GroupDescription& group) {
                return both_ways_refusal(group, bidirectional_ring_channels(group.ranks), "ring_broadcast");
              },
          .channels = bidirectional_ring_channels,
          .kernel = broadcast_both_ways,
          .steps = [](const GroupShape& n) { return std::vector{both_ways(line_step(n, 1))}; },
          .in_pieces = true};
}

}  // namespace kernbench::distributed
