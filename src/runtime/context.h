// Who calls: the simulation, device, and random state of the calling host fiber.
#pragma once

#include <map>
#include <memory>

#include "runtime/device_backend.h"
#include "runtime/random.h"
#include "runtime/simulation.h"

namespace kernbench::runtime {

/// Fiber-local state of a host worker. A new worker starts on device 0 and its default stream with a fresh generator.
struct HostContext {
  Simulation& simulation;
  int device = 0;
  Generator generator;
  std::map<int, std::size_t> streams = {};  // current stream by device; the default one where there is none
};

/// Makes the calling fiber a host worker of `simulation`.
void enter_host_context(Simulation& simulation);

/// The calling fiber's state. ProgramError when `call` is made outside of kernbench::simulate or inside a kernel.
HostContext& current_context(const char* call);

/// The worker's current stream of a device: its number, and itself for the calling fiber.
std::size_t current_stream_index(const HostContext& context, int device);
Stream& current_stream(const char* call, int device);

}  // namespace kernbench::runtime
