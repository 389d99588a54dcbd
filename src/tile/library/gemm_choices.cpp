// What a plan has chosen, for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "kernbench/units.h"
#include "tile/library/gemm_plan.h"

namespace kernbench::tile::library {

namespace {

/// Rows and columns of the product that no range has.
std::pair<std::int64_t, std::int64_t> edge_extents(const GemmPlan& plan) {
  if (plan.edges.empty()) return {0, 0};
  std::int64_t rows = 0, columns = 0;
  for (const GemmRange& range : plan.ranges) {
    rows = std::max(rows, range.m[1]), columns = std::max(columns, range.n[1]);
  }
  return {plan.shape.m - rows, plan.shape.n - columns};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> choices(const GemmPlan& plan) {
  const auto grid = [](const GemmPlan::Grid& parts) {
    std::string text;
    for (const auto& [name, count] :
         {std::pair{"batch", parts.batch}, std::pair{"m", parts.m}, std::pair{"n", parts.n}, std::pair{"k", parts.k}}) {
      if (count > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, count);
    }
    return text.empty() ? std::string("1") : text;
  };
  const auto places = [](const GemmPlan::Nearby& nearby) {
    const long own = std::lround(100 * nearby.own), near = std::lround(100 * (nearby.own + nearby.cube)) - own;
    std::string text;
    for (const auto& [percent, place] :
         {std::pair{own, "own slice"}, std::pair{near, "cube"}, std::pair{100 - own - near, "SIP"}}) {
      if (percent > 0) text += fmt::format("{}{} {} %", text.empty() ? "" : ", ", place, percent);
    }
    return text;
  };
  std::vector<std::pair<std::string, std::string>> all{{"tile_m", std::to_string(plan.tile_m)},
                                                       {"tile_n", std::to_string(plan.tile_n)},
                                                       {"tile_k", std::to_string(plan.tile_k)},
                                                       {"first_k", std::to_string(plan.first_k)},
                                                       {"depth", std::to_string(plan.depth)},
                                                       {"split_k", std::to_string(plan.split_k)},
                                                       {"over_cubes", grid(plan.cubes)},
                                                       {"over_pes", grid(plan.pes)},
                                                       {"a_from", places(plan.a)},
                                                       {"b_from", places(plan.b)},
                                                       {"tcm", to_text(Bytes(plan.tcm_bytes))}};
  if (plan.tile_m > plan.fold.rows || plan.tile_n > plan.fold.columns)
    all.emplace_back("fold", fmt::format("{} x {}", plan.fold.rows, plan.fold.columns));
  all.emplace_back("dma_queues", std::to_string(plan.dma_queues));
  if (plan.more_k > 0) all.emplace_back("steps", fmt::format("grow by {}", plan.more_k));
  if (plan.loads_together()) {
    const bool a = !plan.mates_a.empty(), b = !plan.mates_b.empty();
    all.emplace_back("multicast", a && b ? "A, B" : a ? "A" : "B");
  }
  if (plan.vector_share > 0)
    all.emplace_back("vector_share", fmt::format("{} %", std::lround(100 * plan.vector_share)));
  if (const auto [rows, columns] = edge_extents(plan); rows + columns > 0)
    all.emplace_back("edges", fmt::format("{} rows, {} columns", rows, columns));
  return all;
}

}  // namespace kernbench::tile::library
