// The machine of one simulation: all timed components, built from a topology, owned as one tree.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/coordinates.h"
#include "base/units.h"
#include "event/scheduler.h"
#include "event/waitable.h"
#include "hardware/fabric/fabric.h"
#include "hardware/operation.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// Structural agent ids, so that ties never depend on the order of creation.
enum class AgentKind : std::uint8_t { server, dma_queue, engine, program, cpu, host };

/// One program (kernel instance) for one PE.
struct ProgramRequest {
  PeCoordinate pe;
  std::string name;                          // "sip0.cube0.pe3 gemm#2"
  std::function<void(event::AgentId agent)> body;   // runs on a fiber of the PE's control processor
};

/// Times of a launch as its messages travel.
struct LaunchTimes {
  Time requested;        // the command left the host
  Time first_program;    // the first program's first instruction
  Time last_program;     // the last program's end
  Time completed;        // the completion reached the host
};

/// A launch under way: one message to the SIP's IO_CPU, one to each cube's M_CPU, one to each PE, and back.
struct LaunchRequest {
  SipId sip;
  std::string name;
  std::vector<ProgramRequest> programs;      // ordered by coordinate
  std::function<void(const LaunchTimes&)> completed;   // deliver phase, at the host
};

/// Host memory to or from HBM slices, moved by the DMA of the SIP's IO chiplet over PCIe and the fabric.
struct CopyRequest {
  SipId sip;
  bool to_device = true;
  std::vector<DmaLeg> legs;
  std::function<void()> effect;              // when the last byte has left (device to host) or landed in device memory
  std::function<void()> completed;           // at the host
};

/// Busy time and bytes of one resource.
struct ResourceUsage {
  std::string name;
  Time busy;
  Bytes bytes;
};

struct MachineOptions {
  bool exact_events = false;
};

/// Reservations of one PE's TCM, in aligned bytes without fragmentation, granted in program order.
class TcmAllocator : public event::Waitable {
 public:
  TcmAllocator(Bytes capacity, Bytes alignment) : capacity_(capacity), alignment_(alignment) {}
  Bytes capacity() const { return capacity_; }
  Bytes used() const { return used_; }
  Bytes rounded(Bytes request) const;
  /// Suspends the calling fiber, in order of arrival, until `request` (rounded) fits, and takes it.
  void reserve(Bytes request);
  void release(Bytes request);

 private:
  Bytes capacity_, alignment_, used_;
  std::vector<std::uint64_t> tickets_;
  std::uint64_t next_ticket_ = 0;
};

/// One PE: control processor contexts, DMA, GEMM and vector engines, TCM.
class ProcessingElement {
 public:
  virtual ~ProcessingElement() = default;
  virtual PeCoordinate coordinate() const = 0;
  virtual const std::string& name() const = 0;               // "sip0.cube2.pe5"
  virtual TcmAllocator& tcm() = 0;
  /// Called on a program's fiber: costs the issue time, suspends while the engine's queue is full, then queues the
  /// operation. Sets operation->issued when it has entered the queue.
  virtual void submit(const OperationRef& operation) = 0;
};

class Machine {
 public:
  Machine(event::Scheduler& scheduler, const topology::Topology& topology, MachineOptions options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const topology::Topology& topology() const;
  event::Scheduler& scheduler();
  Fabric& fabric();
  ProcessingElement& pe(PeCoordinate at);

  /// Called on a host fiber or from an event; the work begins at the host's end of the PCIe link, strictly later.
  void launch(LaunchRequest request);
  void copy(CopyRequest request);

  /// Agent ids of programs and host workers.
  event::AgentId program_agent(PeCoordinate pe, std::int32_t context) const;
  event::AgentId host_agent(std::int32_t rank) const;

  /// All servers and engines in structural order.
  std::vector<ResourceUsage> usage() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kernbench::hardware
