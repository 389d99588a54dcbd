// Who calls: the simulation, device, and random state of the calling host fiber.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/device_backend.h"
#include "runtime/random.h"
#include "runtime/repeated_reads.h"
#include "runtime/simulation.h"
#include "runtime/worker_group.h"

namespace kernbench::runtime {

/// Fiber-local state of a host worker. A new worker starts on device 0 and its default stream, and its generator at the
/// beginning of the sequence of the simulation's seed.
struct HostContext {
  Simulation& simulation;
  int device = 0;
  Generator generator;
  std::map<int, std::size_t> streams = {};  // current stream by device; the default one where there is none
  std::shared_ptr<void> distributed = {};   // the distributed layer's: the worker's process groups
  Worker worker = {};
  RepeatedReads reads = {};
  std::vector<std::shared_ptr<WorkerGroup>> children = {};  // what it has spawned and has to join when it ends
};

/// Makes the calling fiber a host worker of `simulation`: the main program, or the one that is given.
void enter_host_context(Simulation& simulation);
void enter_host_context(Simulation& simulation, Worker worker);
/// The calling worker's program has come to its end: joins what it has spawned.
void end_host_context();

/// The calling fiber's state. ProgramError when `call` is made outside of kernbench::simulate or inside a kernel.
HostContext& current_context(const char* call);

/// The worker's current stream of a device: its number, and itself for the calling fiber.
std::size_t current_stream_index(const HostContext& context, int device);
Stream& current_stream(const char* call, int device);

}  // namespace kernbench::runtime
