// The command queue of an engine: commands start in order, with places that programs wait for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/part.h"
#include "hardware/command.h"
#include "hardware/reservations.h"
#include "sim/scheduler.h"

namespace kernbench::hardware {

/// Commands arrive in the deliver phase, in the order of (time, program, command number). They start in that order:
/// the first that has not started starts when its dependencies have finished and the engine takes it. One that adds to
/// the sums of the command directly before it does not wait for that one to finish: the engine says when its sums can
/// be added to. A command holds its place in the queue until it has finished. As a Waitable, this is what a program
/// waits for that finds no place.
class CommandQueue : public Reservations {
 public:
  CommandQueue(sim::Scheduler& scheduler, const PartId& part, std::int32_t depth)
      : Reservations(depth), scheduler_(scheduler), id_(part) {}

  /// Which part of the machine it is.
  const PartId& id() const { return id_; }

  /// Called on a program's fiber: waits for a place, then `issue` for the command to arrive. While the fiber unwinds,
  /// the command is dropped.
  void submit(const CommandRef& command, Time issue);

  /// Drops the commands of a program that have not started; those under way go on to their end, unless abort() ends
  /// them. Called in the deliver phase. Returns how many still have something to finish; each calls `over` then.
  std::size_t cancel(sim::AgentId program, sim::Callback over);

  /// No command waits or is under way.
  bool empty() const { return active_.empty() && waiting_.empty(); }
  /// The time during which at least one command was under way, until a command finished last.
  /// The same until now.
  Time busy_now() const { return active_.empty() ? busy_ : busy_ + (scheduler_.now() - busy_since_); }

  /// Appends what a command under way needs from elsewhere to go on; none where it comes to its end by itself.
  virtual void needs(const Command& /*command*/, std::vector<sim::WaitEdge>& /*edges*/) const {}

  Name wait_name() const override { return to_name(id_); }
  void waits_for(std::vector<sim::WaitEdge>& edges) const override;

 protected:
  /// Starts executing a command. The engine calls effect() and finish() of it in the deliver phase.
  virtual void begin(Command& command) = 0;
  /// Ends a command under way whose program has been cancelled and that may wait for what will never come, by calling
  /// finish() now, without its effect. False: it comes to its end by itself.
  virtual bool abort(Command& /*command*/) { return false; }
  /// Whether the engine takes `next` now; asked whenever it could start.
  virtual bool takes(const Command& /*next*/) { return active_.empty(); }
  /// To be called when takes() may have become true by what `cause` has reached; finish() does so by itself.
  void start_next(Command& cause);
  void effect(Command& command);
  void finish(Command& command);

  /// Commands under way, in the order in which they started.
  const CommandList& active() const { return active_; }
  /// Those that have not started, in their order.
  const CommandList& waiting() const { return waiting_; }
  sim::Scheduler& scheduler() { return scheduler_; }

 private:
  void arrive(std::uint64_t command);
  /// The last of those that wait or are under way; null when there is none.
  const Command* last() const;
  static void drop(Command& command);
  void start_ready();
  void release_dependents(Command& command);

  sim::Scheduler& scheduler_;
  PartId id_;
  CommandList issuing_;  // on their way from the control processor
  CommandList waiting_;  // in the order of arrival
  CommandList active_;
  CommandRef before_;  // that has let the next one start: it has finished, or its set-up is over
  Time busy_;
  Time busy_since_;  // counted in busy_ up to here
};

}  // namespace kernbench::hardware
