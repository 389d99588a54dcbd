// Time for an agent that keeps a queue of its own: it acts again and again within one event.
#pragma once

#include "sim/phase.h"
#include "sim/scheduler.h"

namespace kernbench::sim {

/// Called in an event's callback. When nothing is due before `key`, its time is now() from now on, and the caller does
/// there what an event of this key would have done; otherwise nothing happens and the answer is false. Requires a key
/// that is not in the past and that no pending event has. Throws what ends a run at that time, such as a
/// TimeLimitError.
bool advance(Scheduler& scheduler, EventKey key);

/// Called in an event's callback: nothing happens before this time but what the caller does. At most the limit of the
/// run.
Time quiet_until(Scheduler& scheduler);

}  // namespace kernbench::sim
