// The kernel that runs a plan.
#pragma once

#include <string>

#include "distributed/msccl/plan.h"
#include "kernbench/collectives.h"

namespace kernbench::distributed::msccl {

/// On one PE of a rank: the schedule on its part. As many tiles of every chunk at a time as slots allow: with all of
/// them the actions of the rank's gpu, in their order. What is in scratch chunks stays in the TCM; where that is small,
/// tiles are shorter. `name`: of the algorithm, for errors.
void run(const Plan& plan, const std::string& name, const collectives::Program& program);

}  // namespace kernbench::distributed::msccl
