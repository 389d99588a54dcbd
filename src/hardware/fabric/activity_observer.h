// The interface of observers of servers and processors, such as a trace.
#pragma once

#include <cstdint>

#include "hardware/fabric/fabric.h"
#include "kernbench/units.h"
#include "sim/phase.h"

namespace kernbench::hardware {

/// With an observer nothing is coalesced, which changes no time. Called in simulated order, for each server in the
/// order of the starts.
class ActivityObserver {
 public:
  virtual ~ActivityObserver() = default;
  /// A server begins to move a burst, and will be busy with it until `end`. Agent and operation are the transfer's. Of
  /// a memory each channel: told when the memory takes the burst, which the channel may begin later.
  virtual void on_service(ServerId server, sim::AgentId agent, std::uint64_t operation, Time start, Time end,
                          Bytes bytes) = 0;
  /// A management processor (IO_CPU, M_CPU) has handled a message.
  virtual void on_message(sim::AgentId processor, Time start, Time end) = 0;
};

}  // namespace kernbench::hardware
