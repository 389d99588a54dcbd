#include "sim/run_ahead.h"

#include "sim/scheduler_state.h"

namespace kernbench::sim {

bool advance(Scheduler& scheduler, EventKey key) {
  Scheduler::State& state = scheduler.state();
  while (!state.queue.empty()) {
    const EventQueue::Entry next = state.queue.top();
    if (key < next.key) break;
    if (!state.slots[next.payload].cancelled) return false;
    state.queue.pop();
    --state.cancelled_events;
    state.slots.release(next.payload);
  }
  const Time when = Time::picoseconds(static_cast<std::int64_t>(key.time));
  if (when != scheduler.now()) state.begin_instant(when);
  return true;
}

}  // namespace kernbench::sim
