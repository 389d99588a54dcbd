// What lies beside a plan of a product: plans that differ from it in one way.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/library/gemm_estimate.h"
#include "tile/library/gemm_plan.h"

namespace kernbench::tile::library {

/// How many steps may be under way: what is tried, unless the caller of `problem` says it.
std::vector<std::int64_t> depths_of(const GemmProblem& problem);

/// `tiles` and those that differ from them in one extent (half or double), in the first step, in how many steps are
/// under way, or in an extent and, as one of depths_of(problem), in that, as far as the caller of `problem` leaves it
/// to the library.
std::vector<GemmTiles> tiles_beside(const GemmTiles& tiles, const GemmBlock& block, const GemmProblem& problem);

/// `plan` in folds of half of the rows, or of the columns, where its tiles reach over these.
std::vector<GemmPlan> in_smaller_folds(const GemmPlan& plan);

/// Programs of both share the product in the same way.
bool same_grid(const GemmPlan& one, const GemmPlan& other);
/// They walk the same ranges in the same steps, too.
bool same_steps(const GemmPlan& one, const GemmPlan& other);

}  // namespace kernbench::tile::library
