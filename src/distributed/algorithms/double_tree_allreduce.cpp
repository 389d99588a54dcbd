// All-reduce on two binary trees: the first half of each shard on one, the second half on the other. What is inside of
// one tree is a leaf of the other, so that every rank sends and receives about as much. A short shard goes over
// the first tree whole: a rank does one tree after the other, and halves take the latencies of both. Elements go up,
// each rank folding, from the left and in the tensor's own type,
//   (x[r] ∘ first child) ∘ second child
// and the root's result (AVG: of x / n; of integers divided there) comes down to all.
//
// Tile by tile, each level of a tree a few tiles behind the one before: in step s a rank that is k levels below the
// root of a tree of height h does tile s - d (h - k) of that tree upwards, then tile s - d (h + k) downwards. So what
// it receives in a step has been sent d steps before, and a step takes no latency. Whoever waits for a message waits
// for a rank in an earlier step. Two ranks may be neighbours in both trees, so that a channel has messages of two ways,
// d + 1 each at most that its receiver has not come to. With 2 (d + 1) slots or more whoever waits to send, too, waits
// for a rank in an earlier step, and the rank in the earliest one for nobody.
//
// With less than four slots d is 0, and tiles go down w steps after they go up, w the slots: a message is sent and
// received in the same one of four parts of one step, and whoever waits, waits for an earlier part or for a rank
// further down (on the way up) or up (on the way down).
#include <algorithm>
#include <utility>

#include "distributed/algorithms/both_ways.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/double_tree.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/own_ranges.h"
#include "distributed/algorithms/reduction.h"

namespace kernbench::distributed {

namespace {

using torch::distributed::ReduceOp;

/// Of a PE, up to which its shard is not cut. Measured on ahbm-2sip with 4 and 16 SIPs in each wiring: up to here one
/// tree takes at most as long as two, beyond it depends on the wiring.
constexpr Bytes kFew(2048);

/// One half of one shard of one rank.
class TreeHalf {
 public:
  TreeHalf(const RankView& ranks, const tl::Tensor& x, ReduceOp op, Tree tree, Range half)
      : ranks_(ranks), x_(x), op_(op), half_(half), behind_(std::max<std::int64_t>(ranks.window / 2 - 1, 0)) {
    const int size = static_cast<int>(ranks.size), rank = static_cast<int>(ranks.rank);
    place_ = tree(size, rank);
    depth_ = depth_in(tree, size, rank);
    height_ = height_of_trees(size);
  }

  std::int64_t steps() const { return tiles() + (behind_ > 0 ? 2 * behind_ * height_ : ranks_.window); }
  void up_in(std::int64_t step) const { up(step - behind_ * (height_ - depth_)); }
  void down_in(std::int64_t step) const { down(step - (behind_ > 0 ? behind_ * (height_ + depth_) : ranks_.window)); }

 private:
  std::int64_t tiles() const { return tl::cdiv(half_.end - half_.begin, ranks_.tile_elements); }

  void up(std::int64_t tile) const {
    if (!has(tile)) return;
    tl::Tile folded = contribution(op_, tl::load(x_, {begin(tile)}, {elements(tile)}), ranks_.size);
    for_each_child(
        [&](int child) { folded = reduce(op_, folded, receive_from(ranks_.part(child), elements(tile), x_.dtype())); });
    if (place_.parent >= 0) return send_to(ranks_.part(place_.parent), folded, ranks_.window);
    tl::store(x_, {begin(tile)}, finish_reduction(op_, folded, ranks_.size));
  }

