// The clock, the event queue and the fibers of one simulation: everything that happens, happens from Scheduler::run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "event/phase.h"

namespace kernbench::event {

class Fiber;
class FiberPool;
class EventQueue;

/// Names a scheduled event so that it can be cancelled; stale handles are harmless.
struct EventHandle {
  std::uint32_t slot = UINT32_MAX;
  std::uint32_t generation = 0;
};

/// What an event calls: a plain function with an object and one argument. No allocation, no virtual call.
struct Callback {
  using Function = void (*)(void* object, std::uint64_t argument);
  Function function = nullptr;
  void* object = nullptr;
  std::uint64_t argument = 0;
};

/// Makes a Callback for a member function `void T::method(std::uint64_t argument)`.
template <auto Method, class T>
Callback call(T* object, std::uint64_t argument = 0) {
  return {[](void* self, std::uint64_t value) { (static_cast<T*>(self)->*Method)(value); }, object, argument};
}

/// How a fiber is made.
struct FiberOptions {
  AgentId agent;
  std::string name;                      // "rank 0", "sip0.cube2.pe5 gemm#3"
  std::size_t stack_bytes = 256 * 1024;  // reserved, not resident
  /// A background fiber (a server that waits for ever) keeps nothing alive and is never part of a deadlock.
  bool background = false;
};

/// Bounds of one run.
struct RunLimits {
  Time max_time = Time::max();
  /// Wall-clock seconds one fiber may run without yielding before the watchdog names it; 0 turns the watchdog off.
  double watchdog_seconds = 0;
};

/// The single owner of simulated time. Single-threaded: all calls come from the thread that called run(), either from
/// an event's callback or from a fiber.
class Scheduler {
 public:
  Scheduler();
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  Time now() const { return now_; }
  std::uint64_t events_processed() const { return events_processed_; }

  /// Schedules `callback` at (when, phase, agent, operation). Requires when >= now(). A `background` event (a periodic
  /// sampler, a refresh) does not keep the simulation alive.
  EventHandle schedule(Time when, Phase phase, AgentId agent, std::uint64_t operation, Callback callback,
                       bool background = false);
  /// Cancels an event that has not fired; returns whether it was still pending.
  bool cancel(EventHandle handle);

  /// Creates a fiber that starts at now() in the resume phase, ordered by its agent.
  /// The fiber object lives until it has finished and been reaped by the scheduler or by its owner's Fiber handle.
  std::shared_ptr<Fiber> spawn(FiberOptions options, std::function<void()> body);

  /// Runs until no foreground event and no live foreground fiber is left. Rethrows the first exception that escaped a
  /// fiber which nobody joined. Throws DeadlockError when fibers wait and nothing can wake them, TimeLimitError beyond
  /// limits.max_time, LivelockError and WatchdogError as named. In every case all fibers have been unwound on return.
  void run(const RunLimits& limits = {});

  /// All fibers that have not finished, by agent.
  std::vector<Fiber*> live_fibers() const;

 private:
  friend class Fiber;
  struct State;
  Time now_;
  std::uint64_t events_processed_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace kernbench::event
