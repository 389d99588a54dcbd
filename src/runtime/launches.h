// Putting kernel launches into streams and their times into the result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/coordinates.h"
#include "runtime/simulated_devices.h"
#include "runtime/simulation.h"

namespace kernbench::runtime {

struct LaunchPlan {
  std::string name;
  int device = 0;
  std::vector<PeCoordinate> pes;             // ascending
  std::vector<SimulatedStorageRef> written;  // storages that the kernel may write
  std::vector<SimulatedStorageRef> read;     // kept alive until it has completed
  std::function<void()> body;
};

/// Costs the host the launch overhead, then enqueues on the calling fiber's current stream of the device.
CompletionRef enqueue_launch(Simulation& simulation, LaunchPlan plan);

/// The PEs that hold a shard of the storages.
std::vector<PeCoordinate> shard_owners(const std::vector<SimulatedStorageRef>& storages);

}  // namespace kernbench::runtime
