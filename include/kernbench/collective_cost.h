// The closed-form cost of collectives, by which algorithms are chosen (docs/collectives.md).
#pragma once

#include <cstdint>
#include <string>

#include "kernbench/distributed.h"
#include "kernbench/where.h"

namespace kernbench::torch::ahbm {

/// Of the algorithm that costs least.
struct CollectiveCost {
  std::string algorithm;  // "direct_allreduce"; empty: there is nothing to communicate
  double nanoseconds = 0;
};

/// An all-reduce of so many bytes of each rank by the best one of the shipped algorithms that can run on the group, and
/// of one's own that say their steps; whatever the collectives file, the call or KB_ALGO choose. Without the launch.
/// Takes no simulated time. ValueError for fewer than no bytes.
CollectiveCost all_reduce_cost(std::int64_t bytes, const distributed::ProcessGroup& group = {},
                               Where where = Where::current());

}  // namespace kernbench::torch::ahbm
