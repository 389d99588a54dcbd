// The one timed server that links, HBM channels and TCM ports are made of, and the transfers that cross them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/packets.h"
#include "base/part.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::hardware {

/// Index of a server in its fabric. Also its structural order: the machine adds servers in a fixed order.
struct ServerId {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const ServerId&) const = default;
};

/// An access begins on a channel that has a law of its own.
struct ServiceRequest {
  std::uint64_t address = 0;  // local to the memory
  Bytes bytes;
  bool write = false;  // the memory is the last stage of the transfer's route, not the first
  Time start;
};
/// How long an access occupies its channel; at least 1 ps. Asked once for each access, in the order of service, so that
/// it may keep state.
using ServiceLaw = std::function<Time(const ServiceRequest&)>;

/// A server moves one burst at a time: `bytes / bandwidth` of occupancy (rounded up to a picosecond, at least one), and
/// `latency` from the start of the burst here to its head's arrival at the next server, from its end here to its
/// tail's. `buffer` bytes of each traffic class fit into the buffer behind it; a burst that is larger enters when the
/// buffer is empty. As the first or last stage of a route a server with a `minimum`, and every group of servers, is a
/// memory of channels, which a burst occupies by its accesses: each row or part of one in a granule is one access.
struct ServerSpec {
  std::string name;  // "sip0.cube2.pe5.router.east"
  Bandwidth bandwidth;
  Time latency;
  Bytes buffer{16 * 1024};
  Bytes minimum{0};       // of a memory: a shorter access occupies the channel as long as this many bytes
  sim::AgentId agent;     // structural id for ties
  ServiceLaw law = {};    // in place of bytes / bandwidth, for memories; its transfers are never coalesced
  PartId part = {};       // what it is in a machine
  Bytes queue{8 * 1024};  // of a memory: a channel that has more to do than this lets others stand idle
  Packets packets = {};   // of a link: what it serialises with each burst beside its bytes
  bool lane = false;      // of several to one place, which have one turn together at the servers behind it
};

/// Requests, responses and control never wait for each other's buffers; each has two virtual channels (datelines).
enum class VirtualNetwork : std::uint8_t { request = 0, response = 1, control = 2 };
struct TrafficClass {
  VirtualNetwork network = VirtualNetwork::request;
  std::uint8_t channel = 0;  // 0 or 1
  constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(network) * 2 + channel; }
  static constexpr std::uint32_t count = 6;
};

/// One stage of a route: a single server, or a group of interleaved ones (HBM channels), a memory, of which each access
/// takes the one its address selects. A group comes only first or last on a route. Behind a group as first stage each
/// transfer has a response buffer of its own, as large as the `buffer`s of its servers together.
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

/// The ranges of a transfer: one, or several that somebody else keeps until the transfer is delivered.
class Ranges {
 public:
  Ranges() = default;
  Ranges(std::span<const StridedRange> kept) : kept_(kept) {}     // NOLINT(google-explicit-constructor): a view
  Ranges(const std::vector<StridedRange>& kept) : kept_(kept) {}  // NOLINT(google-explicit-constructor): a view
  Ranges(std::vector<StridedRange>&&) = delete;
  explicit Ranges(const StridedRange& one) : one_(one), holds_(true) {}
  std::span<const StridedRange> view() const { return holds_ ? std::span(&one_, 1) : kept_; }
  Bytes total() const;

 private:
  std::span<const StridedRange> kept_;
  StridedRange one_;
  bool holds_ = false;
};

/// Which server of a group an address belongs to: interleaved_part() of its granule (base/interleaving.h).
std::uint32_t interleave(std::uint64_t address, Bytes granule, std::uint32_t group);

/// What a transfer met on its way, stage by stage.
struct TransferLog {
  struct Hop {
    ServerId server;      // the first of the stage
    std::uint16_t group;  // its servers
    Time start;           // the last burst's, on this stage
    /// For which the stage stood idle while some burst could have started but for room that was on its way, and this
    /// transfer was there or held up before: the buffer behind it is too small for the way there and back.
    /// Waiting for room because bursts before had to wait further on is not in it.
    Time starved;
    /// For which the stage stood idle for want of room that bursts kept which had to wait further on, from the
    /// transfer's start to its last burst.
    Time held;
    bool operator==(const Hop&) const = default;
  };
  std::vector<Hop> hops;
  bool operator==(const TransferLog&) const = default;
};

