// All-reduce by direct exchange: every rank sends to every other one, first parts of its elements, then results.
//
// The elements of each shard are cut into n chunks of ceil(length / n), the last ones shorter or empty. Rank c gets
// chunk c from all others, and adds its own elements on the right:
//   ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]          (indices modulo n)
// from the left, in the tensor's own type: the order of ring_allreduce, and so its bits. It sends the result (AVG:
// divided by n there, once) to all others. A rank sends 2(n - 1) chunks, as in a ring, but in two steps instead of
// 2(n - 1).
//
// Where ranks share links, the order in which a rank sends decides how well they are used. Messages that follow each
// other go near and far, and around in both directions: to the rank n - 1 - i g places after, for i = 0, 1, …, with g
// about n / φ². Multiples of the golden section are spread evenly, however many of them there are (Knuth, The Art of
// Computer Programming, volume 3, section 6.4, theorem S).
//
// Of each chunk as many tiles at a time as a queue has slots. Call sending them S, folding tile t of the own chunk F(t)
// and sending its result G(t), receiving the results of others R. What a tile waits for, to be sent, is that its
// receiver has taken the tile one window before it on the channel: for S one of the F or R before it, for G(t) an
// F(u) with u <= t. F(t) waits for the S of all ranks, and R for their G. In the order S, F(0), G(0), F(1), G(1), …, R
// of all ranks together everything waits for earlier things only, so that nothing can fill up, with one slot either.
#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/own_ranges.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/algorithms/shard_chunks.h"

namespace kernbench::distributed {
namespace {

using torch::distributed::ReduceOp;

constexpr std::size_t kLoadsUnderWay = 4;

/// How many places after a rank the others are, in the order in which it sends to them. Of up to four ranks one after
/// the other: there is no order that goes near and far in turn.
std::vector<std::int64_t> places_near_and_far(std::int64_t ranks) {
  std::vector<std::int64_t> places;
  if (ranks <= 4) {
    for (std::int64_t place = 1; place < ranks; ++place) places.push_back(place);
    return places;
  }
  constexpr std::int64_t kGoldenPerMille = 382;  // 1 / φ²
  std::int64_t stride = std::max<std::int64_t>((ranks * kGoldenPerMille + 500) / 1000, 1);
  while (std::gcd(stride, ranks) != 1) ++stride;
  for (std::int64_t i = 0, place = ranks - 1; i < ranks; ++i, place = (place + ranks - stride % ranks) % ranks)
    if (place != 0) places.push_back(place);
  return places;
}

/// The PEs of a row of the mesh begin with one place, those of other rows with others, so that all links are in use.
std::vector<std::int64_t> places_after(const RankView& ranks) {
  std::vector<std::int64_t> places = places_near_and_far(ranks.size);
  std::ranges::rotate(places, places.begin() + way_of_this_pe(*ranks.machine, ranks.size - 1));
  return places;
}

/// One shard of one rank.
class DirectReduction {
 public:
  DirectReduction(const RankView& ranks, const tl::Tensor& x, ReduceOp op, Range shard)
      : ranks_(ranks), x_(x), op_(op), chunks_(shard, ranks), others_(places_after(ranks)) {}

  void run() {
    for (part_ = 0; part_ < chunks_.parts(); ++part_) {
      send_chunks();
      fold_own_chunk();
      receive_results();
    }
  }

 private:
  /// Calls body(rank, offset, elements) for each tile of the chunks of the other ranks: the first tiles of all, then
  /// the second ones, so that all channels are in use.
  template <class Body>
  void for_each_tile_of_others(const Body& body) const {
    const Range longest = chunks_.part_of(0, part_);
    for (std::int64_t offset = 0; offset < longest.end - longest.begin; offset += ranks_.tile_elements) {
      for (const std::int64_t places : others_) {
        const std::int64_t rank = ranks_.after(places);
        const Range part = chunks_.part_of(rank, part_);
        const std::int64_t at = part.begin + offset;
        if (at < part.end) body(rank, at, std::min(ranks_.tile_elements, part.end - at));
      }
    }
  }

  /// No more than four loads under way, which share the bandwidth of the memory: a message leaves when its tile is
  /// there.
  void send_chunks() const {
    std::deque<std::pair<std::int64_t, tl::AsyncLoad>> under_way;
    const auto send_first = [&] {
      auto [rank, load] = std::move(under_way.front());
      under_way.pop_front();
      tl::wait(load.token);
      send_to(ranks_.part(rank), load.tile, ranks_.window);
    };
    for_each_tile_of_others([&](std::int64_t rank, std::int64_t at, std::int64_t elements) {
      under_way.emplace_back(rank, tl::load_async(x_, {at}, {elements}));
      if (under_way.size() == kLoadsUnderWay) send_first();
    });
    while (!under_way.empty()) send_first();
  }

  void fold_own_chunk() const {
    for_each_tile(chunks_.part_of(ranks_.rank, part_), ranks_.tile_elements,
                  [&](std::int64_t at, std::int64_t elements) {
                    const tl::Tile mine = tl::load(x_, {at}, {elements});
                    tl::Tile folded = receive_from(ranks_.next(), elements, x_.dtype());
                    for (std::int64_t step = 2; step < ranks_.size; ++step) {
                      folded = reduce(op_, folded, receive_from(ranks_.part(ranks_.after(step)), elements, x_.dtype()));
                    }
                    const tl::Tile result = finish_reduction(op_, reduce(op_, folded, mine), ranks_.size);
                    tl::store(x_, {at}, result);
                    for (const std::int64_t places : others_) {
                      send_to(ranks_.part(ranks_.after(places)), result, ranks_.window);
                    }
                  });
  }

  void receive_results() const {
    for_each_tile_of_others([&](std::int64_t rank, std::int64_t at, std::int64_t elements) {
      tl::store(x_, {at}, receive_from(ranks_.part(rank), elements, x_.dtype()));
    });
  }

  const RankView& ranks_;
  const tl::Tensor& x_;
  ReduceOp op_;
  ShardChunks chunks_;
  std::vector<std::int64_t> others_;  // places after this rank
  std::int64_t part_ = 0;             // of every chunk
};

void reduce_directly(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  for_each_own_range(arguments,
                     [&](Range shard) { DirectReduction(ranks, *arguments.tensor, arguments.reduction, shard).run(); });
  finish_sending();
}

/// Results do not go in turn: those of others decide when.
std::vector<CostStep> direct_steps(const GroupShape& ranks) {
  const CostStep step = all_pairs_step(ranks, 1.0 / ranks);
  return {in_turn(step), step};
}

}  // namespace

CollectiveAlgorithm direct_allreduce() {
  return {
      .name = "direct_allreduce",
      .operation = CollectiveOperation::all_reduce,
      .topology = kAllPairs,
      .method = "each rank sends chunk c to rank c, which folds it and sends the result to all: 2 steps of (n - 1)/n",
      .fold_order = "as `ring_allreduce`: the same bits",
      .runs_on = kRunsWhereAllPairsFit,
      .refusal = all_pairs_refusal,
      .channels = channels_of_all_pairs,
      .kernel = reduce_directly,
      .steps = direct_steps};
}

}  // namespace kernbench::distributed