  void down(std::int64_t tile) const {
    if (!has(tile)) return;
    const bool is_root = place_.parent < 0;
    const tl::Tile result = is_root ? tl::load(x_, {begin(tile)}, {elements(tile)})
                                    : receive_from(ranks_.part(place_.parent), elements(tile), x_.dtype());
    if (!is_root) tl::store(x_, {begin(tile)}, result);
    auto children = place_.children;
    // Lanes that all begin with one link would all change to the other one at one time.
    if (way_of_this_pe(*ranks_.machine, 2) == 1) std::ranges::reverse(children);
    for (const int child : children) {
      if (child >= 0) send_to(ranks_.part(child), result, ranks_.window);
    }
  }
  bool has(std::int64_t tile) const { return tile >= 0 && tile < tiles(); }
  std::int64_t begin(std::int64_t tile) const { return half_.begin + tile * ranks_.tile_elements; }
  std::int64_t elements(std::int64_t tile) const { return std::min(ranks_.tile_elements, half_.end - begin(tile)); }
  template <class Body>
  void for_each_child(const Body& body) const {
    for (const int child : place_.children) {
      if (child >= 0) body(child);
    }
  }
  const RankView& ranks_;
  const tl::Tensor& x_;
  ReduceOp op_;
  TreePlace place_;
  Range half_;
  std::int64_t behind_, depth_ = 0, height_ = 0;
};

void reduce_on_trees(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  const tl::Tensor& x = *arguments.tensor;
  for_each_own_range(arguments, [&](Range shard) {
    const std::int64_t elements = shard.end - shard.begin;
    const bool few = elements * item_size(x.dtype()) <= kFew.count();
    const std::int64_t middle = shard.begin + (few ? elements : tl::cdiv(elements, 2));
    const TreeHalf one(ranks, x, arguments.reduction, first_tree, {shard.begin, middle});
    const TreeHalf two(ranks, x, arguments.reduction, second_tree, {middle, shard.end});
    for (std::int64_t step = 0; step < one.steps(); ++step) {
      one.up_in(step);
      two.up_in(step);
      one.down_in(step);
      two.down_in(step);
    }
  });
  finish_sending();
}

/// Returns the first level; null where there is none. `share`: of the bytes, of each message.
CostStep* append_levels(std::vector<CostStep>& steps, Tree tree, int ranks, bool up, double share = 0) {
  auto levels = levels_of_tree(tree, ranks, up);
  for (CostStep& level : levels) {
    level.share = share;
    level.memory = 1;
  }
  const auto first = steps.insert(steps.end(), levels.begin(), levels.end());
  return levels.empty() ? nullptr : &*first;
}

/// The root sends what it has stored.
void append_way_down(std::vector<CostStep>& steps, int ranks, double share = 0) {
  if (CostStep* const from_root = append_levels(steps, first_tree, ranks, false, share))
    from_root->through_memory = true;
}

/// The bytes of tiles that follow each other: all of the steps' links are in use at one time, for half of them each. On
/// both trees together a rank loads them once and stores them once; a root loads its half again, to send it.
void append_bytes(std::vector<CostStep>& steps) {
  CostStep bytes{.share = 0.5, .latencies = 0, .memory = 5};
  for (const CostStep& step : steps)
    bytes.messages.insert(bytes.messages.end(), step.messages.begin(), step.messages.end());
  steps.push_back(std::move(bytes));
}

/// The first tiles of both trees go at one time. Then half of the bytes go each way on each tree, tile by tile.
std::vector<CostStep> double_tree_steps(const GroupShape& ranks) {
  std::vector<CostStep> steps, second;
  append_levels(steps, first_tree, ranks, true);
  append_way_down(steps, ranks);
  append_levels(second, second_tree, ranks, true);
  append_levels(second, second_tree, ranks, false);
  for (std::size_t level = 0; level < steps.size(); ++level) {
    auto& both = steps[level].messages;
    for (CostStep::Message message : second[level].messages) {
      message.way = 1;
      both.push_back(message);
    }
  }
  append_bytes(steps);
  return steps;
}

/// Of short shards, which are one tile: up the first tree, and down, PE by PE.
std::vector<CostStep> first_tree_steps(const GroupShape& ranks) {
  std::vector<CostStep> steps;
  append_levels(steps, first_tree, ranks, true, 1);
  append_way_down(steps, ranks, 1);
  return steps;
}

}  // namespace

CollectiveAlgorithm double_tree_allreduce() {
  return {.name = "double_tree_allreduce",
          .operation = CollectiveOperation::all_reduce,
          .topology = kDoubleTree,
          .method =
              "each half up and down a binary tree of its own, 2 KiB of a PE whole on one: 2 log2(n) steps, tile by "
              "tile",
          .fold_order = "at each rank of the tree: (x[r] ∘ first child) ∘ second child",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = double_tree_refusal,
          .channels = double_tree_channels,
          .kernel = reduce_on_trees,
          .steps = double_tree_steps,
          .few = kFew,
          .steps_of_few = first_tree_steps};
}

}  // namespace kernbench::distributed
