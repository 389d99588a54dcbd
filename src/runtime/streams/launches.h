// Putting kernel launches into streams and their times into the result.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "kernbench/result.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/queues/queue_set.h"
#include "runtime/simulation.h"
#include "tile/program/launch_record.h"

namespace kernbench::runtime {

struct LaunchPlan {
  std::string name;
  int device = 0;
  std::string range = {};                      // in which it was given
  std::int64_t available_pes = 0;              // of the rank that gives it
  std::vector<PeCoordinate> pes;               // ascending
  std::optional<tile::ProgramGrid> grid = {};  // of a launch with other than one program on each PE
  std::vector<SimulatedStorageRef> written;    // storages that the kernel may write
  std::vector<SimulatedStorageRef> read;       // kept alive until it has completed
  /// Channels of which the PEs are members, if any: a set that others may use too, or options for one of the launch's
  /// own, whose messages must all have been received when it completes.
  std::shared_ptr<QueueSet> queues = {};
  QueueOptions queue_options = {};
  /// What the launch waits for when the stream has come to it, if anything; asked then. May be empty.
  std::function<CompletionRef()> turn = {};
  /// Of a launch with a turn: whether there is nothing to wait for, so that it may go ahead to the device.
  std::function<bool()> turn_is_free = {};
  /// Of a set that is not known before the stream has come to the launch, or the launch goes ahead.
  std::function<std::shared_ptr<QueueSet>()> late_queues = {};
  std::function<void()> begins = {};  // called when its turn has come at the device. May be empty
  std::function<void()> body;
  bool users = false;                   // the kernel is the user's own: its lines say more than that of the launch
  std::optional<PlanResult> plan = {};  // of a library kernel: for the launch's result
  /// What a wait for the command waits for, made of the launch's own node; empty: that node itself. Alive until the
  /// launch has completed.
  std::function<std::shared_ptr<const sim::WaitNode>(const std::shared_ptr<const sim::WaitNode>&)> explain = {};
};

/// Costs the host the launch overhead, then enqueues on the calling fiber's current stream of the device.
CompletionRef enqueue_launch(Simulation& simulation, LaunchPlan plan);

/// Whether the options ask for channels at all.
bool wants_queues(const QueueOptions& options);

/// Refuses queue options that do not fit the plan's PEs or the machine: ValueError.
void check_queues(const LaunchPlan& plan, const topology::Topology& topology);

/// The PEs that hold a shard of the storages.
std::vector<PeCoordinate> shard_owners(const std::vector<SimulatedStorageRef>& storages);

}  // namespace kernbench::runtime
