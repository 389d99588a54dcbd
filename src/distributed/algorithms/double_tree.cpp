#include "distributed/algorithms/double_tree.h"

#include <algorithm>
#include <bit>
#include <set>

#include "distributed/algorithms/degree.h"

namespace kernbench::distributed {

TreePlace first_tree(int ranks, int rank) {
  int bit = 1;
  while (bit < ranks && (bit & rank) == 0) bit <<= 1;
  if (rank == 0) return {-1, {-1, ranks > 1 ? bit >> 1 : -1}};
  TreePlace place;
  place.parent = (rank ^ bit) | (bit << 1);
  if (place.parent >= ranks) place.parent = rank ^ bit;
  if (bit == 1) return place;
  int below = bit >> 1;
  place.children[0] = rank - below;
  // Where the usual child is missing, the next one down takes its place.
  while (below > 0 && rank + below >= ranks) below >>= 1;
  if (below > 0) place.children[1] = rank + below;
  return place;
}

TreePlace second_tree(int ranks, int rank) {
  const bool shifts = ranks % 2 == 1;
  const TreePlace other = first_tree(ranks, shifts ? (rank - 1 + ranks) % ranks : ranks - 1 - rank);
  const auto back = [&](int of_first) {
    if (of_first < 0) return -1;
    return shifts ? (of_first + 1) % ranks : ranks - 1 - of_first;
  };
  return {back(other.parent), {back(other.children[0]), back(other.children[1])}};
}

std::vector<RankPair> double_tree_channels(const GroupShape& ranks) {
  std::set<RankPair> channels;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const int parent : {first_tree(ranks, rank).parent, second_tree(ranks, rank).parent}) {
      if (parent < 0) continue;
      channels.insert({rank, parent});
      channels.insert({parent, rank});
    }
  }
  return {channels.begin(), channels.end()};
}

std::string double_tree_refusal(const GroupDescription& group) {
  return more_channels_than_fit(group, double_tree_channels(group.ranks));
}

std::int64_t depth_in(Tree tree, int ranks, int rank) {
  std::int64_t depth = 0;
  for (int at = tree(ranks, rank).parent; at >= 0; at = tree(ranks, at).parent) ++depth;
  return depth;
}

std::int64_t height_of_trees(int ranks) {
  return std::bit_width(static_cast<unsigned>(std::max(ranks, 1) - 1));
}

std::vector<CostStep> levels_of_tree(Tree tree, int ranks, bool up) {
  std::vector<CostStep> levels;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto depth = static_cast<std::size_t>(depth_in(tree, ranks, rank));
    if (depth == 0) continue;
    levels.resize(std::max(levels.size(), depth));
    const int parent = tree(ranks, rank).parent;
    levels[depth - 1].messages.push_back({up ? rank : parent, up ? parent : rank});
  }
  if (up) std::ranges::reverse(levels);
  return levels;
}

}  // namespace kernbench::distributed
