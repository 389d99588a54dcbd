// The algorithm of the collectives file that a process group uses.
#pragma once

#include <string>

#include "distributed/algorithm_spec.h"
#include "runtime/context.h"

namespace kernbench::distributed {

/// An algorithm of the simulation's collectives file, which is read when first asked for; without a name its default.
/// ConfigurationError for one that it does not have, and for a file that cannot be read.
AlgorithmSpec algorithm_of(runtime::HostContext& context, const std::string& name);

}  // namespace kernbench::distributed
