// Everything that one simulation owns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "addressing/page_table.h"
#include "base/error_text.h"
#include "base/fingerprint.h"
#include "hardware/machine.h"
#include "kernbench/result.h"
#include "kernbench/simulate.h"
#include "numerics/memory/executor.h"
#include "runtime/observe/device_activity.h"
#include "runtime/observe/launch_log.h"
#include "runtime/observe/operation_log.h"
#include "runtime/observe/region_recorder.h"
#include "runtime/observe/slice_hints.h"
#include "runtime/observe/trace_recorder.h"
#include "runtime/queues/queue_resources.h"
#include "runtime/queues/queue_set.h"
#include "runtime/streams/copy_log.h"
#include "runtime/streams/event_waits.h"
#include "runtime/streams/host_waits.h"
#include "runtime/streams/stream.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "tensor/placement/device_memory.h"
#include "tile/explain/explainer.h"
#include "tile/program/environment.h"
#include "topology/spec.h"

namespace kernbench::tile {
class RaceDetector;
}

namespace kernbench::runtime {

class SimulatedDevices;

/// Holds the contents of device memory, or nothing under --no-data.
class DeviceContents final : public tensor::MemoryListener {
 public:
  /// Fresh memory holds zeros, or is invalid.
  DeviceContents(tile::DeviceBytes& bytes, bool enabled, bool zeros)
      : bytes_(bytes), enabled_(enabled), zeros_(zeros) {}
  void on_map(PeCoordinate slice, std::uint64_t address, Bytes bytes, const tensor::TensorRange& range) override;
  void on_unmap(PeCoordinate slice, std::uint64_t address, Bytes bytes) override;

 private:
  tile::DeviceBytes& bytes_;
  bool enabled_, zeros_;
  std::shared_ptr<const addressing::TensorDescriptor> named_;  // by names_
  std::shared_ptr<const numerics::PlaceNames> names_;
};

/// The parts of one simulation, in an order in which each may refer to those before it.
class Simulation {
 public:
  Simulation(const SimulateOptions& options, topology::Topology topology);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  const SimulateOptions& options() const { return options_; }
  const topology::Topology& topology() const { return topology_; }
  sim::Scheduler& scheduler() { return scheduler_; }
  hardware::Machine& machine() { return machine_; }
  numerics::Executor& executor() { return executor_; }
  tile::Environment& environment() { return environment_; }
  tensor::DeviceMemory& memory() { return memory_; }
  SimulatedDevices& devices() { return *devices_; }
  const std::shared_ptr<QueueResources>& queue_resources() const { return queue_resources_; }
  LaunchQueues& launch_queues() { return launch_queues_; }
  OperationLog& log() { return log_; }
  /// The timeline, or null when none is asked for.
  TraceRecorder* trace() { return trace_.get(); }
  /// What was found, where it was looked for.
  std::span<const RaceResult> races() const;
  /// The part of the run that the program marks.
  const std::shared_ptr<RegionRecorder>& region() { return region_; }
  /// Whether what starts now is part of what is reported of the run.
  bool is_in_region() const { return region_->is_open() || options_.whole_run; }
  /// A copy that starts now, and ends: for `copies` and `activity`.
  CopyUnderWay begin_copy(const char* direction, int device, const std::source_location& where, Bytes bytes) {
    activity.begin_copy(device, given_by_now(), scheduler_.now());
    return {direction, device, where, bytes, is_in_region(), scheduler_.now()};
  }
  void end_copy(const CopyUnderWay& copy) {
    activity.end_copy(copy.device, scheduler_.now());
    copies.add(copy, scheduler_.now());
  }
  /// Whoever else wants to be told of operations subscribes here before the first launch.
  tile::OperationStream& operations() { return stream_; }
  /// A device's streams; number 0 is its default stream.
  Stream& stream(int device, std::size_t index);
  std::size_t stream_count(int device) const;
  /// The first of a device's streams, from number `from` on, that has commands which are not over.
  std::optional<std::size_t> busy_stream(int device, std::size_t from) const;
  /// Makes a stream and returns its number.
  std::size_t add_stream(int device);
  std::weak_ptr<Stream> stream_handle(int device, std::size_t index) const;

