// What the algorithms on a ring have in common: each rank sends to the next one and receives from the one before.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

inline constexpr std::string_view kRing = "ring_1d";

inline std::vector<RankPair> ring_channels(const GroupShape& ranks) {
  std::vector<RankPair> channels;
  for (int rank = 0; rank < ranks; ++rank) channels.emplace_back(rank, (rank + 1) % ranks);
  return channels;
}

/// To the next rank, `times` over, `share` of the bytes each time; `touched` times that a rank loads or stores in all.
inline CostStep ring_step(int ranks, double share, std::int64_t times, double touched = 0) {
  CostStep step{
      .share = share, .times = times, .memory = touched / static_cast<double>(std::max<std::int64_t>(times, 1))};
  for (int rank = 0; rank < ranks; ++rank) step.messages.push_back({rank, (rank + 1) % ranks});
  return step;
}

/// All bytes from rank to rank, tile by tile, from one end of a line to the other. The line ends before the root,
/// whichever that is, so all links of the ring stand for it. A rank loads or stores them `touched` times.
inline CostStep line_step(int ranks, double touched) {
  CostStep step = ring_step(ranks, 1, 1, touched);
  step.latencies = ranks - 1;
  return step;
}

/// One channel each way and rank; where not even that finds room, the first communication says so.
inline constexpr std::string_view kRunsOnAnyGroup = "any group";
inline std::string runs_on_any_group(const GroupDescription&) {
  return {};
}

}  // namespace kernbench::distributed
