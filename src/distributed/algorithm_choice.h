// The algorithm of the collectives file that a process group uses.
#pragma once

#include <string>

#include "distributed/algorithm_spec.h"
#include "runtime/context.h"

namespace kernbench::distributed {

/// An algorithm of the simulation's collectives file, which is read when first asked for; without a name its default.
/// ConfigurationError for one that it does not have, and for a file that cannot be read.
AlgorithmSpec algorithm_of(runtime::HostContext& context, const std::string& name);

/// The one for a group of so many ranks: without a name the file's default, with what the environment variable KB_ALGO
/// leaves of its choices. ConfigurationError also for a KB_ALGO that cannot be read.
AlgorithmSpec algorithm_of_group(runtime::HostContext& context, const std::string& name, int ranks, bool rank_per_pe);

}  // namespace kernbench::distributed
