// The state of a host worker: simulation, device, streams, random generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernbench/coordinates.h"
#include "runtime/observe/region_recorder.h"
#include "runtime/simulation.h"
#include "runtime/streams/repeated_reads.h"
#include "runtime/streams/worker_group.h"
#include "sim/program_call.h"
#include "tensor/device_backend.h"
#include "tensor/placement/device_part.h"
#include "tensor/random.h"

namespace kernbench::runtime {

class Capture;

/// What a worker had given to devices has failed.
struct Failure {
  std::exception_ptr error;
  bool told = false;  // some worker has been told
};
using FailureRef = std::shared_ptr<Failure>;

/// For whom a host worker waits: for what it has given to a device, or, with anything else, for what other ranks do.
enum class WaitFor : std::uint8_t { device, ranks };

/// A wait for devices or other ranks that is over.
struct LastWait {
  sim::ProgramCall call = {};
  Time ended = {};  // 0: there was none
  WaitFor whom = WaitFor::device;
};

/// Fiber-local state of a host worker. A new worker starts on device 0 and its default stream, and its generator at the
/// beginning of the sequence of the simulation's seed.
struct HostContext {
  Simulation& simulation;
  int device = 0;
  tensor::Generator generator;
  std::map<int, std::size_t> streams = {};  // current stream by device; the default one where there is none
  /// A worker that has a PE for itself, of a SIP that it shares: its tensors on that SIP lie there, and it has default
  /// streams of its own, as a process has. Behind what others of the SIP do, it could wait for itself.
  std::optional<PeCoordinate> pe = {};
  std::map<int, std::size_t> default_streams = {};            // its own, by device; number 0 where there is none
  std::map<int, std::vector<std::size_t>> made_streams = {};  // by device
  std::shared_ptr<void> distributed = {};                     // the distributed layer's: the worker's process groups
  std::shared_ptr<void> model_parallel = {};                  // the parallel layer's: the worker's groups of a model
  Worker worker = {};
  RepeatedReads reads = {};
  std::shared_ptr<OpenRange> range = {};                    // the latest that it has begun
  std::shared_ptr<OpenRange> profiled = {};                 // from profiler::start on
  std::vector<std::shared_ptr<WorkerGroup>> children = {};  // what it has spawned and has to join when it ends
  std::shared_ptr<Capture> capture = {};                    // of a graph, under way; see streams/capture.h
  std::map<int, std::size_t> capture_streams = {};          // on which graphs are captured, by device; made when used
  CommandScopeRef scope = {};                               // of what it gives to devices at present; may be null
  std::vector<FailureRef> failures = {};                    // of which it has not been told, see host_wait.h
  bool waits_for_devices = false;                           // or for other ranks: a failure ends the wait
  LastWait last_wait = {};                                  // in which time passed
  std::int64_t launches = 0;                                // that it has given to devices
  std::string agreement = {};                               // what ranks of its collectives must say alike, besides

  /// The part of a SIP on which this worker allocates: the SIP, or the worker's PE of it.
  tensor::DevicePart part(SipId sip) const {
    return pe && pe->sip == sip ? tensor::DevicePart(*pe) : tensor::DevicePart(sip);
  }
};

/// Makes the calling fiber a host worker of `simulation`: the main program, or the one that is given.
void enter_host_context(Simulation& simulation);
void enter_host_context(Simulation& simulation, Worker worker);
/// The calling worker's program has come to its end: joins what it has spawned.
void end_host_context();

/// The calling fiber's state. ProgramError when `call` is made outside of kernbench::simulate or inside a kernel.
HostContext& current_context(const char* call);

/// Gives the worker a PE for itself, and makes the PE's SIP its current device.
void move_to_pe(HostContext& context, PeCoordinate pe);

/// Makes a stream of a device for the worker, and returns its number.
std::size_t add_stream(HostContext& context, int device);
/// The first stream of a device, from number `from` on, with work that synchronize() waits for: of those of a worker
/// that has a PE for itself, else of all.
std::optional<std::size_t> stream_to_synchronize(const HostContext& context, int device, std::size_t from);
std::size_t default_stream_index(HostContext& context, int device);
/// The worker's current stream of a device: its number, and itself for the calling fiber.
std::size_t current_stream_index(HostContext& context, int device);
Stream& current_stream(const char* call, int device);

}  // namespace kernbench::runtime
