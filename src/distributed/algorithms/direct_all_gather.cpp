// All-gather by direct exchange: every rank sends its block to each other one.
//
// A block goes in parts of as many tiles as a queue has slots. Before a rank sends a part, it has received the part
// before from all others; so the one that is furthest behind finds room for what it sends, and is sent what it waits
// for. A tile is loaded once, and sent to all.
#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {
namespace {

void gather_directly(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  const BlockRow &mine = blocks.inputs[0], &own = of(blocks.outputs, ranks.rank);
  const Pieces& sent = of(blocks.received, ranks.rank);
  const BlockParts parts(ranks);
  const std::int64_t count = parts.count(blocks.received);
  for (std::int64_t part = 0; part < count; ++part) {
    parts.for_each_tile_of(sent, part, [&](const Piece& at) {
      if (ranks.size == 1 && mine.is(own)) return;
      const tl::Tile tile = load(mine, at);
      if (!mine.is(own)) store(own, at, tile);
      for_each_distance(ranks,
                        [&](std::int64_t distance) { send_to(ranks.part(ranks.after(distance)), tile, ranks.window); });
    });
    for_each_distance(ranks, [&](std::int64_t distance) {
      const std::int64_t from = ranks.before(distance);
      parts.for_each_tile_of(of(blocks.received, from), part, [&](const Piece& at) {
        store(of(blocks.outputs, from), at, receive_from(ranks.part(from), at, mine.tensor.dtype()));
      });
    });
  }
  finish_sending();
}

}  // namespace

CollectiveAlgorithm direct_all_gather() {
  return {.name = "direct_all_gather",
          .operation = CollectiveOperation::all_gather,
          .topology = kAllPairs,
          .method = "each rank sends its block to all others: 1 step",
          .fold_order = "",
          .runs_on = kRunsWhereAllPairsFit,
          .refusal = all_pairs_refusal,
          .channels = channels_of_all_pairs,
          .kernel = gather_directly,
          .steps = [](const GroupShape& n) { return std::vector{in_turn(all_pairs_step(n, 1.0 / n, n + 1))}; },
          .in_parts = true};
}

}  // namespace kernbench::distributed
