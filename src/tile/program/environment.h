// The interface of kernel programs to the simulation that they run in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "addressing/page_table.h"
#include "hardware/machine.h"
#include "kernbench/coordinates.h"
#include "numerics/memory/executor.h"
#include "numerics/memory/memory.h"
#include "sim/scheduler.h"
#include "tile/explain/trace_store.h"
#include "tile/program/failure_places.h"

namespace kernbench::tile {

class KernelOperation;
class Program;
struct ProgramStep;

/// Told of every operation of every program when it has finished, in simulated order: the operation log and the
/// fingerprint of times, a trace. All times and causes of the operation are known then; its program is alive.
class OperationSink {
 public:
  virtual ~OperationSink() = default;
  virtual void on_operation(const KernelOperation& operation) = 0;
  /// Whether the sink reads KernelOperation::operand_text (they cost a string per operation).
  virtual bool wants_operands() const = 0;
  /// `program` has got to tl::waypoint(name), its `number`-th step in program order, at `time`.
  virtual void on_waypoint(const Program& /*program*/, std::uint64_t /*number*/, std::string_view /*name*/,
                           Time /*time*/, const std::source_location& /*where*/) {}
  /// `program` runs its first instruction; it has ended, all of its operations too. A program that fails does not end.
  virtual void on_program_begin(const Program& /*program*/) {}
  virtual void on_program_end(const Program& /*program*/) {}
  /// `program` unwinds, because it failed or was cancelled: it does not end.
  virtual void on_program_abandoned(const Program& /*program*/) {}
  /// A wait of `program`, or an interval in which it was busy, is over.
  virtual void on_step(const Program& /*program*/, const ProgramStep& /*step*/) {}
  /// An operation has been made and is about to be given to its engine.
  virtual void on_issue(const KernelOperation& /*operation*/) {}
};

/// Several sinks, told one after the other.
class OperationSinks final : public OperationSink {
 public:
  /// `sink` must outlive this one.
  void add(OperationSink& sink) { sinks_.push_back(&sink); }
  void on_operation(const KernelOperation& operation) override {
    for (OperationSink* sink : sinks_) sink->on_operation(operation);
  }
  void on_waypoint(const Program& program, std::uint64_t number, std::string_view name, Time time,
                   const std::source_location& where) override {
    for (OperationSink* sink : sinks_) sink->on_waypoint(program, number, name, time, where);
  }
  void on_program_begin(const Program& program) override {
    for (OperationSink* sink : sinks_) sink->on_program_begin(program);
  }
  void on_program_end(const Program& program) override {
    for (OperationSink* sink : sinks_) sink->on_program_end(program);
  }
  void on_program_abandoned(const Program& program) override {
    for (OperationSink* sink : sinks_) sink->on_program_abandoned(program);
  }
  void on_step(const Program& program, const ProgramStep& step) override {
    for (OperationSink* sink : sinks_) sink->on_step(program, step);
  }
  void on_issue(const KernelOperation& operation) override {
    for (OperationSink* sink : sinks_) sink->on_issue(operation);
  }
  bool wants_operands() const override {
    return std::ranges::any_of(sinks_, [](const OperationSink* sink) { return sink->wants_operands(); });
  }

 private:
  std::vector<OperationSink*> sinks_;
};

/// The bytes of all HBM slices, created as they are first touched.
class DeviceBytes {
 public:
  explicit DeviceBytes(numerics::Executor& executor, const topology::Topology& topology);
  numerics::Memory& slice(PeCoordinate at);

 private:
  numerics::Executor& executor_;
  std::int32_t cubes_, pes_;
  std::vector<std::unique_ptr<numerics::Memory>> slices_;
};

/// References to the parts of one simulation; owned by the runtime.
struct Environment {
  sim::Scheduler& scheduler;
  hardware::Machine& machine;
  numerics::Executor& executor;
  /// Computes the tiles whose values are known before the run (tile/program/known.h): `executor` itself, or under
  /// --no-data one that works all the same.
  numerics::Executor& constants;
  DeviceBytes& bytes;
  addressing::VirtualAddressSpace& addresses;
  OperationSink& sink;
  bool data_enabled;
  /// Takes whole lines, with their ends, that programs print (tl::device_print), in simulated order.
  std::function<void(std::string_view)> print;
  /// Fresh memory reads as zeros, not as invalid.
  bool fresh_memory_is_zero = false;
  /// What programs that exchange messages did.
  std::shared_ptr<TraceStore> traces = std::make_shared<TraceStore>();
  /// Lanes of a load outside of its tensor read nothing, where they would otherwise raise.
  bool reads_may_leave_tensors = false;
  /// Told where exceptions escape from programs; may be null.
  FailurePlaces* failures = nullptr;
  /// Names of the launches so far, which sources of invalid lanes refer to; only with data.
  std::shared_ptr<std::deque<std::string>> launch_names = std::make_shared<std::deque<std::string>>();
};

}  // namespace kernbench::tile
