// The one timed server that links, HBM channels and TCM ports are made of, and the transfers that cross them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/part.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::hardware {

/// Index of a server in its fabric. Also its structural order: the machine adds servers in a fixed order.
struct ServerId {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const ServerId&) const = default;
};

/// A chunk starts on a server that has a law of its own.
struct ServiceRequest {
  std::uint64_t address = 0;  // local to the memory
  Bytes bytes;
  bool write = false;  // the server is the last of the chunk's route, not the first
  Time start;
};
/// How long a chunk occupies a server; at least 1 ps. Asked once for each chunk, in the order of service, so that it
/// may keep state.
using ServiceLaw = std::function<Time(const ServiceRequest&)>;

/// A server moves one chunk at a time: `bytes / bandwidth` of occupancy (rounded up to a picosecond, at least one), and
/// `latency` from the start of the chunk here to its head's arrival at the next server, from its end here to its
/// tail's. `credits` chunks of each traffic class fit into the buffer behind it.
struct ServerSpec {
  std::string name;  // "sip0.cube2.pe5.router.east"
  Bandwidth bandwidth;
  Time latency;
  std::int32_t credits = 16;
  Bytes minimum{0};     // a shorter chunk occupies the server as long as this many bytes (HBM access size)
  sim::AgentId agent;   // structural id for ties
  ServiceLaw law = {};  // in place of bytes / bandwidth, for memories; its transfers are never coalesced
  PartId part = {};     // what it is in a machine
};

/// Requests, responses and control never wait for each other's buffers; each has two virtual channels (datelines).
enum class VirtualNetwork : std::uint8_t { request = 0, response = 1, control = 2 };
struct TrafficClass {
  VirtualNetwork network = VirtualNetwork::request;
  std::uint8_t channel = 0;  // 0 or 1
  constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(network) * 2 + channel; }
  static constexpr std::uint32_t count = 6;
};

/// One stage of a route: a single server, or a group of interleaved ones (HBM channels) of which each chunk takes the
/// one its address selects. A group comes only first or last on a route. Behind a group as first stage each transfer
/// has a response buffer of its own, with `credits` chunks for each server of the group, which it leaves in order.
struct Stage {
  ServerId server;          // first of the group
  std::uint16_t group = 1;  // number of servers, consecutive ids
  TrafficClass traffic;     // class of the buffer behind this stage
};

/// Rows of equal length at equal distance: what one leg of a transfer reads or writes, in local addresses of a memory.
struct StridedRange {
  std::uint64_t address = 0;
  std::int64_t rows = 1;
  Bytes row_bytes;
  std::int64_t stride = 0;  // bytes from row to row
  constexpr Bytes total() const { return row_bytes * rows; }
};

/// Which server of a group an address belongs to: the sum of the base-`group` digits of address / granule, modulo
/// group. Spreads power-of-two strides evenly (permutation-based interleaving: Zhang, Zhu, Zhang, MICRO 2000).
std::uint32_t interleave(std::uint64_t address, Bytes granule, std::uint32_t group);

/// What a transfer met on its way, stage by stage.
struct TransferLog {
  struct Hop {
    ServerId server;      // the first of the stage
    std::uint16_t group;  // its servers
    Time start;           // the last chunk's, on this stage
    /// For which the stage stood idle, from the first chunk of the transfer to its last, and some chunk could have
    /// started but for a credit that was on its way: the buffer behind it is too small for the way there and back.
    /// Added up over a group's servers; waiting for room because chunks before had to wait further on is not in it.
    Time starved;
    bool operator==(const Hop&) const = default;
  };
  std::vector<Hop> hops;
  bool operator==(const TransferLog&) const = default;
};

/// A transfer: its chunks cross all stages in order, in the order of their addresses in `ranges`. Of transfers that are
/// under way at the same time, no two have the same agent and operation: these are their input ports' names.
struct TransferRequest {
  sim::AgentId agent;  // who moves it, and the number of its operation: the tie key of its callbacks
  std::uint64_t operation = 0;
  std::vector<Stage> route;          // at least one stage
  std::vector<StridedRange> ranges;  // chunks never cross a row or an interleave granule
  /// From memory to memory: where the bytes go, in the order of `ranges` and as many. Chunks then cross no row and no
  /// granule of either side; the one in `ranges` selects the server of a group as first stage, the one here that of a
  /// group as last stage. Empty: the same addresses.
  std::vector<StridedRange> landing = {};
  Bytes chunk{1024};  // largest chunk; without a granule also that of group stages
  Bytes granule{0};   // interleave granule of group stages, a multiple of `chunk`; 0: `chunk`
  /// Called in the deliver phase, with the keys (agent, 2 * operation) and (agent, 2 * operation + 1), when the last
  /// chunk has left the first stage (a read's effect), and when the last chunk has left the last stage (a write's
  /// effect, and the end). Either may be empty.
  sim::Callback departed;
  sim::Callback delivered;
  TransferLog* log = nullptr;  // is filled by the time of `delivered`, until which it must live

  Bytes interleave_granule() const { return granule > Bytes(0) ? granule : chunk; }
};

/// What one server has done before now: chunks whose service has started, and the time for which it has been busy.
struct ServerCounters {
  Time busy;
  Bytes bytes;
  std::uint64_t chunks = 0;
};

class ActivityObserver;

struct FabricOptions {
  bool exact_events = false;             // never coalesce
  ActivityObserver* observer = nullptr;  // told of every chunk, which implies exact events; outlives the fabric
};

/// All servers of a simulation and all transfers under way. See README.md beside this file for the law.
class Fabric {
 public:
  Fabric(sim::Scheduler& scheduler, FabricOptions options);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  ServerId add_server(ServerSpec spec);
  std::size_t server_count() const;
  const ServerSpec& spec(ServerId server) const;
  ServerCounters counters(ServerId server) const;

  /// Starts a transfer now; must be called in the deliver phase (an event's callback), so that it takes part in this
  /// instant's arbitration. A transfer without bytes is delivered at once.
  void start(TransferRequest request);

  /// Transfers that have not been delivered.
  std::size_t in_flight() const;
  /// True when nothing is in flight, all queues are empty and every credit is at home or on its way there.
  bool idle() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// The law: when an uncontended transfer departs and arrives if it starts at `start` on idle servers. `servers` is
/// indexed by ServerId. Requires that no server comes twice on the route.
struct TransferTimes {
  Time departed;
  Time delivered;
};
TransferTimes uncontended(std::span<const ServerSpec> servers, const TransferRequest& request, Time start);

}  // namespace kernbench::hardware
