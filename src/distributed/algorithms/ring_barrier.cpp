// Barriers around a ring. In one direction a token goes around as often as there are ranks: after n - 1 steps, of one
// byte each, a rank has heard of all others. In both directions it takes n / 2.
#include "distributed/algorithms/barrier_signals.h"
#include "distributed/algorithms/both_ways.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {
namespace {

void pass_token_around_ring(const RankView& ranks, const CollectiveArguments&) {
  tl::Tile token = tl::full({1}, 0, DType::u8);
  for (std::int64_t step = 1; step < ranks.size; ++step) {
    send_to(ranks.next(), token, ranks.window);
    token = receive_from(ranks.previous(), 1, DType::u8);
  }
  finish_sending();
}

Line ring_of(std::int64_t size, std::int64_t rank) {
  return {0, 1, size, rank};
}

void signal_around_ring(const RankView& ranks, const CollectiveArguments&) {
  signal_both_ways(ranks, ring_of(ranks.size, ranks.rank));
  finish_sending();
}

}  // namespace

CollectiveAlgorithm ring_barrier() {
  return {.name = "ring_barrier",
          .operation = CollectiveOperation::barrier,
          .topology = kRing,
          .method = "a token of one byte, passed on n - 1 times",
          .fold_order = "",
          .runs_on = kRunsOnAnyGroup,
          .refusal = runs_on_any_group,
          .channels = ring_channels,
          .kernel = pass_token_around_ring,
          .steps = [](const GroupShape& ranks) { return std::vector{ring_step(ranks, 0, ranks - 1)}; }};
}

CollectiveAlgorithm bidirectional_ring_barrier() {
  return {.name = "bidirectional_ring_barrier",
          .operation = CollectiveOperation::barrier,
          .topology = kBidirectionalRing,
          .method = "signals to both neighbours, n / 2 times",
          .fold_order = "",
          .runs_on = kRunsWhereChannelsFit,
          .refusal =
              [](const GroupDescription& group) {
                return more_channels_than_fit(group, bidirectional_ring_channels(group.ranks));
              },
          .channels = bidirectional_ring_channels,
          .kernel = signal_around_ring,
          .steps =
              [](const GroupShape& ranks) {
                return std::vector{both_ways_step(ranks, [&](int rank) { return ring_of(ranks, rank); })};
              }};
}

}  // namespace kernbench::distributed
