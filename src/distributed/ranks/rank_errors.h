// The errors of the ranks of a spawn, each said once.
#pragma once

#include <exception>
#include <vector>

#include "kernbench/multiprocessing.h"
#include "kernbench/result.h"

namespace kernbench::distributed {

/// What several ranks threw at one time, in the same words, becomes one entry with all their ranks. In the order of the
/// first of them.
std::vector<RankErrorResult> folded(const std::vector<torch::multiprocessing::RankError>& errors);

/// Of the failure of a spawn: who failed, and who was unwound. Nothing for any other error.
void add_rank_errors(const std::exception_ptr& error, ErrorResult& result);

}  // namespace kernbench::distributed
