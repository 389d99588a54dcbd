// Broadcast by direct exchange: the root gives each other rank one chunk of its elements, and that one sends it to all
// others but the root.
//
// The elements of each shard are cut into n - 1 chunks of ceil(length / (n - 1)), the last ones shorter or empty; chunk
// c goes to the rank c + 1 places after the root. Of each chunk as many tiles at a time as a queue has slots. Before a
// rank sends a part of its chunk it has received the parts before of all chunks; so the one that is furthest behind
// finds room for what it sends, and is sent what it waits for.
#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/shard_chunks.h"

namespace kernbench::distributed {
namespace {

/// One shard of one rank.
class DirectBroadcast {
 public:
  DirectBroadcast(const RankView& ranks, const tl::Tensor& x, std::int64_t root, Range shard)
      : ranks_(ranks), x_(x), root_(root), chunks_(shard, ranks, ranks.size - 1) {}

  void run() {
    for (part_ = 0; part_ < chunks_.parts(); ++part_) {
      if (ranks_.rank == root_) {
        hand_out();
      } else {
        pass_on_own_chunk();
        receive_others();
      }
    }
  }

 private:
  /// Calls body(offset, elements) for each tile of the chunk of a rank.
  template <class Body>
  void for_each_tile_of(std::int64_t rank, const Body& body) const {
    const std::int64_t chunk = (rank - root_ - 1 + ranks_.size) % ranks_.size;
    for_each_tile(chunks_.part_of(chunk, part_), ranks_.tile_elements, body);
  }

  void hand_out() const {
    for_each_distance(ranks_, [&](std::int64_t distance) {
      const std::int64_t to = ranks_.after(distance);
      for_each_tile_of(to, [&](std::int64_t at, std::int64_t elements) {
        send_to(ranks_.part(to), tl::load(x_, {at}, {elements}), ranks_.window);
      });
    });
  }

  void pass_on_own_chunk() const {
    for_each_tile_of(ranks_.rank, [&](std::int64_t at, std::int64_t elements) {
      const tl::Tile tile = receive_from(ranks_.part(root_), elements, x_.dtype());
      tl::store(x_, {at}, tile);
      for_each_distance(ranks_, [&](std::int64_t distance) {
        const std::int64_t to = ranks_.after(distance);
        if (to != root_) send_to(ranks_.part(to), tile, ranks_.window);
      });
    });
  }

  void receive_others() const {
    for_each_distance(ranks_, [&](std::int64_t distance) {
      const std::int64_t from = ranks_.before(distance);
      if (from == root_) return;
      for_each_tile_of(from, [&](std::int64_t at, std::int64_t elements) {
        tl::store(x_, {at}, receive_from(ranks_.part(from), elements, x_.dtype()));
      });
    });
  }

  const RankView& ranks_;
  const tl::Tensor& x_;
  std::int64_t root_;
  ShardChunks chunks_;
  std::int64_t part_ = 0;  // of every chunk
};

void broadcast_directly(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  for_each_local_shard(*arguments.tensor,
                       [&](Range shard) { DirectBroadcast(ranks, *arguments.tensor, arguments.root, shard).run(); });
  finish_sending();
}

}  // namespace

CollectiveAlgorithm direct_broadcast() {
  return {.name = "direct_broadcast",
          .operation = CollectiveOperation::broadcast,
          .topology = kAllPairs,
          .method = "the root gives each other rank a chunk, which passes it on to all others: 2 steps of 1/(n - 1)",
          .fold_order = "",
          .runs_on = kRunsWhereAllPairsFit,
          .refusal = all_pairs_refusal,
          .channels = channels_of_all_pairs,
          .kernel = broadcast_directly,
          .steps = from_root_steps,
          .in_parts = true};
}

}  // namespace kernbench::distributed
