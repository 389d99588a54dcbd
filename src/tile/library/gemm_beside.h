// What lies beside a plan of a product: plans that differ from it in one way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tile/library/gemm_estimate.h"
#include "tile/library/gemm_plan.h"

namespace kernbench::tile::library {

/// `tiles` and those that differ from them in one extent (half or double), in the first step, in how many steps are
/// under way, or in an extent and, as one of `depths`, in that, as far as the caller of `problem` leaves it to the
/// library.
std::vector<GemmTiles> tiles_beside(const GemmTiles& tiles, const GemmBlock& block, const GemmProblem& problem,
                                    std::span<const std::int64_t> depths);

/// `plan` in folds of half of the rows, or of the columns, where its tiles reach over these.
std::vector<GemmPlan> in_smaller_folds(const GemmPlan& plan);

}  // namespace kernbench::tile::library
