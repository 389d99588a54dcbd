// What the barriers have in common: messages of one byte, each of which says that its sender has come, and all that it
// has heard of.
#pragma once

#include <cstdint>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

/// To the rank at a place in the group, and from it. Who has heard goes on.
void signal(const RankView& ranks, std::int64_t to);
void hear(const RankView& ranks, std::int64_t from);
/// Signals go both ways around a line, as far as halfway: then all of its ranks know of each other.
void signal_both_ways(const RankView& ranks, const Line& line);
/// The messages of that, for each line through a rank that `line_of` yields.
template <class LineOf>
CostStep both_ways_step(int ranks, const LineOf& line_of) {
  CostStep step;
  for (int rank = 0; rank < ranks; ++rank) {
    const Line line = line_of(rank);
    step.times = line.count / 2;
    for (const std::int64_t to : {line.next(), line.previous()}) step.messages.push_back({rank, static_cast<int>(to)});
  }
  return step;
}

}  // namespace kernbench::distributed
