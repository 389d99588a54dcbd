// The errors of the ranks of a spawn, each said once.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "kernbench/multiprocessing.h"

namespace kernbench::distributed {

/// What ranks of a spawn threw on their own, at one simulated time and in the same words.
struct RankErrorResult {
  std::vector<int> ranks;  // ascending
  Time time;
  std::string type, message, where;
};

/// What several ranks threw at one time, in the same words, becomes one entry with all their ranks. In the order of the
/// first of them.
std::vector<RankErrorResult> folded(const std::vector<torch::multiprocessing::RankError>& errors);

}  // namespace kernbench::distributed
