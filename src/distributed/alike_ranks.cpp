#include "distributed/alike_ranks.h"

#include <algorithm>
#include <map>

namespace kernbench::distributed {

bool are_alike(std::span<const RankPair> channels, const topology::AlikeSips& sips) {
  std::map<SipId, std::map<int, int>> channels_of;  // by how far they lead; how many each rank has
  int ranks = 0;
  for (const auto& [from, to] : channels) {
    ranks = std::max({ranks, from + 1, to + 1});
    const SipId distance = sips.seen_from(SipId{from}, SipId{to});
    if (!sips.ways_are_alike(distance) || (!sips.are_in_order() && !sips.is_neighbour(distance))) return false;
    ++channels_of[distance][from];
  }
  return std::ranges::all_of(channels_of, [&](const auto& each) {
    const auto& by_rank = each.second;
    const auto as_many = [&](const auto& rank) { return rank.second == by_rank.begin()->second; };
    return static_cast<int>(by_rank.size()) == ranks && std::ranges::all_of(by_rank, as_many);
  });
}

}  // namespace kernbench::distributed
