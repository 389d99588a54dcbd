// All-gather by PAT's trees (pat.h): ceil(log2 n) steps where n / 2 blocks find room in the slots of a channel, more
// where fewer do. What comes in is stored, and passed on from the TCM.
//
// Blocks go in parts of so many tiles that a step fits into the slots of a channel. A rank sends all of a step before
// it receives: the one that is furthest behind finds room for what it sends, and is sent what it waits for.
#include <map>

#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/bruck.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/pat.h"

namespace kernbench::distributed {
namespace {

class PatGather {
 public:
  PatGather(const RankView& ranks, const BlockArguments& blocks)
      : ranks_(ranks), blocks_(blocks), plan_(ranks, blocks.inputs[0].tensor.dtype()) {}

  void run() {
    std::int64_t tiles = 0;
    for (const Pieces& share : blocks_.received) tiles = std::max(tiles, tiles_of(share, plan_.tile_elements));
    for (first_ = 0; first_ < tiles; first_ += plan_.tiles_at_once) {
      take_own();
      for (const PatStep& step : plan_.steps) {
        for (const std::int64_t offset : step.offsets) send(offset - step.distance, step.distance);
        for (const std::int64_t offset : step.offsets) receive(offset, step.distance);
      }
      held_.clear();
    }
    finish_sending();
  }

 private:
  template <class Body>
  void for_each_tile_of(std::int64_t block, const Body& body) const {
    for_each_tile(of(blocks_.received, block), plan_.tile_elements, first_, plan_.tiles_at_once, body);
  }

  void take_own() {
    const BlockRow &mine = blocks_.inputs[0], &own = of(blocks_.outputs, ranks_.rank);
    if (ranks_.size == 1 && mine.is(own)) return;
    for_each_tile_of(ranks_.rank, [&](const Piece& at) {
      const tl::Tile tile = load(mine, at);
      if (!mine.is(own)) store(own, at, tile);
      if (ranks_.size > 1) held_[0].push_back(tile);
    });
  }
  /// The block that this rank has at an offset from the block's rank.
  void send(std::int64_t offset, std::int64_t distance) {
    const auto held = held_.find(offset);
    if (held == held_.end()) return;
    for (const tl::Tile& tile : held->second) send_to(ranks_.part(ranks_.after(distance)), tile, ranks_.window);
    if (distance == 1) held_.erase(held);
  }
  void receive(std::int64_t offset, std::int64_t distance) {
    const std::int64_t block = ranks_.before(offset);
    const BlockRow& out = of(blocks_.outputs, block);
    for_each_tile_of(block, [&](const Piece& at) {
      const tl::Tile tile = receive_from(ranks_.part(ranks_.before(distance)), at, out.tensor.dtype());
      store(out, at, tile);
      if (passes_on(offset, ranks_.size)) held_[offset].push_back(tile);
    });
  }

  const RankView& ranks_;
  const BlockArguments& blocks_;
  PatPlan plan_;
  std::int64_t first_ = 0;                              // tile of the part
  std::map<std::int64_t, std::vector<tl::Tile>> held_;  // by offset
};

void gather_by_trees(const RankView& ranks, const CollectiveArguments& arguments) {
  PatGather(ranks, arguments.blocks).run();
}

}  // namespace

CollectiveAlgorithm pat_all_gather() {
  return {.name = "pat_all_gather",
          .operation = CollectiveOperation::all_gather,
          .topology = kBruck,
          .method =
              "each block down a binomial tree of its own, the furthest ranks first; ceil(log2 n) steps as long "
              "as `n_slots` are n/2 or more",
          .fold_order = "",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = bruck_refusal,
          .channels = bruck_channels,
          .kernel = gather_by_trees,
          .steps = pat_gather_cost,
          .in_parts = true};
}

}  // namespace kernbench::distributed
