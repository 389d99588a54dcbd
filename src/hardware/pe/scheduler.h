// The scheduler of a PE: it carries out composite commands, each of which stands for many commands to the engines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hardware/command.h"
#include "hardware/composite_command.h"
#include "hardware/reservations.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "topology/spec.h"

namespace kernbench::hardware {

class CommandQueue;

/// Takes composite commands in order and puts their commands into the engines' queues, one each `scheduler.issue`,
/// waiting where a queue has no place. As a Waitable, this is what a program waits for whose command finds no place.
class PeScheduler : public Reservations {
 public:
  using QueueFor = std::function<CommandQueue&(const Command&)>;

  /// The references must outlive it.
  PeScheduler(sim::Scheduler& scheduler, sim::AgentId agent, const topology::SchedulerSpec& spec, PeCoordinate pe,
              QueueFor queue_for);

  /// Called on a program's fiber: waits for a place, then `issue` for the command to arrive. While the fiber unwinds,
  /// the command is dropped.
  void submit(const CompositeRef& command, Time issue);

  /// Drops the commands of a program, of one that is being carried out the rest. Called in the deliver phase. Returns
  /// how many still have something to finish (at most one); each calls `over` then.
  std::size_t cancel(sim::AgentId program, sim::Callback over);

  Name wait_name() const override { return to_name(pe_) + ".scheduler"; }
  void waits_for(std::vector<sim::WaitEdge>& edges) const override;

 private:
  void arrive(std::uint64_t command);
  void run();

  sim::Scheduler& scheduler_;
  sim::AgentId agent_;
  const topology::SchedulerSpec& spec_;
  PeCoordinate pe_;
  QueueFor queue_for_;
  std::vector<CompositeRef> issuing_;  // on their way from the control processor
  std::vector<CompositeRef> queue_;    // the first one is carried out while running_
  std::shared_ptr<sim::Fiber> fiber_;
  bool running_ = false;
};

}  // namespace kernbench::hardware
