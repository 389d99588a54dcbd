// The consumer of the stream that explains launches.
#pragma once

#include <cstdint>
#include <memory>

#include "hardware/machine.h"
#include "tile/explain/account.h"
#include "tile/explain/breakdown.h"
#include "tile/explain/record.h"
#include "tile/explain/trace_store.h"
#include "tile/program/launch_record.h"
#include "tile/stream/operation_stream.h"

namespace kernbench::tile {

/// What is known of a launch when its programs have ended.
struct LaunchExplanation {
  LaunchAccount account;  // of the programs that have ended
  /// Of the program that stands for the launch; null before any has ended.
  Breakdown breakdown;
  std::shared_ptr<const ProgramTrace> trace;
};

/// What is kept of a program while it runs.
struct ProgramExplanation {
  std::shared_ptr<ProgramTrace> trace = std::make_shared<ProgramTrace>();
  BusyIntervals intervals;
};

/// Makes a LaunchExplanation of each launch that begins after it subscribed.
class Explainer final : public OperationConsumer {
 public:
  /// The machine must outlive it.
  explicit Explainer(hardware::Machine& machine) : machine_(machine) {}
  void subscribe_to(OperationStream& stream) {
    stream.subscribe(*this, {Topic::operations, Topic::programs, Topic::steps, Topic::stages});
  }

  /// A launch goes out; its record gets an explanation. What is returned names it for end_launch().
  std::uint64_t begin_launch(LaunchRecord& record);
  /// Its result has been made.
  void end_launch(std::uint64_t launch);
  const TraceStore& traces() const { return traces_; }

  void on_operation(const OperationRecord& operation) override;
  void on_program_begin(Program& program) override;
  void on_program_end(Program& program, bool stands) override;
  void on_program_abandoned(Program& program) override;
  void on_step(Program& program, const ProgramStep& step, const hardware::Command* cause) override;
  void on_start(KernelCommand& command, KernelCommand* before) override;
  void on_arrival(KernelCommand& receive, KernelCommand& send, const hardware::MessageArrival& arrival) override;

 private:
  ExplainedOperation explained(const KernelCommand& command) const;
  MessageWay way_of(const KernelCommand& receive) const;

  hardware::Machine& machine_;
  TraceStore traces_;
};

}  // namespace kernbench::tile
