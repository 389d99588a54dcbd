// The works of the scheduler. Private to this layer.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/context.h"
#include "sim/errors.h"
#include "sim/event_queue.h"
#include "sim/event_slots.h"
#include "sim/fiber_state.h"
#include "sim/scheduler.h"
#include "sim/stack_pool.h"

namespace kernbench::sim {

class Watchdog;

struct Scheduler::State {
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  explicit State(Scheduler& owner_scheduler) : owner(owner_scheduler) {}

  Scheduler& owner;

  // Events.
  EventQueue queue;
  EventSlots slots;
  std::size_t cancelled_events = 0;   // still in the queue
  std::size_t foreground_events = 0;  // pending and not cancelled
  std::uint64_t events_this_instant = 0;
  std::uint64_t ambiguous_orders = 0;
  EventKey last_key{UINT64_MAX, UINT64_MAX};

  // Fibers.
  Fiber* running = nullptr;
  Fiber* first_live = nullptr;
  std::size_t live_foreground = 0;
  Context main_context;
  ExceptionState* thread_state = nullptr;
  StackPool stacks;
  Stack emergency_stack;  // where a fiber goes whose own has overflowed
  std::unordered_map<std::uint32_t, std::uint64_t> fibers_of_agent;
  std::vector<std::shared_ptr<Fiber>> failed;     // with errors that nobody has taken yet
  std::vector<std::shared_ptr<Fiber>> abandoned;  // their stacks are still reachable from others
  std::exception_ptr stubborn_error;              // of a fiber that would not end while the run unwound
  /// Whose own errors were in flight when the run began to unwind: they waited in destructors.
  std::vector<std::shared_ptr<Fiber>> unwinding_errors;

  // The run in progress.
  bool active = false;
  bool unwinding = false;
  RunLimits limits;
  Watchdog* watchdog = nullptr;
  bool dispatching_background = false;  // whether what runs now keeps the simulation alive; outside fibers only

  // Polling: an event that was scheduled by a fiber which has polled in vain in this epoch, or by such an event, can
  // only lead to more polling. Progress begins a new epoch.
  std::uint32_t poll_epoch = 1;
  std::uint32_t dispatching_poll_epoch = 0;
  std::size_t polling_events = 0;      // pending foreground events of this epoch
  std::uint32_t acting_for = kNobody;  // the origin that ActsFor has set, or kNobody
  std::uint64_t other_work = 0;        // begun by others than fibers that only poll
  bool polled = false;                 // in this epoch
  std::function<bool()> before_deadlock = {};
  bool polling_in_vain = false;
  // A stretch is a time in which nothing but polling goes on.
  std::uint64_t poll_stretch = 0;
  std::uint64_t idle_polls = 0;           // in this stretch
  std::uint64_t events_before_polls = 0;  // of the run, when it began
  std::uint64_t next_judgement = 0;

  EventHandle schedule(Time when, std::uint64_t order, const Callback& callback, bool background);
  bool cancel(EventHandle handle);
  void settle(const EventSlot& slot);  // it is not pending any more
  void drop_cancelled_events();
  void forget_all_events();

  void schedule_resumption(Fiber& fiber, Time when);
  void make_ready(Fiber::Implementation& fiber);  // its resumption is due at this instant
  bool caller_is_foreground() const;
  std::uint32_t caller_poll_epoch() const;
  void note_poll();
  void note_progress();
  void begin_stretch();
  // Of each fiber that polls, and of all so many together, before that counts as a livelock.
  std::uint64_t least_tries() const;
  std::uint64_t least_tries_of_all(std::uint64_t polling) const;
  bool polls_were_dear() const;
  bool all_poll_in_vain();  // in this stretch, often enough

  // Switching.
  void resume(Fiber& fiber);             // on the scheduler: runs it until it yields or ends
  void settle_resumed(Fiber& fiber);     // the rarer half of resume, once the fiber has yielded
  [[gnu::always_inline]] void yield() {  // on a fiber: back to the scheduler
    switch_context(running->implementation().context, main_context, thread_state);
  }
  [[noreturn]] void end_running_fiber();      // on a fiber: back to the scheduler, for ever
  [[noreturn]] void abandon(FiberFate fate);  // on a fiber: ends it without unwinding

  // Life and death of fibers.
  bool start(Fiber& fiber);  // false when it has ended instead, and may be gone
  void finish(Fiber& fiber);
  void link(Fiber& fiber);
  void unlink(Fiber& fiber);
  std::vector<Fiber*> live_fibers() const;  // by agent

  // The run.
  void loop();
  bool at_rest();  // nothing in the foreground is left for this instant
  void fire_next();
  void begin_instant(Time time);
  bool is_quiet(Time time) const;  // look_up() would find nothing to do
  void look_up(Time time);         // at what goes on outside, before the simulation goes on to `time`
  void raise_failures();
  void unwind_all();
  void check_livelock();  // throws unless somebody ends it
  [[noreturn]] void raise_livelock();
  [[noreturn]] void raise_polling();
  /// What the fibers had thrown that were waiting in their destructors.
  DeadlockError with_unwinding_errors(const DeadlockError& deadlock) const;
  [[noreturn]] void raise_time_limit(Time next) const;
};

inline bool Scheduler::State::is_quiet(Time time) const {
  const auto is_set = [](const std::atomic<bool>* flag) {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  };
  return watchdog == nullptr && failed.empty() && time <= limits.max_time && !is_set(limits.stop_requested) &&
         !is_set(limits.progress_due);
}

inline void Scheduler::State::begin_instant(Time time) {
  if (!is_quiet(time)) look_up(time);
  owner.now_ = time;
  events_this_instant = 0;
}

/// Whether a wait of the running fiber ends because of Fiber::cancel or Fiber::raise.
bool interrupts_now(const Fiber::Implementation& fiber);

/// Throws what has been raised in the running fiber, or Cancelled in one that was cancelled; but returns true while an
/// exception is in flight on the latter, for a second one would end the process. False when the fiber may wait. Ends a
/// fiber that does not end by itself.
bool deliver_interruption(Fiber::Implementation& fiber);

/// Asked before each wait of the running fiber: true when the wait must return at once.
inline bool is_interrupted(Fiber::Implementation& fiber) {
  return fiber.interrupted && deliver_interruption(fiber);
}

/// The running fiber; throws ProgramError outside of one. `call` names what was called, for the message.
Fiber& require_fiber(const char* call);

/// The scheduler that runs on this thread (tools/gdb looks for this name).
extern constinit thread_local Scheduler::State* active_scheduler;

}  // namespace kernbench::sim
