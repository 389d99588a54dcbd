// All-reduce by recursive halving and doubling: reduce-scatter, then all-gather, among p places, the largest power of
// two that is not above n.
//
// Of n > p ranks the first 2 (n - p) are pairs: the even rank sends all it has to the odd one, which adds its own on
// the right and takes a place for both; in the end it sends the result back. Place v belongs to rank 2 v + 1 for v < n
// - p, else to rank v + n - p.
//
// The elements of each shard are cut into p chunks. At distance d = p/2, p/4, …, 1 places v and v xor d exchange: each
// keeps that half of its chunks in which its own chunk v is, and gets the other's values of it. With y[v] the values at
// a place, the lower place stands on the left:
//   y[v] ∘ y[v + d]
// for all elements alike, in the tensor's own type (AVG: of x / n; of integers divided in the end). Then halves are
// doubled again, in the opposite order.
//
// Partial results are stored in the tensor. In an exchange a rank sends as many tiles as a queue has slots, and from
// then on takes one for each that it sends: a rank that waits to send waits for a receive that waits for nothing but
// earlier sends.
#include <algorithm>

#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/own_ranges.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/algorithms/shard_chunks.h"

namespace kernbench::distributed {
namespace {

using torch::distributed::ReduceOp;

/// The places of n ranks.
struct Places {
  explicit Places(std::int64_t n) : ranks(n) {
    while (places * 2 <= n) places *= 2;
  }
  std::int64_t ranks, places = 1;
  std::int64_t pairs() const { return ranks - places; }
  std::int64_t rank_at(std::int64_t place) const { return place < pairs() ? 2 * place + 1 : place + pairs(); }
  /// -1: the rank has none.
  std::int64_t place_of(std::int64_t rank) const {
    if (rank >= 2 * pairs()) return rank - pairs();
    return rank % 2 == 1 ? rank / 2 : -1;
  }
};

/// One shard of one rank.
class HalvingDoubling {
 public:
  HalvingDoubling(const RankView& ranks, const tl::Tensor& x, ReduceOp op, Range shard)
      : ranks_(ranks), x_(x), op_(op), shard_(shard), places_(ranks.size), chunks_(shard, ranks, places_.places) {}

  void run() {
    if (is_paired() && ranks_.rank % 2 == 0) return give_to_partner();
    if (is_paired()) take_from_partner();
    place_ = places_.place_of(ranks_.rank);
    for (part_ = 0; part_ < chunks_.parts(); ++part_) {
      for (std::int64_t distance = places_.places / 2; distance > 0; distance /= 2) halve(distance);
      for (std::int64_t distance = 1; distance < places_.places; distance *= 2) double_up(distance);
    }
    if (is_paired()) give_results_to_partner();
  }

 private:
  tl::Tile own(std::int64_t at, std::int64_t elements) const {
    return contribution(op_, tl::load(x_, {at}, {elements}), ranks_.size);
  }
  bool is_paired() const { return ranks_.rank < 2 * places_.pairs(); }

  void give_to_partner() const {
    for_each_tile(shard_, ranks_.tile_elements, [&](std::int64_t at, std::int64_t elements) {
      send_to(ranks_.part(ranks_.rank + 1), own(at, elements), ranks_.window);
    });
    for_each_tile(shard_, ranks_.tile_elements, [&](std::int64_t at, std::int64_t elements) {
      tl::store(x_, {at}, receive_from(ranks_.part(ranks_.rank + 1), elements, x_.dtype()));
    });
  }
  void take_from_partner() const {
    for_each_tile(shard_, ranks_.tile_elements, [&](std::int64_t at, std::int64_t elements) {
      const tl::Tile mine = own(at, elements);
      tl::store(x_, {at}, reduce(op_, receive_from(ranks_.part(ranks_.rank - 1), elements, x_.dtype()), mine));
    });
  }
  void give_results_to_partner() const {
    for_each_tile(shard_, ranks_.tile_elements, [&](std::int64_t at, std::int64_t elements) {
      send_to(ranks_.part(ranks_.rank - 1), tl::load(x_, {at}, {elements}), ranks_.window);
    });
  }
  /// What the place has: at first the rank's own elements, then partial results.
  tl::Tile value_at(std::int64_t distance, std::int64_t at, std::int64_t elements) const {
    const bool is_own = distance == places_.places / 2 && !is_paired();
    return is_own ? own(at, elements) : tl::load(x_, {at}, {elements});
  }

