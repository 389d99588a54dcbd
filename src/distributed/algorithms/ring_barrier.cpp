// Barrier along a ring: a token goes around as often as there are ranks. After n - 1 steps, of one byte each, a rank
// has heard of all others.
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
          .kernel = pass_token_around_ring};
}

}  // namespace kernbench::distributed