/// Where a stage stands in a tree, whose stages are in depth-first order: the first one behind a stage comes next.
struct TreeStage {
  static constexpr std::uint16_t kInside = UINT16_MAX;
  std::uint16_t next_branch = 0;     // the next stage behind the same one; 0: none
  std::uint16_t receiver = kInside;  // of a last stage: its place among the receivers
};

/// The end of one path of a tree: whose delivery it is, with the key (agent, 2 * operation + 1).
struct Receiver {
  sim::AgentId agent;
  std::uint64_t operation = 0;
  sim::Callback delivered;
};

/// A transfer: its bytes cross all stages in bursts, in the order of `ranges`. Of transfers that are under way at the
/// same time, no two have the same agent and operation: these are their input ports' names.
struct TransferRequest {
  sim::AgentId agent;  // who moves it, and the number of its operation: the tie key of its callbacks
  std::uint64_t operation = 0;
  std::span<const Stage> route;  // at least one stage; somebody else keeps it until the transfer is delivered
  /// A multicast: `route` is a tree, with one entry here for each stage, and somebody keeps the receivers, too, until
  /// the last of them has all. Its last stages are single servers and no memories. Empty: a path.
  std::span<const TreeStage> tree = {};
  std::span<const Receiver> receivers = {};
  Ranges ranges;
  /// From memory to memory: where the bytes go, in the order of `ranges` and as many. Accesses then cross no row and no
  /// granule of either side; those of `ranges` are the ones of a first stage, those here of a last one. Empty: the same
  /// addresses.
  Ranges landing = {};
  Bytes burst{1024};    // the most bytes of a burst
  Bytes granule{1024};  // interleave granule of group stages; an access never crosses one
  /// Called in the deliver phase, with the keys (agent, 2 * operation) and (agent, 2 * operation + 1), when the last
  /// burst has left the first stage (a read's effect), and when the last burst has left the last stage (a write's
  /// effect, and the end). Either may be empty.
  sim::Callback departed;
  sim::Callback delivered;
  TransferLog* log = nullptr;  // is filled by the time of `delivered`, until which it must live

  /// Whether bursts leave the fabric behind a stage.
  bool ends_at(std::size_t stage) const {
    return tree.empty() ? stage + 1 == route.size() : tree[stage].receiver != TreeStage::kInside;
  }
};

/// What one server has done before now: bursts whose service has started (in a channel: that the memory has taken), and
/// the time for which it has been busy.
struct ServerCounters {
  Time busy;
  Bytes bytes;
  std::uint64_t bursts = 0;
};

class ActivityObserver;
namespace fabric {
class Skipper;
}

struct FabricOptions {
  bool exact_events = false;             // never coalesce
  ActivityObserver* observer = nullptr;  // told of every burst, which implies exact events; outlives the fabric
};

/// All servers of a simulation and all transfers under way. See README.md beside this file for the law.
class Fabric {
 public:
  Fabric(sim::Scheduler& scheduler, FabricOptions options);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// Makes room for so many servers in all: machines have thousands for each device, of half a kilobyte.
  void reserve(std::size_t servers);
  ServerId add_server(ServerSpec spec);
  std::size_t server_count() const;
  const ServerSpec& spec(ServerId server) const;
  ServerCounters counters(ServerId server) const;

  /// Starts a transfer now; must be called in the deliver phase (an event's callback), so that it takes part in this
  /// instant's arbitration. A transfer without bytes is delivered at once.
  void start(const TransferRequest& request);

  /// For who is alone in the fabric, and does the same again and again.
  fabric::Skipper& skipper();

  /// Transfers that have not been delivered.
  std::size_t in_flight() const;
  /// True when nothing is in flight, all queues are empty and all buffers are, or will be without more events.
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
