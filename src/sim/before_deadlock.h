// Being asked before a run is given up as a deadlock or a livelock.
#pragma once

#include <functional>

#include "sim/scheduler.h"

namespace kernbench::sim {

/// `act` is called when nothing is left that could wake the fibers that wait, or change what the others poll. It may do
/// so, and returns whether it has. One for each scheduler.
void before_deadlock(Scheduler& scheduler, std::function<bool()> act);

}  // namespace kernbench::sim
