// Broadcast along a ring: the root's elements go from rank to rank, tile by tile, each rank keeping and passing on what
// comes in; the last one passes nothing on.
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {
namespace {

void broadcast_around_ring(const RankView& ranks, const CollectiveArguments& arguments) {
  const tl::Tensor& x = *arguments.tensor;
  const bool is_root = ranks.rank == arguments.root;
  const bool is_last = ranks.after(1) == arguments.root;
  for_each_local_shard(x, [&](Range shard) {
    for_each_tile(shard, ranks.tile_elements, [&](std::int64_t at, std::int64_t elements) {
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
          .kernel = broadcast_around_ring};
}

}  // namespace kernbench::distributed
