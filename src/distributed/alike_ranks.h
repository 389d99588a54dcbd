// Whether the ranks of a group do the same where all devices are alike.
#pragma once

#include <span>

#include "distributed/algorithms/algorithm.h"
#include "topology/alike_sips.h"

namespace kernbench::distributed {

/// Whether channels lead from each rank, which is a SIP, as from SIP 0: as many as far, by ways that are alike. Where
/// SIPs stand in several rows also whether they lead to neighbours: kernels go through others in the order of ranks,
/// which is another one for each.
bool are_alike(std::span<const RankPair> channels, const topology::AlikeSips& sips);

}  // namespace kernbench::distributed
