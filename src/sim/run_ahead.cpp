#include "sim/run_ahead.h"

#include <algorithm>

#include "sim/scheduler_state.h"

namespace kernbench::sim {

namespace {

void drop_first(Scheduler::State& state) {
  state.slots.release(state.queue.top().payload);
  state.queue.pop();
  --state.cancelled_events;
}

}  // namespace

bool advance(Scheduler& scheduler, EventKey key) {
  Scheduler::State& state = scheduler.state();
  while (!state.queue.empty()) {
    const EventQueue::Entry next = state.queue.top();
    if (key < next.key) break;
    if (!state.slots[next.payload].cancelled) return false;
    drop_first(state);
  }
  const Time when = Time::picoseconds(static_cast<std::int64_t>(key.time));
  if (when != scheduler.now()) state.begin_instant(when);
  return true;
}

Time quiet_until(Scheduler& scheduler) {
  Scheduler::State& state = scheduler.state();
  while (!state.queue.empty()) {
    const EventQueue::Entry next = state.queue.top();
    if (!state.slots[next.payload].cancelled) {
      return std::min(Time::picoseconds(static_cast<std::int64_t>(next.key.time)), state.limits.max_time);
    }
    drop_first(state);
  }
  return state.limits.max_time;
}

}  // namespace kernbench::sim
