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

bool is_own(const EventSlot& slot, std::span<void* const> own) {
  return std::ranges::find(own, slot.callback.object) != own.end();
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

Time quiet_until(Scheduler& scheduler, std::span<void* const> own) {
  Scheduler::State& state = scheduler.state();
  auto until = static_cast<std::uint64_t>(state.limits.max_time.count());
  state.queue.retime([&](std::uint64_t time, std::uint32_t index) {
    const EventSlot& slot = state.slots[index];
    if (!slot.cancelled && !is_own(slot, own)) until = std::min(until, time);
    return time;
  });
  return Time::picoseconds(static_cast<std::int64_t>(until));
}

void skip(Scheduler& scheduler, Time by, std::span<void* const> own) {
  Scheduler::State& state = scheduler.state();
  const auto more = static_cast<std::uint64_t>(by.count());
  // One that was cancelled comes up at a time that is not in the past.
  state.queue.retime([&](std::uint64_t time, std::uint32_t index) {
    const EventSlot& slot = state.slots[index];
    return slot.cancelled || is_own(slot, own) ? time + more : time;
  });
  state.begin_instant(scheduler.now() + by);
}

}  // namespace kernbench::sim