  /// Drops the commands of cancelled groups that have not begun, in every stream.
  void drop_cancelled_commands();
  /// The last command of each stream that is not at rest, for the report of a deadlock.
  void append_unfinished(std::vector<const sim::WaitNode*>& nodes) const;

  /// "gemm#2", and for a worker with the path "1" "gemm#1.2": unique, counted by worker and name.
  Name unique_name(const std::string& name, const std::string& worker_path);
  /// The key of the next data task that belongs to this host worker.
  numerics::OperationKey next_host_key(sim::AgentId worker);
  /// A number that no other spawned group or worker of this simulation has; from 1 on.
  std::uint64_t next_group_number() { return ++groups_; }
  std::int64_t next_process_id() { return ++processes_; }
  /// Ranks that have been spawned and have not ended.
  std::int64_t live_ranks = 0;
  /// Under which the machine knows a launch of the main program; no group has such a number.
  std::uint64_t next_main_launch() { return (std::uint64_t{1} << 63) + ++main_launches_; }
  /// What an error says; of one that escaped a kernel, and does not say where, the place.
  ErrorText describe(const std::exception_ptr& error) const;
  /// The fiber of the main program, which gets the errors of its kernels at its waits. Set once.
  std::weak_ptr<sim::Fiber> main_worker;
  void warn(const std::string& text) const;
  /// The same unless it has been said, by whichever rank: what each layer of a model has to say.
  void warn_once(const std::string& text);
  /// Warns once of tensors that are made on device 0 by a program that has ranks, outside of them (SimulateOptions).
  void warn_unbound(const std::string& tensor);

  // What the program reports of itself.
  LaunchLog launches;
  SliceHintsLog slice_hints;
  DeviceActivity activity;
  std::vector<CheckResult> checks;
  std::map<std::string, Metric> metrics;
  HostWaits host_waits;
  EventWaits event_waits;
  CopyLog copies;
  SetupResult setup;
  /// What the run has taken for granted where values decide and it has none; each once, among the result's warnings.
  std::set<std::string> assumptions;
  /// What the program warns of itself, among the result's warnings, too.
  std::set<std::string> own_warnings;
  Fingerprint values;

  /// The distributed layer's own: what the process groups of the simulation share.
  std::shared_ptr<void> distributed;
  /// Its check of what is left when the run is over: throws for it. May be empty.
  std::function<void()> check_distributed;
  /// Adds what it knows of an error that ended the run. May be empty.
  std::function<void(const std::exception_ptr&, ErrorResult&)> explain_distributed;

 private:
  Stream::Observer stream_observer(const std::string& stream);

  SimulateOptions options_;
  topology::Topology topology_;
  std::shared_ptr<RegionRecorder> region_;  // outlives what completes while the rest is taken down
  OperationLog log_;
  tile::OperationStream stream_;
  std::optional<tile::Explainer> explainer_;  // none: --no-explain
  std::unique_ptr<TraceRecorder> trace_;
  std::unique_ptr<tile::RaceDetector> races_;  // null: not looked for
  numerics::Executor executor_;
  numerics::Executor constants_;  // works under --no-data only
  sim::Scheduler scheduler_;
  tile::DeviceBytes bytes_;
  addressing::VirtualAddressSpace addresses_;
  DeviceContents contents_;
  tensor::DeviceMemory memory_;
  std::shared_ptr<QueueResources> queue_resources_;
  hardware::Machine machine_;
  tile::FailurePlaces failures_;
  tile::Environment environment_;
  LaunchQueues launch_queues_;
  std::vector<std::vector<std::shared_ptr<Stream>>> streams_;  // by device
  std::vector<std::shared_ptr<BusyStreams>> busy_streams_;     // likewise; a stream's number is one more here
  std::unique_ptr<SimulatedDevices> devices_;
  std::map<std::string, std::uint64_t> name_counts_;
  std::map<sim::AgentId, std::uint64_t> host_operations_;
  std::uint64_t groups_ = 0;
  std::uint64_t main_launches_ = 0;
  std::int64_t processes_ = 0;
  bool warned_unbound_ = false;
  std::set<std::string> said_once_;
};

}  // namespace kernbench::runtime
