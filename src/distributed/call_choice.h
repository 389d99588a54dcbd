// The algorithm of one call of a collective, among those of its group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "distributed/collective.h"

namespace kernbench::distributed {

/// The named one, or of an automatic choice the one that costs least of those that take the call. ConfigurationError
/// when the named one, or all of them, refuse it (CollectiveAlgorithm::validator), with the reason and those that do
/// not. `bytes`: of the tensor, or of all blocks; `pes`: that take part, if not those that hold the tensor.
const CollectiveAlgorithm& algorithm_of_call(Group& group, const CollectiveCall& call, std::int64_t bytes,
                                             const std::optional<std::vector<PeCoordinate>>& pes,
                                             const runtime::HostContext& context);

}  // namespace kernbench::distributed
