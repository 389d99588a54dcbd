#include "sim/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "base/error_text.h"
#include "base/text.h"
#include "sim/before_deadlock.h"
#include "sim/errors.h"
#include "sim/overflow_guard.h"
#include "sim/report.h"
#include "sim/scheduler_state.h"
#include "sim/watchdog.h"

namespace kernbench::sim {

constinit thread_local Scheduler::State* active_scheduler = nullptr;

namespace {

// Fibers resume with operation numbers of their own, above those of all other events of their agents.
constexpr std::uint64_t kFirstFiberOperation = std::uint64_t{1} << 35;
[[maybe_unused]] constexpr std::uint32_t kMaxAgent = (1u << 26) - 1;

// A fiber that has resumed so often without polling again does something else than polling.
constexpr std::uint32_t kResumptionsPerPoll = 64;

constinit thread_local SwitchHook switch_hook = nullptr;

constexpr std::string_view kLatest = ", the latest that can be simulated";

// Marks the events that resume a fiber; fire_next() knows them and does not call it.
void fire_resumption(void* /*fiber*/, std::uint64_t /*argument*/) {}

void fiber_main() {
  Scheduler::State& scheduler = *active_scheduler;
  Fiber::Implementation& fiber = scheduler.running->implementation();
  try {
    fiber.body();
  } catch (const Cancelled&) {  // NOLINT(bugprone-empty-catch): unwound as it was asked to; nothing is left to do
  } catch (...) {
    fiber.error = std::current_exception();
  }
  if (fiber.error == nullptr && !fiber.cancelled) fiber.error = std::exchange(fiber.raised, nullptr);
  // What the body captured, and the layers' state, may wait in their destructors: they go while the fiber still can.
  fiber.body = nullptr;
  for (auto& local : fiber.locals) local.reset();
  fiber.status = FiberStatus::finished;
  scheduler.end_running_fiber();
}

bool by_agent(const Fiber* a, const Fiber* b) {
  const Fiber::Implementation& left = a->implementation();
  const Fiber::Implementation& right = b->implementation();
  return left.resume_order < right.resume_order;
}

/// "fiber 'rank 0'", with the last place in the user's source where that is known.
std::string described(const Fiber::Implementation& fiber) {
  const std::string place = fiber.fiber->place();
  return fmt::format("fiber '{}'{}", fiber.fiber->name(), place.empty() ? "" : " (last known at " + place + ")");
}

std::exception_ptr make_fate_error(const Fiber::Implementation& fiber) {
  switch (fiber.fate) {
    case FiberFate::ordinary:
      break;
    case FiberFate::stack_overflow:
      return std::make_exception_ptr(StackOverflowError(
          fmt::format("{} overflowed its stack of {}: endless recursion, or large local variables (put them on the "
                      "heap, or give all fibers larger stacks: --stack-size 8MiB, SimulateOptions::stack_size); it "
                      "could not be unwound, so its destructors did not run",
                      described(fiber), to_text(Bytes(static_cast<std::int64_t>(fiber.stack.size))))));
    case FiberFate::swallowed_cancellation:
      return std::make_exception_ptr(CancellationError(
          fmt::format("fiber '{}' was cancelled, caught Cancelled {} times and went on waiting: a handler that catches "
                      "everything must rethrow Cancelled; its destructors did not run",
                      fiber.fiber->name(), fiber.swallowed - 1)));
    case FiberFate::endless_unwinding:
      return std::make_exception_ptr(CancellationError(fmt::format(
          "fiber '{}' was cancelled and waits in a loop while it unwinds: its waits return at once and must not be "
          "repeated until what it waits for is there; the other destructors did not run",
          fiber.fiber->name())));
  }
  return nullptr;
}

// What the calling thread holds while it runs a simulation.
class RunScope {
 public:
  RunScope(Scheduler::State& scheduler, const RunLimits& limits) : scheduler_(scheduler) {
    if (active_scheduler != nullptr) {
      throw ProgramError("NestedRunError",
                         "Scheduler::run inside of a simulation: nothing but the one scheduler of a "
                         "thread may advance simulated time");
    }
    adopt_thread(scheduler.main_context);
    scheduler.thread_state = thread_exception_state();
    scheduler.limits = limits;
    scheduler.limits.max_time = std::min(limits.max_time, Time::limit());
    if (scheduler.emergency_stack.bottom == nullptr) scheduler.emergency_stack = scheduler.stacks.acquire(64 * 1024);
    if (limits.watchdog_seconds > 0) watchdog_.emplace(limits.watchdog_seconds, limits.on_stuck);
    scheduler.watchdog = watchdog_ ? &*watchdog_ : nullptr;
    scheduler.unwinding = false;
    scheduler.idle_polls = 0;
    active_scheduler = &scheduler;
  }
  ~RunScope() {
    active_scheduler = nullptr;
    scheduler_.watchdog = nullptr;
    scheduler_.failed.clear();
    scheduler_.abandoned.clear();
    scheduler_.unwinding_errors.clear();
  }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  Scheduler::State& scheduler_;
  std::optional<Watchdog> watchdog_;
  OverflowGuard overflow_guard_;
};

}  // namespace

SwitchHook set_switch_hook(SwitchHook hook) {
  return std::exchange(switch_hook, hook);
}

void before_deadlock(Scheduler& scheduler, std::function<bool()> act) {
  scheduler.state().before_deadlock = std::move(act);
}

Scheduler::Scheduler() : state_(std::make_unique<State>(*this)) {}

Scheduler::~Scheduler() {
  // Only fibers that no run has started can be left.
  for (Fiber* fiber : state_->live_fibers()) state_->finish(*fiber);
}

std::uint64_t Scheduler::ambiguous_orders() const {
  return state_->ambiguous_orders;
}

EventHandle Scheduler::schedule(Time when, Phase phase, AgentId agent, std::uint64_t operation, Callback callback,
                                bool background) {
  assert(agent.value <= kMaxAgent);
  return state_->schedule(when, make_order(phase, agent, operation), callback, background);
}

bool Scheduler::cancel(EventHandle handle) {
  return state_->cancel(handle);
}

std::vector<Fiber*> Scheduler::live_fibers() const {
  return state_->live_fibers();
}

std::shared_ptr<Fiber> Scheduler::spawn(FiberOptions options, std::function<void()> body) {
  assert(options.agent.value <= kMaxAgent);
  auto state = std::make_unique<Fiber::Implementation>();
  state->scheduler = state_.get();
  state->resume_order =
      make_order(Phase::resume, options.agent, kFirstFiberOperation + state_->fibers_of_agent[options.agent.value]++);
  state->foreground = !options.background;
  state->options = std::move(options);
  state->body = std::move(body);
  auto fiber = std::make_shared<Fiber>(std::move(state));
  Fiber::Implementation& implementation = fiber->implementation();
  implementation.fiber = fiber.get();
  implementation.self = fiber;
  state_->link(*fiber);
  state_->schedule_resumption(*fiber, now_);
  return fiber;
}

void Scheduler::run(const RunLimits& limits) {
  const RunScope scope(*state_, limits);
  std::exception_ptr error;
  std::optional<DeadlockError> deadlock;
  try {
    state_->loop();
  } catch (const DeadlockError& found) {
    deadlock = found;
  } catch (...) {
    error = std::current_exception();
  }
  state_->unwind_all();
  if (deadlock) error = std::make_exception_ptr(state_->with_unwinding_errors(*deadlock));
  if (error == nullptr) error = std::exchange(state_->stubborn_error, nullptr);
  if (error == nullptr) return;
  state_->forget_all_events();
  std::rethrow_exception(error);
}

EventHandle Scheduler::State::schedule(Time when, std::uint64_t order, const Callback& callback, bool background) {
  assert(when >= owner.now_ && "an event in the past");
  const std::uint32_t index = slots.acquire();
  EventSlot& slot = slots[index];
  slot.callback.function = callback.function;
  slot.callback.object = callback.object;
  slot.callback.argument = callback.argument;
  slot.background = background;
  slot.cancelled = false;
  slot.poll_epoch = caller_poll_epoch() & kPollEpochMask;
  if (!background) {
    ++foreground_events;
    if (slot.poll_epoch != 0) ++polling_events;
  }
  queue.push({static_cast<std::uint64_t>(when.count()), order}, index);
  return {index, slot.generation};
}

bool Scheduler::State::cancel(EventHandle handle) {
  EventSlot* slot = slots.find(handle);
  if (slot == nullptr) return false;
  slot->cancelled = true;
  settle(*slot);
  // The entry stays where it is until it comes up, unless most of the queue is such entries.
  ++cancelled_events;
  if (cancelled_events > 64 && cancelled_events > queue.size() / 2) drop_cancelled_events();
  return true;
}

void Scheduler::State::settle(const EventSlot& slot) {
  if (slot.background) return;
  --foreground_events;
  if (slot.poll_epoch == poll_epoch) --polling_events;
}

void Scheduler::State::drop_cancelled_events() {
  queue.retain([this](std::uint32_t index) {
    if (!slots[index].cancelled) return true;
    slots.release(index);
    return false;
  });
  cancelled_events = 0;
}

void Scheduler::State::forget_all_events() {
  queue.retain([this](std::uint32_t index) {
    slots.release(index);
    return false;
  });
  cancelled_events = 0;
  foreground_events = 0;
  polling_events = 0;
  other_work = 0;
}

bool Scheduler::State::caller_is_foreground() const {
  return running != nullptr ? running->implementation().foreground : !dispatching_background;
}

std::uint32_t Scheduler::State::caller_poll_epoch() const {
  const std::uint32_t epoch = acting_for != kNobody ? acting_for
                              : running != nullptr  ? running->implementation().poll_epoch
                                                    : dispatching_poll_epoch;
  return epoch == poll_epoch ? epoch : 0;
}

void Scheduler::State::schedule_resumption(Fiber& fiber, Time when) {
  Fiber::Implementation& state = fiber.implementation();
  state.wake_time = when;
  state.resumption = schedule(when, state.resume_order, {fire_resumption, &fiber, 0}, !state.foreground);
}

void Scheduler::State::make_ready(Fiber::Implementation& fiber) {
  fiber.status = FiberStatus::ready;
  fiber.foreground = fiber.foreground || caller_is_foreground();
  schedule_resumption(*fiber.fiber, owner.now_);
}

// Inlined into the loop that fires the events, see switch_context.
[[gnu::always_inline]] inline void Scheduler::State::resume(Fiber& fiber) {
  Fiber::Implementation& state = fiber.implementation();
  if (state.status == FiberStatus::created && !start(fiber)) return;
  state.status = FiberStatus::running;
  state.last_resumed = owner.events_processed_;
  state.waits_unwinding = 0;
  if (state.poll_epoch != 0 && ++state.resumed_since_poll > kResumptionsPerPoll) state.poll_epoch = 0;
  running = &fiber;
  if (watchdog != nullptr) watchdog->beat(&fiber);
  if (switch_hook != nullptr) switch_hook(nullptr, &fiber);
  switch_context(main_context, state.context, thread_state);
  running = nullptr;
  if (switch_hook != nullptr) switch_hook(&fiber, nullptr);
  if (watchdog != nullptr) watchdog->beat(nullptr);
  if (state.over() || state.stack.guard == StackGuard::canary) settle_resumed(fiber);
}

void Scheduler::State::settle_resumed(Fiber& fiber) {
  Fiber::Implementation& state = fiber.implementation();
  if (!state.over() && state.stack.canary_damaged()) {
    if (state.waiting_for != nullptr) state.waiting_for->remove(fiber);
    cancel(state.resumption);
    state.status = FiberStatus::abandoned;
    state.fate = FiberFate::stack_overflow;
  }
  if (state.over()) finish(fiber);
}

void Scheduler::State::end_running_fiber() {
  leave(running->implementation().context, main_context, thread_state);
}

void Scheduler::State::abandon(FiberFate fate) {
  Fiber::Implementation& fiber = running->implementation();
  fiber.fate = fate;
  fiber.status = FiberStatus::abandoned;
  end_running_fiber();
}

bool Scheduler::State::start(Fiber& fiber) {
  Fiber::Implementation& state = fiber.implementation();
  if (!state.cancelled && !unwinding) {
    try {
      state.stack = stacks.acquire(std::max(state.options.stack_bytes, limits.stack_bytes));
      prepare(state.context, state.stack.bottom, state.stack.size, state.stack.top_offset, fiber_main);
      return true;
    } catch (...) {
      state.error = std::current_exception();
    }
  }
  state.body = nullptr;
  finish(fiber);
  return false;
}

void Scheduler::State::finish(Fiber& fiber) {
  Fiber::Implementation& state = fiber.implementation();
  const std::shared_ptr<Fiber> keep_alive = std::move(state.self);
  if (watchdog != nullptr) watchdog->forget_running();
  unlink(fiber);
  if (state.status == FiberStatus::abandoned) {
    state.error = make_fate_error(state);
    if (unwinding && stubborn_error == nullptr) stubborn_error = state.error;
    abandoned.push_back(keep_alive);
  } else {
    state.status = FiberStatus::finished;
    if (state.stack.bottom != nullptr) stacks.release(state.stack);
  }
  if (state.stack.bottom != nullptr) release(state.context);
  for (auto& local : state.locals) local.reset();
  // What a fiber throws after it has been told to end is a consequence, unless it could not end.
  const bool consequence = state.swallowed > 0 && state.status != FiberStatus::abandoned;
  if (unwinding && state.error != nullptr && state.swallowed == 0) unwinding_errors.push_back(keep_alive);
  state.error_time = owner.now_;
  if (state.error != nullptr && !consequence && !unwinding) failed.push_back(keep_alive);
  state.done.set();
}

void Scheduler::State::link(Fiber& fiber) {
  Fiber::Implementation& state = fiber.implementation();
  state.next_live = first_live;
  if (first_live != nullptr) first_live->implementation().previous_live = &fiber;
  first_live = &fiber;
  if (!state.options.background) ++live_foreground;
}

void Scheduler::State::unlink(Fiber& fiber) {
  Fiber::Implementation& state = fiber.implementation();
  (state.previous_live != nullptr ? state.previous_live->implementation().next_live : first_live) = state.next_live;
  if (state.next_live != nullptr) state.next_live->implementation().previous_live = state.previous_live;
  if (!state.options.background) --live_foreground;
}

std::vector<Fiber*> Scheduler::State::live_fibers() const {
  std::vector<Fiber*> result;
  for (Fiber* fiber = first_live; fiber != nullptr; fiber = fiber->implementation().next_live) result.push_back(fiber);
  std::sort(result.begin(), result.end(), by_agent);
  return result;
}

bool Scheduler::State::at_rest() {
  if (cancelled_events > 0) drop_cancelled_events();
  if (!queue.empty() && queue.top().key.time == static_cast<std::uint64_t>(owner.now_.count())) return false;
  raise_failures();
  if (live_foreground == 0) return true;
  if (before_deadlock && before_deadlock() && foreground_events > 0) return false;
  std::vector<Fiber*> waiting = live_fibers();
  std::erase_if(waiting, [](const Fiber* fiber) { return fiber->implementation().options.background; });
  std::vector<const WaitNode*> unfinished;
  if (limits.append_unfinished) limits.append_unfinished(unfinished);
  throw explain_deadlock(owner.now_, waiting, unfinished);
}

[[gnu::always_inline]] inline void Scheduler::State::fire_next() {
  const EventQueue::Entry entry = queue.pop();
  EventSlot& slot = slots[entry.payload];
  if (slot.cancelled) {
    --cancelled_events;
    slots.release(entry.payload);
    return;
  }
  const Time time = Time::picoseconds(static_cast<std::int64_t>(entry.key.time));
  if (time != owner.now_) begin_instant(time);
  if (++events_this_instant > limits.max_events_per_instant || polling_in_vain) check_livelock();
  if (entry.key == last_key) ++ambiguous_orders;
  last_key = entry.key;
  ++owner.events_processed_;
  const Callback::Function function = slot.callback.function;
  void* const object = slot.callback.object;
  const std::uint64_t argument = slot.callback.argument;
  dispatching_background = slot.background;
  dispatching_poll_epoch = slot.poll_epoch;
  settle(slot);
  slots.release(entry.payload);
  if (function == fire_resumption) {
    resume(*static_cast<Fiber*>(object));
  } else {
    function(object, argument);
  }
}

void Scheduler::State::loop() {
  while (foreground_events > 0 || !at_rest()) fire_next();
}

void Scheduler::State::look_up(Time time) {
  raise_failures();
  if (time > limits.max_time) raise_time_limit(time);
  if (limits.stop_requested != nullptr && limits.stop_requested->load(std::memory_order_relaxed)) {
    throw InterruptedError(fmt::format("the run was asked to stop at {} of simulated time", to_text(owner.now_)));
  }
  if (limits.progress_due != nullptr && limits.progress_due->load(std::memory_order_relaxed)) {
    limits.progress_due->store(false, std::memory_order_relaxed);
    limits.on_progress();
  }
  if (watchdog != nullptr) watchdog->beat(nullptr);
}

void Scheduler::State::raise_failures() {
  if (watchdog != nullptr && watchdog->fired()) throw WatchdogError(watchdog->message());
  if (failed.empty()) return;
  const Fiber* first = nullptr;
  for (const auto& fiber : failed) {
    if (fiber->implementation().error_taken) continue;
    if (first == nullptr || by_agent(fiber.get(), first)) first = fiber.get();
  }
  if (first != nullptr) std::rethrow_exception(first->implementation().error);
  failed.clear();
}

DeadlockError Scheduler::State::with_unwinding_errors(const DeadlockError& deadlock) const {
  std::string message = deadlock.what();
  for (const auto& fiber : unwinding_errors) {
    const ErrorText text = error_text(fiber->implementation().error, "exception");
    message += fmt::format("\nfiber '{}' waits in a destructor, because it unwinds after a {}: {}", fiber->name(),
                           text.type, text.message);
    if (!text.where.empty()) message += " at " + text.where;
  }
  return {message, deadlock.lines(), deadlock.cycles()};
}

void Scheduler::State::raise_time_limit(Time next) const {
  std::vector<const WaitNode*> unfinished;
  if (limits.append_unfinished) limits.append_unfinished(unfinished);
  const std::string fibers = describe_unfinished_run(live_fibers(), unfinished);
  throw TimeLimitError(fmt::format("simulated time would pass the limit of {}{} (the next event is at {}){}",
                                   to_text(limits.max_time), limits.max_time == Time::limit() ? kLatest : "",
                                   to_text(next), fibers));
}

void raise_too_long(const std::string& what) {
  throw TimeLimitError(
      fmt::format("simulated time would pass the limit of {}{}: {}", to_text(Time::limit()), kLatest, what));
}

void Scheduler::State::check_livelock() {
  if (!polling_in_vain || !before_deadlock || !before_deadlock()) raise_livelock();
  polling_in_vain = false;
  note_progress();
}

void Scheduler::State::raise_livelock() {
  if (std::exchange(polling_in_vain, false)) raise_polling();
  std::vector<Fiber*> culprits = live_fibers();
  const std::uint64_t recent = owner.events_processed_ - limits.max_events_per_instant / 2;
  std::erase_if(culprits, [&](const Fiber* fiber) { return fiber->implementation().last_resumed < recent; });
  throw LivelockError(fmt::format(
      "livelock: {} events at {} without an advance of simulated time; {}", limits.max_events_per_instant,
      to_text(owner.now_),
      culprits.empty() ? "no fiber takes part in it" : "fibers that take part in it:" + list_fibers(culprits)));
}

void Scheduler::State::unwind_all() {
  unwinding = true;
  // A fiber may start others while it unwinds; those end without having started.
  while (first_live != nullptr) {
    std::vector<std::shared_ptr<Fiber>> fibers;
    for (Fiber* fiber : live_fibers()) fibers.push_back(fiber->implementation().self);
    for (const auto& fiber : fibers) {
      Fiber::Implementation& state = fiber->implementation();
      if (state.waiting_for != nullptr) state.waiting_for->remove(*fiber);
      if (state.status != FiberStatus::blocked) cancel(state.resumption);
      state.cancelled = state.interrupted = true;
      resume(*fiber);
      assert(state.over() && "a cancelled fiber does not wait");
    }
  }
}

}  // namespace kernbench::sim
