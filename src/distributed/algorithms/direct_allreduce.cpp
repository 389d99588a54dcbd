// All-reduce by direct exchange: every rank sends to every other one, first parts of its elements, then results.
//
// The elements of each shard are cut into n chunks of ceil(length / n), the last ones shorter or empty. Rank c gets
// chunk c from all others, and adds its own elements on the right:
//   ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]          (indices modulo n)
// from the left, in the tensor's own type: the order of ring_allreduce, and so its bits. It sends the result (AVG: of
// x / n; of integers divided there) to all others. A rank sends 2(n - 1) chunks, as in a ring, but in two steps instead
// of 2(n - 1).
//
// Where ranks share links, the order in which a rank sends decides how well they are used. Messages that follow each
// other go near and far, and around in both directions: to the rank n - 1 - i g places after, for i = 0, 1, …, with g
// about n / φ². Multiples of the golden section are spread evenly, however many of them there are (Knuth, The Art of
// Computer Programming, volume 3, section 6.4, theorem S).
//
// Chunks are cut into parts of half as many tiles as a queue has slots, four at most. Call sending part p of the chunks
// of others S(p), folding that of the own chunk and sending the result to all F(p), receiving those of others R(p). A
// rank does S(p), R(p - 1), F(p) for p = 0, 1, …, so that a link never waits for the end of a part; with one slot,
// S(p), F(p), R(p). A channel has S(0), F(0), S(1), F(1), … in the order in which they are received. When a rank sends
// S(p) or F(p), its receivers have done with S(p - 1) and F(p - 2), or F(p - 1): of two parts at most they have not,
// for which there is room. F(p) waits for S(p) of all ranks, R(p) for F(p). Everything waits for earlier things only,
// and nothing can fill up.
//
// All of a part goes to one rank, then to the next. The PEs of a row of the mesh, whose messages share a lane to the IO
// chiplet, go to the same rank at about one time, those of other rows to others: so a lane has one link before it, and
// nothing waits behind messages to another one.
#include <algorithm>
#include <deque>
#include <iterator>
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

/// Of loads, and of results that wait to be sent.
constexpr std::int64_t kTilesAtOnce = 4;

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
  std::ranges::rotate(places, places.begin() + first_way_of_this_pe(*ranks.machine, ranks.size - 1));
  return places;
}

/// One shard of one rank.
class DirectReduction {
 public:
  DirectReduction(const RankView& ranks, const tl::Tensor& x, ReduceOp op, Range shard)
      : ranks_(ranks),
        x_(x),
        op_(op),
        chunks_(shard, ranks.size, elements_of_a_part(ranks)),
        others_(places_after(ranks)) {}

  void run() {
    const bool overlap = ranks_.window > 1;
    for (std::int64_t part = 0; part < chunks_.parts(); ++part) {
      send_chunks(part);
      if (overlap && part > 0) receive_results(part - 1);
      fold_own_chunk(part);
      if (!overlap) receive_results(part);
    }
    if (overlap && chunks_.parts() > 0) receive_results(chunks_.parts() - 1);
  }

 private:
  static std::int64_t elements_of_a_part(const RankView& ranks) {
    return std::clamp<std::int64_t>(ranks.window / 2, 1, kTilesAtOnce) * ranks.tile_elements;
  }

  /// No more than four loads under way, which share the bandwidth of the memory: a message leaves when its tile is
  /// there.
  void send_chunks(std::int64_t part) const {
    std::deque<std::pair<std::int64_t, tl::AsyncLoad>> under_way;
    const auto send_first = [&] {
      auto [rank, load] = std::move(under_way.front());
      under_way.pop_front();
      tl::wait(load.token);
      send_to(ranks_.part(rank), contribution(op_, load.tile, ranks_.size), ranks_.window);
    };
    for (const std::int64_t places : others_) {
      const std::int64_t rank = ranks_.after(places);
      for_each_tile(chunks_.part_of(rank, part), ranks_.tile_elements, [&](std::int64_t at, std::int64_t elements) {
        under_way.emplace_back(rank, tl::load_async(x_, {at}, {elements}));
        if (std::ssize(under_way) == kTilesAtOnce) send_first();
      });
    }
    while (!under_way.empty()) send_first();
  }

  void fold_own_chunk(std::int64_t part) const {
    std::vector<tl::Tile> results;
    for_each_tile(chunks_.part_of(ranks_.rank, part), ranks_.tile_elements,
                  [&](std::int64_t at, std::int64_t elements) {
                    const tl::Tile mine = contribution(op_, tl::load(x_, {at}, {elements}), ranks_.size);
                    tl::Tile folded = receive_from(ranks_.next(), elements, x_.dtype());
                    for (std::int64_t step = 2; step < ranks_.size; ++step) {
                      folded = reduce(op_, folded, receive_from(ranks_.part(ranks_.after(step)), elements, x_.dtype()));
                    }
                    results.push_back(finish_reduction(op_, reduce(op_, folded, mine), ranks_.size));
                    tl::store(x_, {at}, results.back());
                  });
    for (const std::int64_t places : others_) {
      for (const tl::Tile& result : results) send_to(ranks_.part(ranks_.after(places)), result, ranks_.window);
    }
  }

  /// In the order in which the others send them.
  void receive_results(std::int64_t part) const {
    for (const std::int64_t places : others_) {
      const std::int64_t rank = ranks_.after(ranks_.size - places);
      for_each_tile(chunks_.part_of(rank, part), ranks_.tile_elements, [&](std::int64_t at, std::int64_t elements) {
        tl::store(x_, {at}, receive_from(ranks_.part(rank), elements, x_.dtype()));
      });
    }
  }

  const RankView& ranks_;
  const tl::Tensor& x_;
  ReduceOp op_;
  ShardChunks chunks_;
  std::vector<std::int64_t> others_;  // places after this rank
};

void reduce_directly(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  for_each_own_range(arguments,
                     [&](Range shard) { DirectReduction(ranks, *arguments.tensor, arguments.reduction, shard).run(); });
  finish_sending();
}

/// Results do not go in turn: those of others decide when.
std::vector<CostStep> direct_steps(const GroupShape& ranks) {
  return {in_turn(all_pairs_step(ranks, 1.0 / ranks, ranks + 1)), all_pairs_step(ranks, 1.0 / ranks, ranks - 1)};
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
      .steps = direct_steps,
      .in_half_windows = true};
}

}  // namespace kernbench::distributed
