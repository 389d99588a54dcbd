// Things that a fiber can wait for.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/units.h"
#include "sim/phase.h"
#include "sim/scheduler.h"
#include "sim/wait_graph.h"

namespace kernbench::sim {

class Fiber;

/// Base of all things that fibers wait for. Waiters resume in the resume phase of the instant in which they are woken,
/// ordered by their own agent. Not copied, not moved; must outlive its waiters.
///
/// A wait outside of a fiber throws ProgramError. A cancelled fiber's wait throws Cancelled, or returns at once without
/// what was waited for while an exception is in flight on the fiber; what had been given to it goes to the next waiter.
class Waitable : public WaitNode {
 public:
  Waitable() = default;
  Waitable(const Waitable&) = delete;
  Waitable& operator=(const Waitable&) = delete;
  ~Waitable() override;

  /// Names this thing in a deadlock report, and says what it is there; the function is called only then.
  void describe_as(std::function<Name()> name, WaitRole role = WaitRole::call) {
    describe_ = std::move(name);
    role_ = role;
  }
  /// Says who is expected to act: appended as edges of the wait graph. Called only for a report.
  void provided_by(std::function<void(std::vector<WaitEdge>&)> providers) { providers_ = std::move(providers); }

  Name wait_name() const override;
  void waits_for(std::vector<WaitEdge>& edges) const override;
  WaitRole wait_role() const override { return role_; }
  /// The fibers that wait, in order of arrival.
  std::vector<Fiber*> waiters() const;
  bool has_waiters() const { return first_waiter_ != nullptr; }

 protected:
  /// Suspends the calling fiber until wake_*; throws Cancelled. Returns false when the wait ended, or did not begin,
  /// because the fiber was cancelled and unwinds: a loop must end then. Prefer block_until.
  bool block();
  /// Blocks until `ready()`; false when the fiber was cancelled, unwinds, and it is not.
  template <std::predicate Ready>
  bool block_until(Ready ready) {
    if (ready()) {
      took_without_waiting();
      return true;
    }
    do {
      if (!block()) return false;
    } while (!ready());
    return true;
  }
  void wake_one();  // the first waiter in arrival order
  void wake_all();
  void wake(Fiber& fiber);  // if it waits here, or else nobody
  /// To be told when a wait was not necessary: a background fiber that got work is now at work in the foreground.
  static void took_without_waiting();
  /// What is missing when nobody is left who could provide it: "a message".
  virtual const char* missing() const { return "a wake-up"; }

 private:
  friend class Fiber;
  friend class Scheduler;
  void remove(Fiber& fiber);
  Fiber* first_waiter_ = nullptr;
  Fiber* last_waiter_ = nullptr;
  WaitRole role_ = WaitRole::step;
  std::function<Name()> describe_;
  std::function<void(std::vector<WaitEdge>&)> providers_;
};

/// A one-shot event: once set, every wait returns at once.
class Completion : public Waitable {
 public:
  bool is_set() const { return set_; }
  /// Sets it, wakes all waiters and runs the callbacks, in order of registration. Setting it again changes nothing.
  void set();
  void wait();
  /// Calls `callback` when this is set: at once when it is already.
  void on_set(Callback callback);

 protected:
  const char* missing() const override { return "its completion"; }

 private:
  bool set_ = false;
  std::vector<Callback> callbacks_;
};

}  // namespace kernbench::sim
