// Time for an agent that keeps a queue of its own: it acts again and again within one event.
#pragma once

#include <cstdint>

#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::sim {

/// Called in an event's callback. When nothing is due before (when, phase, agent, operation), time is `when` from now
/// on, and the caller does there what an event of this key would have done; otherwise nothing happens and the answer is
/// false. Requires when >= now() and a key that no pending event has. Throws what ends a run at `when`, such as a
/// TimeLimitError.
bool advance(Scheduler& scheduler, Time when, Phase phase, AgentId agent, std::uint64_t operation);

}  // namespace kernbench::sim
