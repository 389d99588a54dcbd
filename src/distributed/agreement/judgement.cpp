#include "distributed/agreement/judgement.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "base/number_set.h"

namespace kernbench::distributed {

std::string ranks_text(const std::vector<int>& ranks, const char* one, const char* several) {
  return ranks.size() == 1 ? fmt::format("{} {}", one, ranks.front()) : fmt::format("{} {}", several, set_text(ranks));
}

bool add_rank(std::vector<int>& side, int rank) {
  side.push_back(rank);
  if (rank > side.front()) return false;
  std::swap(side.front(), side.back());
  return true;
}

Judgement judge(const std::vector<std::vector<int>>& sides) {
  Judgement judgement{std::vector<std::size_t>(sides.size()),
                      "No culprit: none of the calls is that of more than half of the ranks"};
  auto& order = judgement.order;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t side) { return sides[side].front(); });
  const auto right = std::ranges::max_element(order, {}, [&](std::size_t side) { return sides[side].size(); });
  const std::size_t callers =
      std::accumulate(sides.begin(), sides.end(), std::size_t{0},
                      [](std::size_t sum, const std::vector<int>& side) { return sum + side.size(); });
  if (2 * sides[*right].size() <= callers) return judgement;
  std::rotate(order.begin(), right, right + 1);
  std::vector<int> wrong;
  for (std::size_t i = 1; i < order.size(); ++i) {
    wrong.insert(wrong.end(), sides[order[i]].begin(), sides[order[i]].end());
  }
  std::ranges::sort(wrong);
  judgement.culprits = ranks_text(wrong, "Culprit rank", "Culprit ranks");
  return judgement;
}

}  // namespace kernbench::distributed
