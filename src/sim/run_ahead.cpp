#include "sim/run_ahead.h"

#include "sim/scheduler_state.h"

namespace kernbench::sim {

bool advance(Scheduler& scheduler, Time when, Phase phase, AgentId agent, std::uint64_t operation) {
  Scheduler::State& state = scheduler.state();
  const EventKey key{static_cast<std::uint64_t>(when.count()), make_order(phase, agent, operation)};
  while (!state.queue.empty()) {
    const EventQueue::Entry next = state.queue.top();
    if (key < next.key) break;
    if (!state.slots[next.payload].cancelled) return false;
    state.queue.pop();
    --state.cancelled_events;
    state.slots.release(next.payload);
  }
  if (when != scheduler.now()) state.begin_instant(when);
  return true;
}

}  // namespace kernbench::sim
