// Reduce-scatter by PAT's trees (pat.h), which it goes up where an all-gather goes down: the steps from the last one to
// the first one. Partial sums wait in the TCM.
//
// y[o] is what the rank o places before that of a block has: its own elements, and on their left what comes from the
// ranks before it. For w = 1, 2, 4, … < n, of all o that are multiples of 2w with o + w < n:
//   y[o] := y[o + w] ∘ y[o]
// in the tensor's own type (AVG: of x / n; of integers divided in the end). So the ranks stand in the order of
// ring_reduce_scatter, and are added as a binary tree. y[0] is the result.
#include <map>

#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/bruck.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/pat.h"
#include "distributed/algorithms/reduction.h"

namespace kernbench::distributed {
namespace {

class PatReduceScatter {
 public:
  PatReduceScatter(const RankView& ranks, const CollectiveArguments& arguments)
      : ranks_(ranks),
        blocks_(arguments.blocks),
        op_(arguments.reduction),
        plan_(ranks, arguments.blocks.inputs[0].tensor.dtype()) {}

  void run() {
    std::int64_t tiles = 0;
    for (const Pieces& share : blocks_.sent) tiles = std::max(tiles, tiles_of(share, plan_.tile_elements));
    for (first_ = 0; first_ < tiles; first_ += plan_.tiles_at_once) {
      for (auto step = plan_.steps.rbegin(); step != plan_.steps.rend(); ++step) {
        for (const std::int64_t offset : step->offsets) send(offset, step->distance);
        for (const std::int64_t offset : step->offsets) fold(offset - step->distance, step->distance);
      }
      store_own();
    }
    finish_sending();
  }

 private:
  /// Calls body(at, tile number) for the tiles of a block in this part.
  template <class Body>
  void for_each_tile_of(std::int64_t block, const Body& body) const {
    std::size_t number = 0;
    for_each_tile(of(blocks_.sent, block), plan_.tile_elements, first_, plan_.tiles_at_once,
                  [&](const Piece& at) { body(at, number++); });
  }
  /// The partial sum of a tile; without any so far the rank's own elements.
  tl::Tile partial(std::int64_t offset, const Piece& at, std::size_t number) const {
    const auto sum = sums_.find(offset);
    if (sum != sums_.end()) return sum->second[number];
    return contribution(op_, load(of(blocks_.inputs, ranks_.after(offset)), at), ranks_.size);
  }
  void send(std::int64_t offset, std::int64_t distance) {
    for_each_tile_of(ranks_.after(offset), [&](const Piece& at, std::size_t number) {
      send_to(ranks_.part(ranks_.after(distance)), partial(offset, at, number), ranks_.window);
    });
    sums_.erase(offset);
  }
  void fold(std::int64_t offset, std::int64_t distance) {
    const std::int64_t block = ranks_.after(offset);
    std::vector<tl::Tile> folded;
    for_each_tile_of(block, [&](const Piece& at, std::size_t number) {
      const tl::Tile mine = partial(offset, at, number);
      const DType dtype = blocks_.inputs[0].tensor.dtype();
      folded.push_back(reduce(op_, receive_from(ranks_.part(ranks_.before(distance)), at, dtype), mine));
    });
    sums_[offset] = std::move(folded);
  }
  void store_own() {
    for_each_tile_of(ranks_.rank, [&](const Piece& at, std::size_t number) {
      store(blocks_.outputs[0], at, finish_reduction(op_, sums_.at(0)[number], ranks_.size));
    });
    sums_.clear();
  }

  const RankView& ranks_;
  const BlockArguments& blocks_;
  torch::distributed::ReduceOp op_;
  PatPlan plan_;
  std::int64_t first_ = 0;                              // tile of the part
  std::map<std::int64_t, std::vector<tl::Tile>> sums_;  // by offset
};

void reduce_scatter_by_trees(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  if (ranks.size == 1) return keep_own(blocks.inputs[0], blocks.outputs[0], blocks.sent[0], ranks.tile_elements);
  PatReduceScatter(ranks, arguments).run();
}

}  // namespace

CollectiveAlgorithm pat_reduce_scatter() {
  return {.name = "pat_reduce_scatter",
          .operation = CollectiveOperation::reduce_scatter,
          .topology = kBruck,
          .method =
              "each block up a binomial tree of its own, the nearest ranks first; ceil(log2 n) steps as long as "
              "`n_slots` are n/2 or more",
          .fold_order =
              "the ranks in the order of `ring_reduce_scatter`, as a binary tree: with y[o] of the rank o "
              "places before c, y[o] := y[o + w] ∘ y[o] for w = 1, 2, 4, … and o multiples of 2w",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = bruck_refusal,
          .channels = bruck_channels,
          .kernel = reduce_scatter_by_trees,
          .steps = pat_scatter_cost,
          .in_parts = true};
}

}  // namespace kernbench::distributed