  /// `distance` chunks go to the place at that distance and as many come from it: take(at, elements) for each tile of
  /// these. What goes are its own chunks, of which this place has the result then (`gives_own`), or those that the
  /// other place keeps.
  template <class Take>
  void exchange(std::int64_t distance, bool gives_own, const Take& take) const {
    const std::int64_t other = place_ ^ distance;
    const std::int64_t mine = place_ / distance * distance, theirs = other / distance * distance;
    const auto sent = tiles_of(gives_own ? mine : theirs, distance),
               taken = tiles_of(gives_own ? theirs : mine, distance);
    const auto window = static_cast<std::size_t>(ranks_.window);
    for (std::size_t i = 0; i < std::max(sent.size(), taken.size() + window); ++i) {
      if (i < sent.size()) {
        const std::int64_t at = sent[i].begin, elements = sent[i].end - at;
        const tl::Tile value = gives_own ? tl::load(x_, {at}, {elements}) : value_at(distance, at, elements);
        send_to(partner(distance), value, ranks_.window);
      }
      if (i + 1 >= window && i + 1 - window < taken.size()) {
        const Range& tile = taken[i + 1 - window];
        take(tile.begin, tile.end - tile.begin);
      }
    }
  }
  /// Of `count` chunks: chunks that go whole are one range, so that a half is no more messages than it fills slots.
  std::vector<Range> tiles_of(std::int64_t first, std::int64_t count) const {
    std::vector<Range> tiles;
    const auto append = [&](Range range) {
      for_each_tile(range, ranks_.tile_elements,
                    [&](std::int64_t at, std::int64_t elements) { tiles.push_back({at, at + elements}); });
    };
    if (chunks_.parts() == 1) {
      append(chunks_.all_of(first, count));
    } else {
      for (std::int64_t chunk = first; chunk < first + count; ++chunk) append(chunks_.part_of(chunk, part_));
    }
    return tiles;
  }
  const tensor::DevicePart& partner(std::int64_t distance) const {
    return ranks_.part(places_.rank_at(place_ ^ distance));
  }

  /// Sends what the other place keeps and folds what this one keeps.
  void halve(std::int64_t distance) const {
    const bool is_lower = (place_ & distance) == 0;
    exchange(distance, false, [&](std::int64_t at, std::int64_t elements) {
      const tl::Tile mine = value_at(distance, at, elements);
      const tl::Tile received = receive_from(partner(distance), elements, x_.dtype());
      const tl::Tile folded = is_lower ? reduce(op_, mine, received) : reduce(op_, received, mine);
      tl::store(x_, {at}, distance == 1 ? finish_reduction(op_, folded, ranks_.size) : folded);
    });
  }

  /// Sends the results that this place has, and gets those of the other one.
  void double_up(std::int64_t distance) const {
    exchange(distance, true, [&](std::int64_t at, std::int64_t elements) {
      tl::store(x_, {at}, receive_from(partner(distance), elements, x_.dtype()));
    });
  }

  const RankView& ranks_;
  const tl::Tensor& x_;
  ReduceOp op_;
  Range shard_;
  Places places_;
  ShardChunks chunks_;
  std::int64_t place_ = 0, part_ = 0;
};

void reduce_by_halving(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  for_each_own_range(arguments,
                     [&](Range shard) { HalvingDoubling(ranks, *arguments.tensor, arguments.reduction, shard).run(); });
  finish_sending();
}

std::vector<RankPair> hypercube_channels(const GroupShape& ranks) {
  const Places places(ranks);
  std::vector<RankPair> channels;
  for (int pair = 0; pair < places.pairs(); ++pair) {
    channels.emplace_back(2 * pair, 2 * pair + 1);
    channels.emplace_back(2 * pair + 1, 2 * pair);
  }
  for (std::int64_t place = 0; place < places.places; ++place) {
    for (std::int64_t distance = 1; distance < places.places; distance *= 2) {
      channels.emplace_back(static_cast<int>(places.rank_at(place)),
                            static_cast<int>(places.rank_at(place ^ distance)));
    }
  }
  return channels;
}

std::vector<CostStep> hypercube_steps(const GroupShape& ranks) {
  const Places places(ranks);
  std::vector<CostStep> halved;
  for (std::int64_t distance = places.places / 2; distance > 0; distance /= 2) {
    // What goes is loaded, and what comes is added to what is loaded, and stored.
    CostStep step{.share = static_cast<double>(distance) / static_cast<double>(places.places),
                  .through_memory = true,
                  .memory = 3};
    for (std::int64_t place = 0; place < places.places; ++place)
      step.messages.push_back(
          {static_cast<int>(places.rank_at(place)), static_cast<int>(places.rank_at(place ^ distance))});
    halved.push_back(std::move(step));
  }
  std::vector<CostStep> doubled(halved.rbegin(), halved.rend());
  for (CostStep& step : doubled) step.memory = 2;
  CostStep to_partner{.share = 1, .through_memory = true, .memory = 2}, back = to_partner;
  back.memory = 1;
  for (int pair = 0; pair < places.pairs(); ++pair) {
    to_partner.messages.push_back({2 * pair, 2 * pair + 1});
    back.messages.push_back({2 * pair + 1, 2 * pair});
  }
  std::vector<CostStep> steps;
  if (places.pairs() > 0) steps.push_back(to_partner);
  steps.insert(steps.end(), halved.begin(), halved.end());
  steps.insert(steps.end(), doubled.begin(), doubled.end());
  if (places.pairs() > 0) steps.push_back(back);
  return steps;
}

std::string hypercube_refusal(const GroupDescription& group) {
  return more_channels_than_fit(group, hypercube_channels(group.ranks));
}

}  // namespace

CollectiveAlgorithm halving_doubling_allreduce() {
  return {.name = "halving_doubling_allreduce",
          .operation = CollectiveOperation::all_reduce,
          .topology = "hypercube",
          .method =
              "halves exchanged with ranks at distances p/2, …, 1, and doubled again: 2 log2(p) steps, p the "
              "largest power of two up to n; of more ranks, pairs do as one",
          .fold_order = "pairs first; then y[v] ∘ y[v + d] for d = p/2, p/4, …, 1",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = hypercube_refusal,
          .channels = hypercube_channels,
          .kernel = reduce_by_halving,
          .steps = hypercube_steps};
}

}  // namespace kernbench::distributed
