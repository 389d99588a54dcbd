// The interface of whoever reads the stream of operations.
#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>

#include "base/address.h"
#include "hardware/command.h"
#include "kernbench/units.h"

namespace kernbench::tile {

class KernelCommand;
class OperationRecord;
class Program;
struct ProgramStep;

/// What there is to be told of. Nothing is computed for a topic to which nobody subscribes.
enum class Topic : std::uint8_t {
  operations,  // on_operation
  programs,    // on_program_begin, _end, _abandoned, _left, _next
  issues,      // on_issue
  steps,       // on_step_begun, on_step
  waypoints,   // on_waypoint
  stages,      // on_made, on_placed, on_issued, on_ready, on_start, on_arrival; and the logs of transfers
  edges,       // OperationRecord::happens_before
  signals,     // on_signal_seen
};
inline constexpr std::size_t kTopics = 8;

/// Reads the stream: the explanation, a trace, the operation log. Told in simulated order. A consumer changes no time.
class OperationConsumer {
 public:
  virtual ~OperationConsumer() = default;

  /// An operation has finished. All times and causes are known; its program is alive.
  virtual void on_operation(const OperationRecord& /*operation*/) {}
  /// A command has been made and is about to be given to its engine.
  virtual void on_issue(KernelCommand& /*command*/) {}

  /// `program` runs its first instruction.
  virtual void on_program_begin(Program& /*program*/) {}
  /// It has ended, all of its operations too. `stands`: of the programs of its launch that have ended, it is the last
  /// (ties: the lowest coordinate).
  virtual void on_program_end(Program& /*program*/, bool /*stands*/) {}
  /// It has ended, and its PE goes on with the next program of the grid: told at its end, and at the first instruction
  /// of the next one.
  virtual void on_program_left(Program& /*program*/) {}
  virtual void on_program_next(Program& /*program*/) {}
  /// It unwinds, because it failed or was cancelled: it does not end.
  virtual void on_program_abandoned(Program& /*program*/) {}

  /// `program` begins to wait, or to be busy, for a reason of its own; that is over. `cause` is the command that it
  /// waits for, or null.
  virtual void on_step_begun(Program& /*program*/, const ProgramStep& /*step*/) {}
  virtual void on_step(Program& /*program*/, const ProgramStep& /*step*/, const hardware::Command* /*cause*/) {}
  /// `program` has got to tl::waypoint(name), its `number`-th step in program order, at `time`.
  virtual void on_waypoint(const Program& /*program*/, std::uint64_t /*number*/, std::string_view /*name*/,
                           Time /*time*/, const std::source_location& /*where*/) {}

  /// `program` has read its signal word at this address: what was signalled there so far lies before all that it does
  /// from now on.
  virtual void on_signal_seen(const Program& /*program*/, PhysAddr /*word*/) {}

  // The stages of a command. It has been made; the wait for room in the TCM before that was ended by `granted_by`,
  // which may be null.
  virtual void on_made(KernelCommand& /*command*/, KernelCommand* /*granted_by*/) {}
  // For the others see hardware::CommandObserver.
  virtual void on_placed(KernelCommand& /*command*/, KernelCommand* /*by*/) {}
  virtual void on_issued(KernelCommand& /*command*/) {}
  virtual void on_ready(KernelCommand& /*command*/, KernelCommand& /*last*/) {}
  virtual void on_start(KernelCommand& /*command*/, KernelCommand* /*before*/) {}
  virtual void on_arrival(KernelCommand& /*receive*/, KernelCommand& /*send*/,
                          const hardware::MessageArrival& /*arrival*/) {}
};

}  // namespace kernbench::tile
