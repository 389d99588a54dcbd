// The command queue of an engine: in order, one command at a time, with places that programs wait for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event/scheduler.h"
#include "hardware/operation.h"
#include "hardware/reservations.h"

namespace kernbench::hardware {

/// Commands arrive in the deliver phase, in the order of (time, program, operation number). The head starts when its
/// dependencies have finished; the next one is looked at when the head has finished. A command holds its place in the
/// queue until it has finished. As a Waitable, this is what a program waits for that finds no place.
class CommandQueue : public Reservations {
 public:
  CommandQueue(event::Scheduler& scheduler, std::int32_t depth) : Reservations(depth), scheduler_(scheduler) {}

  /// Called on a program's fiber: waits for a place, then `issue` for the command to arrive. While the fiber unwinds,
  /// the operation is dropped.
  void submit(const OperationRef& operation, Time issue);

  const Operation* head() const { return queue_.empty() ? nullptr : queue_.front().get(); }
  /// From start to finish of all commands that have finished.
  Time busy() const { return busy_; }

  std::string wait_name() const override = 0;
  void waits_for(std::vector<event::WaitEdge>& edges) const override;

 protected:
  /// Starts executing the head. The engine calls effect() and finish() from events of the deliver phase.
  virtual void begin(Operation& operation) = 0;
  void effect();
  void finish();
  Operation& current() { return *queue_.front(); }
  event::Scheduler& scheduler() { return scheduler_; }

 private:
  void arrive(std::uint64_t operation);
  void start_next();
  void release_dependents(Operation& operation);

  event::Scheduler& scheduler_;
  std::vector<OperationRef> issuing_;  // on their way from the control processor
  std::vector<OperationRef> queue_;    // the head is executed when executing_
  OperationName before_;               // that has finished last
  Time busy_;
  bool executing_ = false;
};

}  // namespace kernbench::hardware
