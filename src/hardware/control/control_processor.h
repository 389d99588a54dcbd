// The control processor of a PE: runs programs in a fixed number of contexts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hardware/layout.h"
#include "kernbench/coordinates.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// One program (kernel instance) for one PE.
struct ProgramRequest {
  PeCoordinate pe;
  Name name;                                     // "sip0.cube0.pe3 gemm#2"; for its fiber
  std::function<void(sim::AgentId agent)> body;  // runs on a fiber of the PE's control processor
};

struct Program;

/// Told, in the deliver phase, that the control processor is done with a program.
class ProgramOwner {
 public:
  virtual ~ProgramOwner() = default;
  virtual void program_over(Program& program) = 0;
  /// `error` escaped the body of a program that had not been cancelled. True: the owner sees to it; false: it stays
  /// with the fiber and ends the run.
  virtual bool program_failed(const Program& program, const std::exception_ptr& error) = 0;
};

/// A program on its way through a control processor.
struct Program {
  ProgramRequest request;
  ProgramOwner* owner = nullptr;
  std::size_t index = 0;  // for the owner
  Time first, last;       // its first instruction; the end of its body
  bool arrived = false;   // at its control processor
  bool cancelled = false;
  bool over = false;
};

/// Programs start in order of arrival, each in the lowest free context: `start_latency` later its fiber runs the body.
/// When the body has returned, one `issue` later the context is free and the owner is told. When it has thrown, its
/// commands that have not started are dropped then, and context and owner wait for those under way.
class ControlProcessor : public sim::WaitNode {
 public:
  /// Drops the commands of a program and returns how many are still under way; each calls `over` when it has finished.
  using DropCommands = std::function<std::size_t(sim::AgentId program, sim::Callback over)>;

  /// The references must outlive the control processor.
  ControlProcessor(sim::Scheduler& scheduler, const Layout& layout, const topology::PeSpec& spec, PeCoordinate pe,
                   DropCommands drop_commands);

  /// The launch message of `program` has arrived; called in the deliver phase.
  void arrive(Program& program);
  /// Takes a program back, wherever it is: one that has not started is over now, or when it arrives; one that runs gets
  /// Cancelled. Called in the deliver phase.
  void cancel(Program& program);
  /// An operation of the program with this agent, which runs, has failed. True: the owner sees to it, or it is a
  /// consequence.
  bool operation_failed(sim::AgentId program, const std::exception_ptr& error);
  /// Which of `queues` DMA queues the next DMA operation of the program with this agent takes: its operations go round
  /// robin, starting at queue 0, whatever the timing.
  std::size_t next_dma_queue(sim::AgentId program, std::size_t queues);
  /// Whom one waits for that waits for `program`: its fiber, or this processor while it is queued.
  const sim::WaitNode* runner(const Program& program) const;
  /// The fibers of the programs that run now.
  std::vector<const sim::Fiber*> running() const;

  Name wait_name() const override { return to_name(pe_) + ".control"; }
  void waits_for(std::vector<sim::WaitEdge>& edges) const override;

 private:
  struct Context {
    Program* program = nullptr;
    std::shared_ptr<sim::Fiber> fiber;
    std::uint64_t dma_operations = 0;
    bool failed = false;         // its body has thrown
    std::size_t unfinished = 0;  // commands of a failed program
  };
  void start_next();
  void spawn(std::uint64_t context);
  void run(std::uint64_t context);
  void end(std::uint64_t context);
  void release(std::uint64_t context);
  void free(std::uint64_t context);
  void command_over(std::uint64_t context);
  static void pass_by(Program& program);
  sim::AgentId agent(std::uint64_t context) const;

  sim::Scheduler& scheduler_;
  const Layout& layout_;
  const topology::PeSpec& spec_;
  PeCoordinate pe_;
  DropCommands drop_commands_;
  std::vector<Context> contexts_;
  std::vector<Program*> queue_;  // waiting for a context
};

}  // namespace kernbench::hardware
