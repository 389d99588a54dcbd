// A cycle of waits as one line.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/deadlock_graph.h"

namespace kernbench::sim {

/// `cycle` starts and ends with the same node. Between programs of the host, a clause for each, in their own words:
/// "cycle: rank 0 waits in synchronize at ring.cpp:10 for its send to rank 1 (tag 0) of the default group, called at
/// ring.cpp:8, which rank 1 has not received; rank 1 …"; otherwise the programs and calls, and behind each what the
/// call before it needs.
Name cycle_text(const DeadlockGraph& graph, std::vector<std::size_t> cycle);

}  // namespace kernbench::sim
