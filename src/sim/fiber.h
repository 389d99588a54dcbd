// Stackful fibers that read like straight-line code and switch only to the scheduler.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "kernbench/units.h"
#include "sim/phase.h"
#include "sim/program_call.h"
#include "sim/wait_graph.h"

namespace kernbench::sim {

class Scheduler;
class Completion;

/// One cooperative thread of control. Created by Scheduler::spawn.
class Fiber : public WaitNode {
 public:
  ~Fiber() override;

  const std::string& name() const;
  AgentId agent() const;
  bool finished() const;
  /// The exception that escaped the body, if any; taking it marks it as handled (run() will not rethrow it).
  std::exception_ptr take_error();
  /// Set when the body has returned or unwound; wait for it to join.
  Completion& done();

  /// Asks the fiber to unwind: its current or next wait throws Cancelled, in the resume phase of this instant;
  /// swallowed, the next one throws again. A fiber that has not started will not start. A wait for what is already
  /// there does not throw. While an exception is in flight on the cancelled fiber, be it Cancelled or one of its own,
  /// its waits return at once (see this_fiber::unwinding), and so does one that is under way.
  void cancel();
  bool cancelled() const;
  /// Whether a wait has thrown Cancelled: what the fiber throws from then on is a consequence.
  bool was_told() const;

  /// The fiber's current or next wait throws `error`, once; while an exception is in flight it waits on, and the error
  /// comes later. A fiber that ends without waiting ends with it. Only the first of several is kept. False, and nothing
  /// happens, when the fiber is over or was cancelled.
  bool raise(const std::exception_ptr& error);

  /// Remembers where in the user's source the fiber is, for reports of a fiber that cannot tell it itself any more (an
  /// overflow of its stack, the watchdog).
  void note_place(const std::source_location& place);
  /// "bench.cpp:41", the last place noted; empty when there is none. May be called on any thread.
  std::string place() const;

  /// The call of the user's program that the fiber is in; without a name: none.
  const ProgramCall& call() const;
  /// The call that an exception has left, until the fiber enters another one.
  const ProgramCall& failed_call() const;
  /// Enters a call; it leaves it with `failed` when an exception ended it.
  void enter(const ProgramCall& call);
  void leave_call(bool failed);

  /// Fiber-local state of the layers above (current device, kernel context, …): one pointer per slot, empty at birth.
  enum class Slot : std::uint8_t { host, kernel, count };
  std::shared_ptr<void>& local(Slot slot);

  Name wait_name() const override;
  void waits_for(std::vector<WaitEdge>& edges) const override;
  WaitRole wait_role() const override { return WaitRole::party; }

  struct Implementation;
  explicit Fiber(std::unique_ptr<Implementation> implementation);
  Implementation& implementation() { return *implementation_; }
  const Implementation& implementation() const { return *implementation_; }

 private:
  std::unique_ptr<Implementation> implementation_;
};

/// The calling fiber's doings. All require to be called on a fiber, except current() and unwinding().
namespace this_fiber {
/// The running fiber, or nullptr on the scheduler or outside any simulation.
Fiber* current();
/// The running fiber's scheduler.
Scheduler& scheduler();
/// Suspends until `duration` has passed (zero or less returns at once).
void sleep(Time duration);
void sleep_until(Time when);
/// True while a cancelled fiber unwinds (an exception is in flight, destructors run): its blocking calls return without
/// waiting. Those of a fiber that was not cancelled wait also then.
bool unwinding();
/// Reports a re-read of something that had not changed. When every event still to come descends from fibers that only
/// do this, nothing can change it any more, and run() throws LivelockError (see RunLimits::max_polls). `doing`
/// says for the error what the fiber polls: "reads tensor x by item".
void note_poll(std::function<Name()> doing = {});
/// Reports that something which others may poll has changed.
void note_progress();
/// Reports that the fiber, which goes on computing without a wait, is not stuck: the watchdog begins anew.
void note_alive();
/// Whether anybody has polled in vain since the last progress: otherwise progress need not be noted.
bool progress_matters();
}  // namespace this_fiber

/// Called at each switch with the fiber that is left and the one that is entered (nullptr = the scheduler), so that an
/// embedded interpreter can save its per-thread state. One hook per scheduler thread; returns the previous one.
using SwitchHook = void (*)(Fiber* from, Fiber* to);
SwitchHook set_switch_hook(SwitchHook hook);

}  // namespace kernbench::sim
