// The interface of channel ends to their machine.
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "hardware/ipcq/slot_path.h"
#include "hardware/layout.h"
#include "hardware/transport.h"
#include "sim/scheduler.h"
#include "sim/wait_graph.h"
#include "topology/spec.h"

namespace kernbench::hardware {

class Ipcq;

struct IpcqEnvironment {
  sim::Scheduler& scheduler;
  const topology::Topology& topology;
  const Layout& layout;
  Transport& transport;
  MemoryPath memory;
  SlotPath path;  // over `memory`
  std::function<Ipcq&(PeCoordinate)> ipcq_of;
  /// The programs that run on a PE now, each as what must act for `reason`; nobody where there is none.
  std::function<void(PeCoordinate, const Name& reason, std::vector<sim::WaitEdge>&)> programs_of;
  /// A command of this program on the PE has failed. False: nobody sees to it.
  std::function<bool(PeCoordinate, sim::AgentId program, const std::exception_ptr&)> operation_failed;
};

}  // namespace kernbench::hardware
