// All-reduce along a ring: reduce-scatter, then all-gather.
//
// The elements of each shard are cut into n chunks of ceil(length / n), the last ones shorter or empty. Chunk c goes
// once around the ring, from rank c + 1 over c + 2, … to rank c, and every rank adds its own elements on the right: it
// is folded
//   ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]          (indices modulo n)
// from the left, in the tensor's own type. Rank c then has the result (AVG: of x / n; of integers divided there), which
// goes around once more, so that all ranks end with the same bits. A rank sends 2(n - 1) chunks.
//
// Tiles of one slot are pipelined: of each chunk so many at a time as a queue has slots. A rank has then never sent
// more tiles that it has not received than the queue of its successor holds, so that a ring cannot fill up, with one
// slot either.
//
// In both directions, every other row of PEs goes around the other way: there the same with the ranks in the opposite
// order.
#include "distributed/algorithms/both_ways.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/own_ranges.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/algorithms/ring.h"
#include "distributed/algorithms/ring_reduction.h"
#include "distributed/algorithms/shard_chunks.h"

namespace kernbench::distributed {
namespace {

using torch::distributed::ReduceOp;

/// One shard of one rank. In each step a part of one chunk comes in and one goes out.
class RingReduction {
 public:
  RingReduction(const RankView& ranks, const tl::Tensor& x, ReduceOp op, Range shard)
      : ranks_(ranks), x_(x), op_(op), chunks_(shard, ranks) {}

  void run() {
    for (part_ = 0; part_ < chunks_.parts(); ++part_) {
      reduce_scatter();
      all_gather();
    }
  }

 private:
  template <class Body>
  void for_each_tile_of(std::int64_t chunk, const Body& body) const {
    for_each_tile(chunks_.part_of(chunk, part_), ranks_.tile_elements, body);
  }
  tl::Tile own(std::int64_t at, std::int64_t elements) const {
    return contribution(op_, tl::load(x_, {at}, {elements}), ranks_.size);
  }
  tl::Tile reduced(std::int64_t at, std::int64_t elements) const {
    const tl::Tile mine = own(at, elements);
    return reduce(op_, receive_from(ranks_.previous(), elements, x_.dtype()), mine);
  }

  void reduce_scatter() const {
    for_each_tile_of(ranks_.before(1), [&](std::int64_t at, std::int64_t elements) {
      send_to(ranks_.next(), own(at, elements), ranks_.window);
    });
    for (std::int64_t step = 2; step < ranks_.size; ++step) {
      for_each_tile_of(ranks_.before(step), [&](std::int64_t at, std::int64_t elements) {
        send_to(ranks_.next(), reduced(at, elements), ranks_.window);
      });
    }
    for_each_tile_of(ranks_.rank, [&](std::int64_t at, std::int64_t elements) {
      const tl::Tile result = finish_reduction(op_, reduced(at, elements), ranks_.size);
      tl::store(x_, {at}, result);
      send_to(ranks_.next(), result, ranks_.window);
    });
  }

  void all_gather() const {
    for (std::int64_t step = 1; step < ranks_.size; ++step) {
      const bool last = step + 1 == ranks_.size;
      for_each_tile_of(ranks_.before(step), [&](std::int64_t at, std::int64_t elements) {
        const tl::Tile result = receive_from(ranks_.previous(), elements, x_.dtype());
        tl::store(x_, {at}, result);
        if (!last) send_to(ranks_.next(), result, ranks_.window);
      });
    }
  }

  const RankView& ranks_;
  const tl::Tensor& x_;
  ReduceOp op_;
  ShardChunks chunks_;
  std::int64_t part_ = 0;  // of every chunk
};

void reduce_around_ring(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  for_each_own_range(arguments,
                     [&](Range shard) { reduce_around(ranks, *arguments.tensor, arguments.reduction, shard); });
  finish_sending();
}

void reduce_both_ways(const RankView& ranks, const CollectiveArguments& arguments) {
  reduce_around_ring(in_my_direction(ranks), arguments);
}

/// Each chunk is loaded once and stored once.
CostStep ring_steps(const GroupShape& ranks) {
  return ring_step(ranks, 1.0 / ranks, 2 * (ranks - 1), 2 * ranks);
}

}  // namespace

void reduce_around(const RankView& ring, const tl::Tensor& x, ReduceOp op, Range range) {
  RingReduction(ring, x, op, range).run();
}

CollectiveAlgorithm ring_allreduce() {
  return {.name = "ring_allreduce",
          .operation = CollectiveOperation::all_reduce,
          .topology = kRing,
          .method = "reduce-scatter and all-gather around the ring, 2(n - 1) steps of 1/n of the data",
          .fold_order = "of chunk c of a shard: ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]",
          .runs_on = kRunsOnAnyGroup,
          .refusal = runs_on_any_group,
          .channels = ring_channels,
          .kernel = reduce_around_ring,
          .steps = [](const GroupShape& n) { return std::vector{ring_steps(n)}; },
          .in_parts = true};
}

CollectiveAlgorithm bidirectional_ring_allreduce() {
  return {.name = "bidirectional_ring_allreduce",
          .operation = CollectiveOperation::all_reduce,
          .topology = kBidirectionalRing,
          .method = kTwoRings,
          .fold_order = "as `ring_allreduce`; of PEs in odd rows of the mesh, with the ranks in the opposite order",
          .runs_on = kRunsOnSipsOfSeveralPes,
          .refusal =
              [](const GroupDescription& group) {
                return both_ways_refusal(group, bidirectional_ring_channels(group.ranks), "ring_allreduce");
              },
          .channels = bidirectional_ring_channels,
          .kernel = reduce_both_ways,
          .steps = [](const GroupShape& n) { return std::vector{both_ways(ring_steps(n))}; },
          .in_parts = true};
}

}  // namespace kernbench::distributed
