// What the algorithms have in common that go from each rank straight to each other one.
#pragma once

#include <string_view>
#include <vector>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

inline constexpr std::string_view kAllPairs = "all_pairs";

/// By the distance from rank to rank, so that each step's are together.
inline std::vector<RankPair> channels_of_all_pairs(int ranks) {
  std::vector<RankPair> channels;
  for (int from = 0; from < ranks; ++from) {
    for (int step = 1; step < ranks; ++step) channels.emplace_back(from, (from + step) % ranks);
  }
  return channels;
}

inline constexpr std::string_view kRunsInRounds =
    "any group; more ranks than a PE has channels for take several launches";

}  // namespace kernbench::distributed
