// The clock, the event queue and the fibers of one simulation: everything that happens, happens from Scheduler::run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernbench/units.h"
#include "sim/phase.h"
#include "sim/wait_graph.h"

namespace kernbench::sim {

class Fiber;

/// Whose doing something is: of a fiber that only polls (not zero: in which epoch, see Scheduler::State), or of others.
struct Origin {
  std::uint32_t poll_epoch = 0;
};

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

/// How a fiber is made. A background fiber that was woken from the foreground, or has taken what it waited for without
/// waiting, works in the foreground until it next blocks: what a server does for somebody keeps the simulation alive.
struct FiberOptions {
  AgentId agent;
  Name name;                             // "rank 0", "sip0.cube2.pe5 gemm#3"
  std::size_t stack_bytes = 256 * 1024;  // reserved, not resident
  /// A background fiber (a server that waits for ever) keeps nothing alive and is never part of a deadlock.
  bool background = false;
};

/// assumption: a fifth more than the million that a fiber may try that is to end its polling by itself.
inline constexpr std::uint64_t kPollsOfOne = 1'200'000;
/// Of two or more fibers together: each of two ranks may try a million times, and polling of a whole device is found
/// within seconds.
inline constexpr std::uint64_t kPollsOfAll = 2 * kPollsOfOne;
/// assumption: fibers that poll differ in their pace by less than the factor between both.
inline constexpr std::uint64_t kPollsOfEach = 2'000;
/// Of several fibers whose polls are dear, each may try so often at least, and until their polling has taken more
/// events than all before it. assumption: a program that tries more often, and then gives up, does more than that
/// before.
inline constexpr std::uint64_t kDearPollsOfEach = 100'000;

/// Bounds of one run.
struct RunLimits {
  Time max_time = Time::max();
  /// Wall-clock seconds that may pass while a fiber does not yield and time stands still, before the watchdog names the
  /// fiber; 0 turns the watchdog off.
  double watchdog_seconds = 0;
  /// Called once on the watchdog's thread with a message that names the fiber. A fiber that never yields cannot be
  /// unwound, so this should end the process. When the fiber yields after all, run() throws WatchdogError.
  std::function<void(const std::string&)> on_stuck = {};
  /// Events at one instant before that counts as a livelock.
  /// assumption: far more than any machine that is modelled has parts.
  std::uint64_t max_events_per_instant = 10'000'000;
  /// Polls in vain that each fiber which polls may make, while nothing but polling goes on, before that counts as a
  /// livelock (see this_fiber::note_poll). 0: kPollsOfOne of one, kPollsOfAll of several together, and no fewer than
  /// kPollsOfEach of each; or kDearPollsOfEach of each of several, when they have taken dear_poll_events.
  std::uint64_t max_polls = 0;
  /// Events that the polls of several fibers may take at least before kDearPollsOfEach of each are enough.
  /// assumption: two ranks that ask a million times each stay below (an event for each), and it is found within seconds
  /// that two programs of a kernel which read memory poll each other (7 to 15 events for each).
  std::uint64_t dear_poll_events = 5'000'000;
  /// Each fiber has a stack of at least so many bytes, whatever it asks for.
  std::size_t stack_bytes = 0;
  /// When set to true (by a signal handler, say) the run ends with an InterruptedError before the next instant. May be
  /// null.
  const std::atomic<bool>* stop_requested = nullptr;
  /// When somebody sets progress_due (may be null), it is cleared and on_progress called before the next instant.
  std::atomic<bool>* progress_due = nullptr;
  std::function<void()> on_progress = {};
  /// Deliveries of Cancelled that one fiber may swallow before it is left for dead and named.
  std::uint32_t max_swallowed_cancellations = 1'000;
  /// Appends what is under way although no fiber may wait for it, for the report of a deadlock. May be empty.
  std::function<void(std::vector<const WaitNode*>&)> append_unfinished = {};
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

  /// Events that fired with the very key of the event before them. Their order is not defined, so a model must keep
  /// this at zero; tests check it.
  std::uint64_t ambiguous_orders() const;

  /// Schedules `callback` at (when, phase, agent, operation). Requires when >= now() and a key that no other
  /// pending event has; 36 bits of `operation` are kept, and in the resume phase those from 2^35 up belong to fibers. A
  /// `background` event (a periodic sampler, a refresh) does not keep the simulation alive.
  EventHandle schedule(Time when, Phase phase, AgentId agent, std::uint64_t operation, Callback callback,
                       bool background = false);
  /// Cancels an event that has not fired; returns whether it was still pending.
  bool cancel(EventHandle handle);

  /// Whose doing it is what the running fiber or event schedules. A server that takes up later what came to it now
  /// keeps it, and acts in the name of the origin then (ActsFor).
  Origin origin() const;
  /// Of the turns of a server whose customers are counted by begin_work: they lead to nothing by themselves.
  Origin origin_of_turns() const;
  /// Between the two calls something is under way, of which there need not be an event: if it is not the doing of a
  /// fiber that only polls, polling has an end. `begun` says which; it is what begin_work returned.
  Origin begin_work();
  void end_work(Origin begun);

  /// Creates a fiber that starts at now() in the resume phase, ordered by its agent.
  /// Fibers of one agent resume in the order in which they were spawned. The fiber object lives until it has finished,
  /// and as long as its owner keeps the handle. While a failed run unwinds, a new fiber ends without having started.
  std::shared_ptr<Fiber> spawn(FiberOptions options, std::function<void()> body);

  /// Runs until no foreground event and no live foreground fiber is left, and finishes that instant. Rethrows the first
  /// exception, by (time, agent), that escaped a fiber and that nobody took (Fiber::take_error) in the same instant.
  /// Throws DeadlockError when fibers wait and nothing can wake them, TimeLimitError beyond limits.max_time,
  /// LivelockError and WatchdogError as named, and what a callback threw. In every case all fibers, background ones
  /// too, have been cancelled and unwound on return, in the order of their agents. After an exception no event is left.
  void run(const RunLimits& limits = {});

  /// All fibers that have not finished, by agent.
  std::vector<Fiber*> live_fibers() const;

  struct State;
  State& state() { return *state_; }

  /// While it lives, what is scheduled is the doing of `origin`.
  class ActsFor {
   public:
    ActsFor(Scheduler& scheduler, Origin origin);
    ~ActsFor();
    ActsFor(const ActsFor&) = delete;
    ActsFor& operator=(const ActsFor&) = delete;

   private:
    Scheduler& scheduler_;
    std::uint32_t before_;
  };

 private:
  Time now_;
  std::uint64_t events_processed_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace kernbench::sim
