#include "sim/fiber.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "kernbench/error.h"
#include "sim/fiber_state.h"
#include "sim/scheduler_state.h"
#include "sim/watchdog.h"

namespace kernbench::sim {

Fiber::Fiber(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Fiber::~Fiber() = default;

const std::string& Fiber::name() const {
  return implementation_->options.name.text();
}
void Fiber::note_place(const std::source_location& place) {
  implementation_->place.store(place, std::memory_order_relaxed);
}
std::string Fiber::place() const {
  return place_text(implementation_->place.load(std::memory_order_relaxed));
}
const ProgramCall& Fiber::call() const {
  return implementation_->call;
}
const ProgramCall& Fiber::failed_call() const {
  return implementation_->failed_call;
}
void Fiber::enter(const ProgramCall& call) {
  implementation_->call = call;
  implementation_->failed_call = {};
  if (call.where.line() != 0) note_place(call.where);
}
void Fiber::leave_call(bool failed) {
  if (failed) implementation_->failed_call = implementation_->call;
  implementation_->call = {};
}
AgentId Fiber::agent() const {
  return implementation_->options.agent;
}
bool Fiber::finished() const {
  return implementation_->over();
}
Completion& Fiber::done() {
  return implementation_->done;
}
bool Fiber::cancelled() const {
  return implementation_->cancelled;
}

bool Fiber::was_told() const {
  return implementation_->swallowed > 0;
}

std::exception_ptr Fiber::take_error() {
  implementation_->error_taken = true;
  return implementation_->error;
}

std::shared_ptr<void>& Fiber::local(Slot slot) {
  return implementation_->locals[static_cast<std::size_t>(slot)];
}

void Fiber::cancel() {
  Implementation& state = *implementation_;
  if (state.over() || state.cancelled) return;
  state.cancelled = state.interrupted = true;
  switch (state.status) {
    case FiberStatus::blocked:
      if (state.waiting_for != nullptr) state.waiting_for->remove(*this);
      state.scheduler->make_ready(state);
      break;
    case FiberStatus::sleeping:
      state.scheduler->cancel(state.resumption);
      state.scheduler->make_ready(state);
      break;
    default:
      break;  // it runs, or is about to
  }
}

bool Fiber::raise(const std::exception_ptr& error) {
  Implementation& state = *implementation_;
  if (state.over() || state.cancelled) return false;
  if (state.raised != nullptr) return true;
  state.raised = error;
  state.interrupted = true;
  const bool unwinds = state.context.exceptions.uncaught > 0;  // of a suspended fiber
  if (state.status == FiberStatus::blocked && !unwinds) {
    if (state.waiting_for != nullptr) state.waiting_for->remove(*this);
    state.scheduler->make_ready(state);
  } else if (state.status == FiberStatus::sleeping && !unwinds) {
    state.scheduler->cancel(state.resumption);
    state.scheduler->make_ready(state);
  }
  return true;
}

Name Fiber::wait_name() const {
  return implementation_->options.name;
}

void Fiber::waits_for(std::vector<WaitEdge>& edges) const {
  if (implementation_->status != FiberStatus::blocked) return;
  if (implementation_->waiting_for != nullptr) {
    const std::string call = to_text(implementation_->call);
    edges.push_back({implementation_->waiting_for, call.empty() ? "" : "in " + call});
  } else {
    edges.push_back({nullptr, "something that has been destroyed"});
  }
}

void Fiber::Implementation::End::waits_for(std::vector<WaitEdge>& edges) const {
  edges.push_back({state_.fiber, "its end"});
}

bool interrupts_now(const Fiber::Implementation& fiber) {
  // What std::uncaught_exceptions() would say, without two calls into shared libraries.
  return fiber.cancelled || (fiber.interrupted && fiber.scheduler->thread_state->uncaught == 0);
}

bool deliver_interruption(Fiber::Implementation& fiber) {
  // More waits than any stack could hold destructors for: a loop that does not know that nothing will come.
  constexpr std::uint64_t kMaxWaitsUnwinding = 10'000'000;
  if (!interrupts_now(fiber)) return false;
  if (!fiber.cancelled) {
    fiber.interrupted = false;
    std::rethrow_exception(std::exchange(fiber.raised, nullptr));
  }
  if (fiber.scheduler->thread_state->uncaught > 0) {
    if (++fiber.waits_unwinding > kMaxWaitsUnwinding) fiber.scheduler->abandon(FiberFate::endless_unwinding);
    return true;
  }
  if (++fiber.swallowed > fiber.scheduler->limits.max_swallowed_cancellations) {
    fiber.scheduler->abandon(FiberFate::swallowed_cancellation);
  }
  throw Cancelled{};
}

Fiber& require_fiber(const char* call) {
  Fiber* fiber = this_fiber::current();
  if (fiber == nullptr) {
    throw ProgramError("NoFiberError", std::string(call) + " outside of a fiber: only fibers of a simulation can wait");
  }
  return *fiber;
}

namespace this_fiber {

Fiber* current() {
  return active_scheduler != nullptr ? active_scheduler->running : nullptr;
}

Scheduler& scheduler() {
  return require_fiber("this_fiber::scheduler").implementation().scheduler->owner;
}

bool unwinding() {
  const Fiber* fiber = current();
  return fiber != nullptr && fiber->cancelled() && std::uncaught_exceptions() > 0;
}

void sleep(Time duration) {
  const Time now = scheduler().now();
  sleep_until(duration > Time::max() - now ? Time::max() : now + duration);
}

void sleep_until(Time when) {
  Fiber& fiber = require_fiber("this_fiber::sleep");
  Fiber::Implementation& state = fiber.implementation();
  Scheduler::State& scheduler = *state.scheduler;
  if (when <= scheduler.owner.now() || is_interrupted(state)) return;
  state.status = FiberStatus::sleeping;
  scheduler.schedule_resumption(fiber, when);
  scheduler.yield();
  is_interrupted(state);  // throws, or the sleep ends here
}

void note_poll(std::function<Name()> doing) {
  Fiber::Implementation& fiber = require_fiber("this_fiber::note_poll").implementation();
  fiber.polls = std::move(doing);
  fiber.scheduler->note_poll();
}

void note_progress() {
  if (active_scheduler != nullptr) active_scheduler->note_progress();
}

void note_alive() {
  Fiber& fiber = require_fiber("this_fiber::note_alive");
  Watchdog* const watchdog = fiber.implementation().scheduler->watchdog;
  if (watchdog != nullptr) watchdog->beat(&fiber);
}

bool progress_matters() {
  return active_scheduler != nullptr && active_scheduler->polled;
}

}  // namespace this_fiber
}  // namespace kernbench::sim
