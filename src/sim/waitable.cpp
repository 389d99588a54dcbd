#include "sim/waitable.h"

#include <algorithm>
#include <cassert>

#include "sim/fiber_state.h"
#include "sim/scheduler_state.h"

namespace kernbench::sim {

Waitable::~Waitable() {
  // Only while a failed run unwinds, or by a mistake which the deadlock report then shows.
  while (first_waiter_ != nullptr) remove(*first_waiter_);
}

Name Waitable::wait_name() const {
  return describe_ ? describe_() : Name("an unnamed object");
}

void Waitable::waits_for(std::vector<WaitEdge>& edges) const {
  const std::size_t before = edges.size();
  if (providers_) providers_(edges);
  if (edges.size() == before) edges.push_back({nullptr, missing()});
}

std::vector<Fiber*> Waitable::waiters() const {
  std::vector<Fiber*> result;
  for (Fiber* fiber = first_waiter_; fiber != nullptr; fiber = fiber->implementation().next_waiter) {
    result.push_back(fiber);
  }
  return result;
}

bool Waitable::block() {
  Fiber& fiber = require_fiber("a wait");
  Fiber::Implementation& state = fiber.implementation();
  if (is_interrupted(state)) return false;

  state.previous_waiter = last_waiter_;
  state.next_waiter = nullptr;
  (last_waiter_ != nullptr ? last_waiter_->implementation().next_waiter : first_waiter_) = &fiber;
  last_waiter_ = &fiber;
  state.waiting_for = this;
  state.woken = false;
  state.status = FiberStatus::blocked;
  if (state.options.background) state.foreground = false;
  state.scheduler->yield();

  if (interrupts_now(state)) {
    // A wake-up that arrived in the same instant belongs to somebody else now.
    if (state.woken && !state.scheduler->unwinding) wake_one();
    return !deliver_interruption(state);
  }
  return true;
}

void Waitable::remove(Fiber& fiber) {
  Fiber::Implementation& state = fiber.implementation();
  (state.previous_waiter != nullptr ? state.previous_waiter->implementation().next_waiter : first_waiter_) =
      state.next_waiter;
  (state.next_waiter != nullptr ? state.next_waiter->implementation().previous_waiter : last_waiter_) =
      state.previous_waiter;
  state.next_waiter = nullptr;
  state.previous_waiter = nullptr;
  state.waiting_for = nullptr;
}

void Waitable::wake(Fiber& fiber) {
  Fiber::Implementation& state = fiber.implementation();
  if (state.waiting_for != this) return;
  remove(fiber);
  state.woken = true;
  state.scheduler->make_ready(state);
}

void Waitable::wake_one() {
  if (first_waiter_ != nullptr) wake(*first_waiter_);
}

void Waitable::wake_all() {
  while (first_waiter_ != nullptr) wake(*first_waiter_);
}

void Waitable::took_without_waiting() {
  if (Fiber* fiber = this_fiber::current()) fiber->implementation().foreground = true;
}

void Completion::set() {
  if (set_) return;
  set_ = true;
  // A callback may destroy this object: nothing of it is touched after the first one.
  const std::vector<Callback> callbacks = std::move(callbacks_);
  wake_all();
  for (const Callback& callback : callbacks) callback.function(callback.object, callback.argument);
}

void Completion::wait() {
  // No look at `set_` afterwards: who sets it may destroy it as soon as the waiters are awake.
  if (set_) {
    took_without_waiting();
  } else {
    block();
  }
}

void Completion::on_set(Callback callback) {
  if (set_) {
    callback.function(callback.object, callback.argument);
  } else {
    callbacks_.push_back(callback);
  }
}

}  // namespace kernbench::sim
