// Reduce by direct exchange: each rank but the root folds one chunk of the elements of all of them and sends it to the
// root, which adds its own on the right:
//   ((x[d+1] ∘ x[d+2]) ∘ …) ∘ x[d]          (indices modulo n, d the root)
// from the left, in the tensor's own type (AVG: of x / n; of integers divided in the end): the order of ring_reduce,
// and so its bits. Only the root's tensor changes. Chunks and their parts are those of direct_broadcast.
#include <optional>

#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/algorithms/shard_chunks.h"

namespace kernbench::distributed {
namespace {

using torch::distributed::ReduceOp;

/// One shard of one rank.
class DirectReduce {
 public:
  DirectReduce(const RankView& ranks, const tl::Tensor& x, const CollectiveArguments& arguments, Range shard)
      : ranks_(ranks), x_(x), op_(arguments.reduction), root_(arguments.root), chunks_(shard, ranks, ranks.size - 1) {}

  void run() {
    for (part_ = 0; part_ < chunks_.parts(); ++part_) {
      if (ranks_.rank == root_) {
        fold_own();
      } else {
        send_chunks();
        fold_chunk();
      }
    }
  }

 private:
  template <class Body>
  void for_each_tile_of(std::int64_t rank, const Body& body) const {
    const std::int64_t chunk = (rank - root_ - 1 + ranks_.size) % ranks_.size;
    for_each_tile(chunks_.part_of(chunk, part_), ranks_.tile_elements, body);
  }

  tl::Tile own(std::int64_t at, std::int64_t elements) const {
    return contribution(op_, tl::load(x_, {at}, {elements}), ranks_.size);
  }

  void send_chunks() const {
    for_each_distance(ranks_, [&](std::int64_t distance) {
      const std::int64_t to = ranks_.after(distance);
      if (to == root_) return;
      for_each_tile_of(to, [&](std::int64_t at, std::int64_t elements) {
        send_to(ranks_.part(to), own(at, elements), ranks_.window);
      });
    });
  }

  void fold_chunk() const {
    for_each_tile_of(ranks_.rank, [&](std::int64_t at, std::int64_t elements) {
      const tl::Tile mine = own(at, elements);
      std::optional<tl::Tile> folded;
      for (std::int64_t i = 1; i < ranks_.size; ++i) {
        const std::int64_t from = (root_ + i) % ranks_.size;
        const tl::Tile next = from == ranks_.rank ? mine : receive_from(ranks_.part(from), elements, x_.dtype());
        folded = folded ? reduce(op_, *folded, next) : next;
      }
      send_to(ranks_.part(root_), *folded, ranks_.window);
    });
  }

  void fold_own() const {
    for_each_distance(ranks_, [&](std::int64_t distance) {
      const std::int64_t from = ranks_.before(distance);
      for_each_tile_of(from, [&](std::int64_t at, std::int64_t elements) {
        const tl::Tile mine = own(at, elements);
        const tl::Tile folded = reduce(op_, receive_from(ranks_.part(from), elements, x_.dtype()), mine);
        tl::store(x_, {at}, finish_reduction(op_, folded, ranks_.size));
      });
    });
  }

  const RankView& ranks_;
  const tl::Tensor& x_;
  ReduceOp op_;
  std::int64_t root_;
  ShardChunks chunks_;
  std::int64_t part_ = 0;  // of every chunk
};

void reduce_directly_to_root(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  for_each_local_shard(*arguments.tensor,
                       [&](Range shard) { DirectReduce(ranks, *arguments.tensor, arguments, shard).run(); });
  finish_sending();
}

}  // namespace

CollectiveAlgorithm direct_reduce() {
  return {
      .name = "direct_reduce",
      .operation = CollectiveOperation::reduce,
      .topology = kAllPairs,
      .method = "each rank but the root folds a chunk of all others' and sends it to the root: 2 steps of 1/(n - 1)",
      .fold_order = "as `ring_reduce`: the same bits",
      .runs_on = kRunsWhereAllPairsFit,
      .refusal = all_pairs_refusal,
      .channels = channels_of_all_pairs,
      .kernel = reduce_directly_to_root,
      .steps = to_root_steps,
      .in_parts = true};
}

}  // namespace kernbench::distributed
