// One server with its arbiter, and the buffers behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "hardware/fabric/channels.h"
#include "hardware/fabric/fabric.h"
#include "hardware/fabric/room.h"
#include "hardware/fabric/service_time.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::hardware::fabric {

using TransferSlot = std::uint32_t;
inline constexpr TransferSlot kNoTransfer = UINT32_MAX;

/// A burst in the queue behind a server.
struct QueuedBurst {
  Time ready;     // when its head is at the next server
  Time complete;  // when its tail is there
  TransferSlot transfer = kNoTransfer;
  std::uint16_t stage = 0;  // the one that it waits for
  std::int64_t bytes = 0;
};

/// A server has a buffer for each traffic class, and one for each class of what goes from it into a group that is a
/// last stage: the write buffer of a memory.
inline constexpr std::uint32_t kBuffers = 2 * TrafficClass::count;

/// Which buffer a burst is in after `stage`, which is not the last one of the route.
inline std::uint32_t buffer_index(std::span<const Stage> route, std::size_t stage) {
  const bool lands = stage + 2 == route.size() && route.back().group > 1;
  return route[stage].traffic.index() + (lands ? TrafficClass::count : 0);
}

/// A buffer behind a server: a queue of which only the head asks for its next server.
struct Buffer {
  explicit Buffer(Bytes size) : room(size) {}
  Room room;
  Ring<QueuedBurst> queue;
};

/// Structural names of the input ports of an arbiter: first the queues by (server, buffer), then the transfers that
/// inject by (agent, operation), each before its own response buffer.
constexpr std::uint64_t queue_port(std::uint32_t server, std::uint32_t buffer) {
  return std::uint64_t{server} * kBuffers + buffer;
}
constexpr std::uint64_t injection_port(sim::AgentId agent, std::uint64_t operation) {
  constexpr std::uint64_t kOperations = (std::uint64_t{1} << 36) - 1;
  return (std::uint64_t{1} << 63) | (std::uint64_t{agent.value} << 37) | ((operation & kOperations) << 1);
}
constexpr std::uint64_t response_port(std::uint64_t injection) {
  return injection | 1;
}

/// The head of an input port asks for a server.
struct Candidate {
  std::uint64_t port = 0;
  Time ready;              // when its head is there
  Room* room = nullptr;    // of the buffer that the burst will go to; none when it leaves the fabric
  Buffer* from = nullptr;  // whose head it is; none: of the bursts that a transfer injects
  std::int64_t bytes = 0;
  TransferSlot transfer = kNoTransfer;  // that it belongs to
  Time since = {};                      // when it became the head, if other servers were asked before it

  /// The earliest time at which it can be served by a free server; max while no room is known to come.
  Time eligible() const { return room == nullptr ? ready : std::max(ready, room->available(bytes)); }
};

/// Round robin over input ports in structural order, continuing after the port that was served last.
class Arbiter {
 public:
  bool empty() const { return candidates_.empty(); }
  /// To be replaced by the next of the same port.
  Candidate& operator[](std::size_t index) { return candidates_[index]; }
  void add(const Candidate& candidate);
  void remove(std::size_t index) {
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(index));
    if (index < next_) --next_;
  }

  static constexpr std::size_t kNone = SIZE_MAX;
  /// Index of the next candidate in turn that is eligible at `now`, or kNone.
  std::size_t choose(Time now) const {
    if (candidates_.size() == 1) return candidates_[0].eligible() <= now ? 0 : kNone;
    return choose_among(now);
  }
  /// When the first candidate becomes eligible; anything up to `soon` may be given as it is found first.
  Time earliest(Time soon) const {
    if (candidates_.size() == 1) return candidates_[0].eligible();
    return earliest_among(soon);
  }
  /// The candidate with this index has its turn.
  void serve(std::size_t index) {
    last_port_ = candidates_[index].port;
    next_ = index + 1;
  }
  /// The port had the last turn, with or without a candidate.
  void served(std::uint64_t port);

 private:
  std::size_t choose_among(Time now) const;
  Time earliest_among(Time soon) const;

  std::vector<Candidate> candidates_;     // ascending ports
  std::uint64_t last_port_ = UINT64_MAX;  // so that the first turn is the lowest port's
  std::size_t next_ = 0;                  // the first candidate behind that port
};

struct Server {
  explicit Server(ServerSpec description)
      : spec(std::move(description)),
        own_law(static_cast<bool>(spec.law)),
        by_accesses(own_law || spec.minimum > Bytes(0)),
        service(spec.bandwidth, spec.packets),
        latency(forwarding_latency(spec)) {}

  ServerSpec spec;
  bool own_law;
  bool by_accesses;  // whatever the stage that it is of
  ServiceTime service;
  Time latency;

  Time free_at;  // of the first server of a memory: when that takes its next burst
  Arbiter arbiter;
  Time turn_at = Time::max();                             // of the pending arbitration
  std::array<std::unique_ptr<Buffer>, kBuffers> buffers;  // made when first used

  std::uint32_t users = 0;          // transfers not yet delivered whose routes contain this server
  TransferSlot plan = kNoTransfer;  // the coalesced transfer that has it to itself
  ServerCounters work;              // of all bursts started, but for a memory's: those are its channels'
  Time starved;                     // likewise: see TransferLog
  Time last_start;                  // of the last burst, and its size
  Bytes last_bytes;

  /// Takes over what a coalesced transfer has done here through input port `port`.
  void account(const ServerCounters& done, Time starving, Time free, Time start, Bytes bytes, std::uint64_t from) {
    starved += starving;
    work.busy += done.busy;
    work.bytes += done.bytes;
    work.bursts += done.bursts;
    free_at = free;
    last_start = start;
    last_bytes = bytes;
    arbiter.served(from);
  }

  Buffer& buffer(std::uint32_t index) {
    std::unique_ptr<Buffer>& slot = buffers[index];
    if (slot == nullptr) slot = std::make_unique<Buffer>(spec.buffer);
    return *slot;
  }
};

/// What a server has done before `now`, given its totals and its last burst. What it does after `now` follows without a
/// gap.
inline ServerCounters work_before(Time now, ServerCounters total, Time last_start, Bytes last_bytes, Time free_at) {
  if (total.bursts == 0 || free_at <= now) return total;
  total.busy -= free_at - std::max(now, last_start);
  if (last_start >= now) {
    total.bytes -= last_bytes;
    --total.bursts;
  }
  return total;
}

}  // namespace kernbench::hardware::fabric
