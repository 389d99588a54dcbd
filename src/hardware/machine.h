// The machine of one simulation: all timed components, built from a topology, owned as one tree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hardware/bounds.h"
#include "hardware/command.h"
#include "hardware/copy/copy_engine.h"
#include "hardware/fabric/fabric.h"
#include "hardware/ipcq/installation.h"
#include "hardware/ipcq/sent_payload.h"
#include "hardware/launch/launch.h"
#include "hardware/launch/launch_graph.h"
#include "hardware/mmu/tlb.h"
#include "hardware/pe/processing_element.h"
#include "hardware/physical_map.h"
#include "hardware/resources.h"
#include "hardware/server_kind.h"
#include "kernbench/coordinates.h"
#include "kernbench/models.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"
#include "sim/wait_graph.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// What the TLB of one PE was asked.
struct TlbUsage {
  PeCoordinate pe;
  TlbCounters counters;
};

struct MachineOptions {
  bool exact_events = false;
  ModelRegistry models = {};             // of the caller's own
  ActivityObserver* observer = nullptr;  // implies exact events; outlives the machine
  bool alike_devices = false;            // all SIPs do the same: SIP 0 is simulated, and the others follow it
};

/// A command given on a fiber reaches the host's end of the PCIe link this much later: the smallest step of time, so
/// that whatever fibers cause arrives in a later instant than they run in.
constexpr Time kDoorbell = Time::picoseconds(1);

class Machine {
 public:
  /// Throws ConfigurationError for a topology that cannot be built: unknown models, too many parts, a channel count
  /// that does not divide, devices that are to be alike and are not. PEs and M_CPUs are made when first used.
  Machine(sim::Scheduler& scheduler, const topology::Topology& topology, MachineOptions options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const topology::Topology& topology() const;
  /// Its links and routes.
  const topology::Network& network() const;
  /// The figures of one PE: those of the topology, or its own.
  const topology::PeSpec& pe_spec(PeCoordinate at) const;
  /// Where the bytes of its memories are.
  const PhysicalMap& addresses() const;
  sim::Scheduler& scheduler();
  Fabric& fabric();
  ProcessingElement& pe(PeCoordinate at);

  /// Called on a host fiber or from an event; the work begins at the host's end of the PCIe link, strictly later.
  /// Commands of one instant leave in the order of the calls. Returns the launch as a node of the wait graph: what a
  /// host waits for that waits for its completion.
  std::shared_ptr<const sim::WaitNode> launch(LaunchRequest request);
  /// Likewise a graph of launches, as one command; returns them in their order.
  std::vector<std::shared_ptr<const sim::WaitNode>> launch(GraphRequest request);
  /// A copy of more than kMaximumLegs legs is several commands.
  void copy(CopyRequest request);
  void copy(PeerCopyRequest request);
  /// Likewise: writes neighbour tables. ValueError for figures or entries that the machine does not have.
  std::shared_ptr<const sim::WaitNode> install(InstallRequest request);
  /// Drops what is in the slots of channels and on its way there, strictly later: of members that have been taken back.
  void close(std::vector<Channel> channels);
  /// The ends of channels on a PE.
  Ipcq& ipcq(PeCoordinate at);

  /// At the end of a run in which devices are alike: ProgramError ("AlikeDevicesError") when SIP 0 has sent what no
  /// program like those that run there receives.
  void check_all_received() const;

  /// Takes back all that `owner` has given to the machine, strictly later, as a command does. Programs that have not
  /// started are dropped, and those that run get Cancelled; then their commands that have not started are dropped, and
  /// those under way finish without effect, as do copies. Each launch and copy completes, when nothing of it is left.
  /// assumption: a wire of its own tells all parts at once; the cost of an abort in a real machine is not modelled.
  void cancel(std::uint64_t owner);

  /// Agent ids of programs and host workers (rank -1: the main program).
  sim::AgentId program_agent(PeCoordinate pe, std::int32_t context) const;
  sim::AgentId host_agent(std::int32_t rank) const;

  /// The least time that a command of a program on `pe` can take, whatever else is under way.
  CommandBound least(PeCoordinate pe, const Command& command);
  /// The servers that the data of one leg of a DMA command pass, all channels of the slice included.
  std::vector<ServerId> servers_of(PeCoordinate pe, const DmaWork& work, std::size_t leg);

  /// What a server of the fabric is for.
  ServerKind server_kind(ServerId server) const;

  /// What each resource has done; see Resources.
  std::vector<ResourceUsage> usage() const;
  std::vector<ResourceCounters> counters_now() const;
  /// What a PE, or all PEs of a SIP, have sent through their queues.
  SentPayload sent(PeCoordinate at) const;
  SentPayload sent(SipId sip) const;
  /// Of the PEs whose TLB was asked, by coordinate.
  std::vector<TlbUsage> tlb_usage() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kernbench::hardware
