// What the algorithms have in common that go from each rank straight to each other one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "distributed/algorithms/both_ways.h"

namespace kernbench::distributed {

inline constexpr std::string_view kAllPairs = "all_pairs";

/// By the distance from rank to rank, so that each step's are together.
inline std::vector<RankPair> channels_of_all_pairs(const GroupShape& ranks) {
  std::vector<RankPair> channels;
  for (int from = 0; from < ranks; ++from) {
    for (int step = 1; step < ranks; ++step) channels.emplace_back(from, (from + step) % ranks);
  }
  return channels;
}

inline constexpr std::string_view kRunsWhereAllPairsFit = "as many ranks as a PE has channels for, and one more";
/// Why a PE has not as many channels as there are other ranks; empty: it has.
std::string all_pairs_refusal(const GroupDescription& group);

/// `share` of the bytes from each rank to each other one; `touched` of these a rank loads or stores.
inline CostStep all_pairs_step(int ranks, double share, double touched = 0) {
  CostStep step{.share = share, .memory = touched};
  for (const auto& [from, to] : channels_of_all_pairs(ranks)) step.messages.push_back({from, to});
  return step;
}
/// With messages in the order of for_each_distance.
inline CostStep in_turn(CostStep step) {
  step.in_turn = true;
  return step;
}
/// Chunks of 1/(n - 1) from the root to each rank, and at one time from each of these to all others but the root; and
/// the same backwards. Rank 0 stands for the root. It loads all, and then the others store all; backwards these load
/// all, and then the root adds its own.
std::vector<CostStep> from_root_steps(const GroupShape& ranks);
std::vector<CostStep> to_root_steps(const GroupShape& ranks);

/// Calls body(distance) for the distances from a rank to the others. The PEs of a row of the mesh begin with one, those
/// of other rows with others, so that all links are in use: the messages of a row share a lane to the IO chiplet.
template <class Body>
void for_each_distance(const RankView& ranks, const Body& body) {
  const std::int64_t others = ranks.size - 1;
  if (others == 0) return;
  const std::int64_t first = way_of_this_pe(*ranks.machine, others);
  for (std::int64_t i = 0; i < others; ++i) body((first + i) % others + 1);
}

inline constexpr std::string_view kRunsInRounds =
    "any group; more ranks than a PE has channels for take several launches";

}  // namespace kernbench::distributed
