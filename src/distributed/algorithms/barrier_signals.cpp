#include "distributed/algorithms/barrier_signals.h"

#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

void signal(const RankView& ranks, std::int64_t to) {
  send_to(ranks.part(to), tl::full({1}, 0, DType::u8), ranks.window);
}

void hear(const RankView& ranks, std::int64_t from) {
  receive_from(ranks.part(from), 1, DType::u8);
}

void signal_both_ways(const RankView& ranks, const Line& line) {
  for (std::int64_t step = 1; step <= line.count / 2; ++step) {
    const bool meet = 2 * step == line.count;  // the same rank is so far away in both directions
    signal(ranks, line.next());
    if (!meet) signal(ranks, line.previous());
    hear(ranks, line.previous());
    if (!meet) hear(ranks, line.next());
  }
}

}  // namespace kernbench::distributed
