#include "tile/library/gemm_beside.h"

#include <algorithm>

namespace kernbench::tile::library {

std::vector<std::int64_t> depths_of(const GemmProblem& problem) {
  if (problem.depth > 0) return {problem.depth};
  return {1, 2, 3, 5};
}

std::vector<GemmTiles> tiles_beside(const GemmTiles& tiles, const GemmBlock& block, const GemmProblem& problem) {
  constexpr std::int64_t kDeepest = 8;  // assumption
  std::vector<GemmTiles> all{tiles};
  const auto add = [&](std::int64_t GemmTiles::* extent, std::int64_t value, std::int64_t most) {
    GemmTiles other = tiles;
    other.*extent = std::clamp<std::int64_t>(value, 1, most);
    other.first_k = std::min(other.first_k, other.k);
    if (other == tiles) return;
    all.push_back(other);
    if (extent == &GemmTiles::depth) return;
    for (const std::int64_t depth : depths_of(problem)) {
      other.depth = depth;
      if (depth != tiles.depth) all.push_back(other);
    }
  };
  const auto halve_and_double = [&](std::int64_t GemmTiles::* extent, std::int64_t most) {
    add(extent, tiles.*extent / 2, most);
    add(extent, tiles.*extent * 2, most);
  };
  if (problem.tile_m == 0) halve_and_double(&GemmTiles::m, block.m);
  if (problem.tile_n == 0) halve_and_double(&GemmTiles::n, block.n);
  if (problem.tile_k == 0) halve_and_double(&GemmTiles::k, block.k);
  halve_and_double(&GemmTiles::first_k, tiles.k);
  if (problem.depth > 0) return all;
  for (const std::int64_t depth : {tiles.depth - 1, tiles.depth + 1, tiles.depth + 2})
    add(&GemmTiles::depth, depth, kDeepest);
  return all;
}

std::vector<GemmPlan> in_smaller_folds(const GemmPlan& plan) {
  std::vector<GemmPlan> all;
  const auto add = [&](tl::Fold fold) {
    all.push_back(plan);
    all.back().fold = fold;
  };
  const std::int64_t rows = plan.fold.rows / 2, columns = plan.fold.columns / 2;
  if (rows > 0 && plan.tile_m > rows) add({rows, plan.fold.columns});
  if (columns > 0 && plan.tile_n > columns) add({plan.fold.rows, columns});
  return all;
}

bool same_grid(const GemmPlan& one, const GemmPlan& other) {
  return one.cubes == other.cubes && one.pes == other.pes;
}

bool same_steps(const GemmPlan& one, const GemmPlan& other) {
  return same_grid(one, other) && tiles_of(one) == tiles_of(other) && one.more_k == other.more_k &&
         one.edges.size() == other.edges.size();
}

}  // namespace kernbench::tile::library
