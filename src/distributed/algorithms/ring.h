// What the algorithms on a ring have in common: each rank sends to the next one and receives from the one before.
#pragma once

#include <string>
#include <vector>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

inline constexpr std::string_view kRing = "ring_1d";

inline std::vector<RankPair> ring_channels(int ranks) {
  std::vector<RankPair> channels;
  for (int rank = 0; rank < ranks; ++rank) channels.emplace_back(rank, (rank + 1) % ranks);
  return channels;
}

/// One channel each way and rank; where not even that finds room, the first communication says so.
inline constexpr std::string_view kRunsOnAnyGroup = "any group";
inline std::string runs_on_any_group(const GroupDescription&) {
  return {};
}

}  // namespace kernbench::distributed
