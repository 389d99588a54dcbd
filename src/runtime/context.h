// Who calls: the simulation, device, and random state of the calling host fiber.
#pragma once

#include <memory>

#include "runtime/device_backend.h"
#include "runtime/random.h"
#include "runtime/simulation.h"

namespace kernbench::runtime {

/// Fiber-local state of a host worker. A new worker starts on device 0 with a fresh generator.
struct HostContext {
  Simulation& simulation;
  int device = 0;
  Generator generator;
};

/// Makes the calling fiber a host worker of `simulation`.
void enter_host_context(Simulation& simulation);

/// The calling fiber's state. ProgramError when `call` is made outside of kernbench::simulate or inside a kernel.
HostContext& current_context(const char* call);

}  // namespace kernbench::runtime
