// Decides which rank is wrong when ranks that must make the same call make different ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace kernbench::distributed {

/// "rank 1", or with several "ranks {1, 2}"; `one` and `several` are the words for them.
std::string ranks_text(const std::vector<int>& ranks, const char* one = "rank", const char* several = "ranks");

/// Adds a rank to those of a side, whose lowest stays in front, in constant time. Whether it is the lowest now.
bool add_rank(std::vector<int>& side, int rank);

struct Judgement {
  std::vector<std::size_t> order;  // of the sides: the right one first, the others by their lowest ranks
  std::string culprits;            // "Culprit ranks {1, 3}", or that there is none
};

/// The side of more than half of the callers is right, and the others are to blame; without such a side nobody is. A
/// side is the ranks, ascending, that called the same; none is empty. The order of the sides does not matter.
Judgement judge(const std::vector<std::vector<int>>& sides);

constexpr std::size_t kMostSides = 8;  // that a text has one by one; the others by their ranks

/// "ranks {8-63}": of all sides behind the first `shown`, of which there are more.
template <class Side>
std::string ranks_behind(const std::vector<Side>& sides, std::size_t shown) {
  std::vector<int> ranks;
  for (std::size_t i = shown; i < sides.size(); ++i)
    ranks.insert(ranks.end(), sides[i].ranks.begin(), sides[i].ranks.end());
  std::ranges::sort(ranks);
  return ranks_text(ranks);
}

/// Puts sides, which have their `ranks`, into the order of the judgement; returns who is to blame.
template <class Side>
std::string judge_sides(std::vector<Side>& sides) {
  std::vector<std::vector<int>> ranks;
  for (Side& side : sides) {
    std::ranges::sort(side.ranks);
    ranks.push_back(side.ranks);
  }
  Judgement judgement = judge(ranks);
  std::vector<Side> ordered;
  for (const std::size_t index : judgement.order) ordered.push_back(std::move(sides[index]));
  sides = std::move(ordered);
  return std::move(judgement.culprits);
}

}  // namespace kernbench::distributed
