// The state of a fiber. Private to this layer.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <source_location>
#include <string>

#include "sim/context.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "sim/stack_pool.h"
#include "sim/waitable.h"

namespace kernbench::sim {

enum class FiberStatus : std::uint8_t {
  created,    // has no stack yet; its first resumption is scheduled
  running,    // the one that executes
  ready,      // woken or cancelled; its resumption is scheduled for this instant
  sleeping,   // its resumption is scheduled
  blocked,    // waits for a Waitable
  finished,   // returned, or unwound
  abandoned,  // over without unwinding, see FiberFate
};

/// Why a fiber ended without unwinding.
enum class FiberFate : std::uint8_t { ordinary, stack_overflow, swallowed_cancellation, endless_unwinding };

struct Fiber::Implementation {
  /// The end of the fiber, to be joined.
  class End : public Completion {
   public:
    explicit End(Implementation& state) : state_(state) {}
    Name wait_name() const override { return "the end of " + state_.options.name; }
    void waits_for(std::vector<WaitEdge>& edges) const override;
    WaitRole wait_role() const override { return WaitRole::join; }

   private:
    Implementation& state_;
  };

  // What a switch touches comes first.
  Context context;
  FiberStatus status = FiberStatus::created;
  FiberFate fate = FiberFate::ordinary;
  bool woken = false;        // a Waitable woke it, as opposed to cancel()
  bool cancelled = false;    // every wait throws
  bool interrupted = false;  // cancelled, or `raised` is to be thrown
  bool foreground = true;    // what it schedules keeps the simulation alive
  bool error_taken = false;
  Waitable* waiting_for = nullptr;
  Fiber* next_waiter = nullptr;
  Fiber* previous_waiter = nullptr;
  Scheduler::State* scheduler = nullptr;
  Fiber* fiber = nullptr;
  EventHandle resumption;
  Time wake_time;                  // while it sleeps
  std::uint64_t resume_order = 0;  // phase, agent and operation of its resume events
  std::uint64_t last_resumed = 0;  // as a number of events
  std::uint32_t poll_epoch = 0;    // the epoch in which it last polled in vain
  std::uint32_t resumed_since_poll = 0;
  std::uint64_t tries = 0;              // polls in vain in the stretch `poll_stretch`
  std::uint64_t tries_when_judged = 0;  // so many of them before the scheduler last judged
  std::uint64_t poll_stretch = 0;
  std::function<Name()> polls;              // what it does, in words; may be empty
  std::atomic<std::source_location> place;  // the watchdog's thread reads it
  ProgramCall call, failed_call;
  std::uint32_t swallowed = 0;        // deliveries of Cancelled
  std::uint64_t waits_unwinding = 0;  // waits that returned at once since it last suspended
  Stack stack;

  // All live fibers of a scheduler; tools/gdb follows it.
  Fiber* next_live = nullptr;
  Fiber* previous_live = nullptr;

  FiberOptions options;
  std::function<void()> body;
  std::exception_ptr error;
  std::exception_ptr raised;  // to be thrown by the next wait
  Time error_time;
  std::array<std::shared_ptr<void>, static_cast<std::size_t>(Slot::count)> locals;
  std::shared_ptr<Fiber> self;  // keeps the fiber alive until it has finished
  End done{*this};

  bool over() const { return status == FiberStatus::finished || status == FiberStatus::abandoned; }
};

}  // namespace kernbench::sim
