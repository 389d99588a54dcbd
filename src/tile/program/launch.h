// Starts the programs of a launch on the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hardware/machine.h"
#include "kernbench/coordinates.h"
#include "tile/program/environment.h"
#include "tile/program/program.h"

namespace kernbench::tile {

struct KernelLaunch {
  SipId sip;
  Name name;                           // unique in the simulation: "gemm#2"
  std::vector<PeCoordinate> pes;       // in order of coordinates
  ProgramGrid grid;                    // at least a program for each PE
  std::shared_ptr<QueueTable> queues;  // channels among programs, installed; may be null
  std::function<void()> body;          // the kernel with its arguments bound; called once for each program
  std::function<void()> begins = {};   // called when its turn has come at the device. May be empty
  std::function<void(const hardware::LaunchTimes&, const LaunchRecord&)> completed;
  std::function<bool(const std::exception_ptr&)> failed = {};  // see hardware::LaunchRequest, as the next one
  std::uint64_t owner = 0;
  std::shared_ptr<const bool> without_effect = {};  // stores that land while it is true write nothing; null: never
  std::uint64_t queue = 0;
  tl::Where called_at = {};  // the host call, when the kernel is the library's
};

/// Sends the launch to the machine. `completed` is called when its completion has reached the host.
/// Returns the launch as a node of the wait graph.
std::shared_ptr<const sim::WaitNode> start(Environment& environment, KernelLaunch launch);

/// Likewise launches of one SIP and one queue in one message; `after`: see hardware::GraphRequest.
std::vector<std::shared_ptr<const sim::WaitNode>> start(Environment& environment, std::vector<KernelLaunch> launches,
                                                        std::vector<std::vector<std::size_t>> after);

}  // namespace kernbench::tile
