// One server with its arbiter, and the buffers behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
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

struct Buffer;

/// One stage of a transfer in exact mode. What a burst that passes needs to know stands here, so that in the middle of
/// a route nothing else of its transfer is looked at.
struct Hop {
  std::uint32_t server = 0;
  bool memory : 1 = false;
  bool forks : 1 = false;         // it is the first of several behind the same one
  bool in_tree : 1 = false;       // of a multicast
  std::uint16_t next_branch = 0;  // the next stage behind the same one; none: 0
  Buffer* behind = nullptr;       // none behind the last one
  std::uint64_t port = 0;         // what that buffer is to the next server
  Time latency;                   // of the server
  inline Room* room() const;
};

/// A burst in the queue behind a server.
struct QueuedBurst {
  Time ready;                // when its head is at the next server
  Time complete;             // when its tail is there
  const Hop* hop = nullptr;  // the stage that it waits for; those of its transfer stand one behind the other
  std::int64_t bytes = 0;
  TransferSlot transfer = kNoTransfer;
  std::uint16_t stage = 0;  // the number of its hop
  bool noted = false;       // the log of its transfer is told of it
};

/// What a transfer with a log remembers of a stage, to find out what held it up there (TransferLog::Hop).
struct StageWatch {
  RoomWaits at_start;  // of the first server, before this transfer
  bool reached = false;
  Time starved_before;  // what of the server's time without room held this transfer up comes behind this
  Time held_back;       // for which the first burst waited for servers without room, up to its start here
};

/// A burst that has run on: it was served ahead of time on a server that nothing can reach before it. Beside it what
/// the server was before, until the burst starts: a newcomer may come from another side yet.
struct alignas(64) AheadStart {
  QueuedBurst burst;
  Time start;
  std::uint32_t server = 0;
  Time tail;  // of the burst on the server
  Time service;
  Time free_before, last_start_before;
  Bytes last_bytes_before;
  std::uint64_t port_before = 0;
  Time left_before;  // of the queue in which the burst was
};

/// The bursts that have run on out of a queue, in order. What is forgotten keeps its place for the next one.
class AheadStarts {
 public:
  bool empty() const { return first_ == size_; }
  std::size_t size() const { return size_ - first_; }
  AheadStart& operator[](std::size_t n) { return starts_[first_ + n]; }
  AheadStart& front() { return starts_[first_]; }
  AheadStart& back() { return starts_[size_ - 1]; }
  /// A new last one, to be filled. Those that have started before `now` are forgotten.
  AheadStart& add(Time now) {
    while (!empty() && front().start < now) {
      if (front().burst.noted) watches_.pop_front();
      ++first_;
    }
    if (empty()) first_ = size_ = 0;
    if (size_ == starts_.size() && first_ > size_ / 2) move_up();
    if (size_ == starts_.size()) starts_.resize(2 * size_ + 4);
    return starts_[size_++];
  }
  void pop_back() { --size_; }
  void clear() {
    first_ = size_ = 0;
    watches_.clear();
  }
  /// What its transfer remembered of the stage before: of a last one whose burst is noted. (The log itself is told
  /// again when the burst starts after all, which is no earlier.)
  void add_watch(const StageWatch& watch) { watches_.push_back(watch); }
  StageWatch take_last_watch() {
    const StageWatch watch = watches_.back();
    watches_.erase(watches_.size() - 1);
    return watch;
  }

 private:
  void move_up() {
    std::copy(starts_.begin() + static_cast<std::ptrdiff_t>(first_), starts_.end(), starts_.begin());
    size_ -= first_;
    first_ = 0;
  }

  std::vector<AheadStart> starts_;
  std::size_t first_ = 0, size_ = 0;
  Ring<StageWatch> watches_;  // of those whose bursts are noted, which are few
};

/// A server has a buffer for each traffic class, and one for each class of what goes from it into a group that is a
/// last stage: the write buffer of a memory.
inline constexpr std::uint32_t kBuffers = 2 * TrafficClass::count;

/// Which buffer a burst is in after `stage`, which is not the last one of the route.
inline std::uint32_t buffer_index(std::span<const Stage> route, std::size_t stage) {
  const bool lands = stage + 2 == route.size() && route.back().group > 1;
  return route[stage].traffic.index() + (lands ? TrafficClass::count : 0);
}

/// The head of a queue that goes on to several servers, and leaves its buffer when the last of them has taken it.
struct Fork {
  std::uint32_t open = 0;  // that have not
  Time home;               // of its room, as far as is known
  Time waited;             // longest, of those that have
};

/// A buffer behind a server: a queue of which only the head asks for its next server.
struct alignas(64) Buffer {
  explicit Buffer(Bytes size) : room(size) {}
  Room room;
  Ring<QueuedBurst> queue;
  bool held = false;  // its head asks for its server when the burst before it has left
  Time left;          // when the last burst that is no longer in the queue has left it, or will
  AheadStarts ahead;  // of these, those that leave later than some time in the past
  Fork fork;          // of its head
};

inline Room* Hop::room() const {
  return behind == nullptr ? nullptr : &behind->room;
}

/// Structural names of the input ports of an arbiter: first the queues by (server, buffer), those behind lanes after
/// the others, then the transfers that inject by (agent, operation), each before its own response buffer.
constexpr std::uint64_t queue_port(std::uint32_t server, std::uint32_t buffer) {
  return std::uint64_t{server} * kBuffers + buffer;
}
/// Queues behind lanes come after the others.
inline constexpr int kLaneShift = 59;
constexpr std::uint64_t lane_port(std::uint32_t server, std::uint32_t buffer) {
  return std::uint64_t{1} << kLaneShift | queue_port(server, buffer);
}
constexpr bool is_lane(std::uint64_t port) {
  return port >> kLaneShift == 1;
}
constexpr std::uint64_t injection_port(sim::AgentId agent, std::uint64_t operation) {
  constexpr std::uint64_t kOperations = (std::uint64_t{1} << 36) - 1;
  return (std::uint64_t{1} << 63) | (std::uint64_t{agent.value} << 37) | ((operation & kOperations) << 1);
}
/// It has the name of a transfer.
constexpr bool is_of_transfer(std::uint64_t port) {
  return port >> 63 == 1;
}
constexpr std::uint64_t response_port(std::uint64_t injection) {
  return injection | 1;
}
/// All response buffers behind a memory, and all transfers that begin at a server: for Server::enter().
constexpr std::uint64_t responses_of(std::uint32_t memory) {
  return (std::uint64_t{1} << 62) | memory;
}
constexpr bool is_responses(std::uint64_t port) {
  return port >> 62 == 1;
}
inline constexpr std::uint64_t kBeginsHere = UINT64_MAX;
/// The side from which a stage of a route is entered: who comes to a server as one of a group comes from another side.
constexpr std::uint64_t side_of(std::uint64_t from, const Stage& stage) {
  return stage.group > 1 ? from ^ std::uint64_t{1} << 61 : from;
}
inline constexpr std::uint64_t kBeginsAtGroup = side_of(kBeginsHere, Stage{{}, 2, {}});
/// The side of all trees, whatever they come from: beside them nothing runs on, nor do they.
inline constexpr std::uint64_t kInTree = std::uint64_t{1} << 60;

/// The head of an input port asks for a server.
struct Candidate {
  std::uint64_t port = 0;
  Time ready;              // when its head is there
  Room* room = nullptr;    // of the buffer that the burst will go to; none when it leaves the fabric
  Buffer* from = nullptr;  // whose head it is; none: of the bursts that a transfer injects
  std::int64_t bytes = 0;
  TransferSlot transfer = kNoTransfer;  // that it belongs to
  Time since = {};                      // when it becomes the head
  std::uint16_t branch = 0;             // of a fork: the stage that it asks for

  /// The earliest time at which it can be served by a free server; max while no room is known to come.
  Time eligible() const { return room == nullptr ? ready : std::max(ready, room->available(bytes)); }
};

/// Round robin over input ports in structural order, continuing after the port that was served last. All lanes are one
/// port there, and have its turns in round robin.
///
/// The candidates of lanes stand in the order in which the lanes are served next, so that a look at all candidates from
/// the next one on is a look in the order of turns.
class Arbiter {
 public:
  bool empty() const { return candidates_.empty(); }
  std::size_t size() const { return candidates_.size(); }
  /// To be replaced by the next of the same port.
  Candidate& operator[](std::size_t index) { return candidates_[index]; }
  std::span<const Candidate> candidates() const { return candidates_; }
  [[gnu::always_inline]] void add(const Candidate& candidate) {
    if (!candidates_.empty() || is_lane(candidate.port)) return add_to_others(candidate);
    next_ = candidate.port <= last_port_ ? 1 : 0;
    candidates_.push_back(candidate);
  }
  void remove(std::size_t index) {
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(index));
    if (index < next_) --next_;
  }

  static constexpr std::size_t kNone = SIZE_MAX;
  /// Index of the next candidate in turn that is eligible at `now`, or kNone.
  std::size_t choose(Time now) const {
    const std::size_t next = next_ < candidates_.size() ? next_ : 0;
    if (candidates_[next].eligible() <= now) return next;
    return candidates_.size() == 1 ? kNone : choose_among(now);
  }
  struct Next {
    Time when = Time::max();  // never
    std::size_t index = 0;
  };
  /// Which candidate a server serves next that is free at `free`, and when, as things are.
  Next next(Time free) const;
  /// When the first candidate becomes eligible; anything up to `soon` may be given as it is found first.
  Time earliest(Time soon) const {
    const Time next = candidates_[next_ < candidates_.size() ? next_ : 0].eligible();
    return next <= soon || candidates_.size() == 1 ? next : earliest_among(soon);
  }
  /// The candidate with this index has its turn. Yields the index that it has then.
  std::size_t serve(std::size_t index) {
    if (lanes_) [[unlikely]]
      return serve_beside_lanes(index);
    last_port_ = candidates_[index].port;
    next_ = index + 1;
    return index;
  }
  /// The port had the last turn, with or without a candidate.
  void served(std::uint64_t port);
  std::uint64_t last_port() const { return last_port_; }
  /// The lane that was served last, unless the last port is one.
  std::uint64_t last_lane() const { return last_lane_; }
  /// All that was and will be is so much later, and ports have other names.
  template <class NameOf>
  void shift(Time by, NameOf name_of) {
    for (Candidate& candidate : candidates_) {
      candidate.ready += by;
      candidate.since += by;
      candidate.port = name_of(candidate.port);
    }
    turn_after(name_of(last_port_));
  }
  /// Likewise of a server at which nothing asks.
  void served_ahead(std::uint64_t port) {
    assert(candidates_.empty() && (lanes_ || !is_lane(port)));
    if (lanes_) [[unlikely]]
      keep_lane(port);
    last_port_ = port;
    next_ = 0;
  }
  /// A lane leads here.
  void expect_lanes() { lanes_ = true; }
  /// What was served ahead last was not, and `port` had the last turn.
  void take_back(std::uint64_t port);
  void remove_port(std::uint64_t port);

 private:
  void add_to_others(const Candidate& candidate);
  std::size_t choose_among(Time now) const;
  Next next_among(Time free) const;
  Time earliest_among(Time soon) const;
  std::size_t serve_beside_lanes(std::size_t index);
  /// A port is to have the last turn.
  void keep_lane(std::uint64_t port) {
    if (is_lane(last_port_) && !is_lane(port)) last_lane_ = last_port_;
  }
  void turn_after(std::uint64_t port);
  /// By which candidates stand in order; that of lanes depends on the one that was served last.
  std::uint64_t place_of(std::uint64_t port) const;
  std::size_t find(std::uint64_t port) const;

  std::vector<Candidate> candidates_;     // in the order of their places
  bool lanes_ = false;                    // some lead here
  std::uint64_t last_port_ = UINT64_MAX;  // so that the first turn is the lowest port's
  std::uint64_t last_lane_ = UINT64_MAX;  // that was served, unless the last port is one
  std::size_t next_ = 0;                  // the first candidate behind the last port, or behind all lanes if it is one
};

[[gnu::always_inline]] inline Arbiter::Next Arbiter::next(Time free) const {
  if (candidates_.empty()) return {};
  const std::size_t first = next_ < candidates_.size() ? next_ : 0;
  const Time eligible = candidates_[first].eligible();
  if (eligible <= free) return {free, first};
  return candidates_.size() == 1 ? Next{eligible, first} : next_among(free);
}

/// The most picoseconds for which a transfer may occupy a server without a closer look at the end of the simulation.
inline constexpr double kUnremarkable = static_cast<double>(Time::limit().count()) / 256;

/// The longest that `bytes` occupy a server, in picoseconds: if all are accesses of a byte, in packets of a byte.
inline double longest_occupied(const ServerSpec& spec, double bytes) {
  const double each =
      static_cast<double>(std::max<std::int64_t>(spec.minimum.count(), 1) + spec.packets.overhead.count());
  return bytes * (1 + each * 1e12 / static_cast<double>(spec.bandwidth.count()));
}

struct alignas(64) Server {
  explicit Server(ServerSpec description)
      : latency(forwarding_latency(description)),
        agent(description.agent),
        own_law(static_cast<bool>(description.law)),
        by_accesses(own_law || description.minimum > Bytes(0)),
        lane(description.lane),
        unremarkable_bytes(kUnremarkable / longest_occupied(description, 1)),
        service(description.bandwidth, description.packets),
        spec(std::move(description)) {}

  // What each burst touches comes first, and lies in few cache lines: a machine has thousands of servers.
  Time free_at;                // of the first server of a memory: when that takes its next burst
  Time turn_at = Time::max();  // of the pending arbitration
  Arbiter arbiter;
  Time latency;

  std::uint64_t entry = 0;  // the side from which the first of its users comes: a queue's port, or one of the above
  std::uint32_t users = 0;  // transfers not yet delivered whose routes contain this server
  std::uint32_t through_entry = 0;  // how many come from there
  sim::AgentId agent;
  std::uint16_t group = 1;  // of a memory: its servers
  bool own_law;
  bool by_accesses;  // whatever the stage that it is of
  bool lane;
  Buffer* fed_by = nullptr;  // the queue from which bursts have run on to here
  Time last_start;           // of the last burst
  ServerCounters work;       // of all bursts started, but for a memory's: those are its channels'

  double unremarkable_bytes;  // of a transfer: no more can take longer than kUnremarkable

  RoomWaits room_waits;  // likewise: see TransferLog
  Bytes last_bytes;
  ServiceTime service;

  std::vector<std::uint32_t> ports;                       // of a memory: the servers that its responses have gone to
  TransferSlot plan = kNoTransfer;                        // the coalesced transfer that has it to itself
  std::array<std::unique_ptr<Buffer>, kBuffers> buffers;  // made when first used
  ServerSpec spec;

  /// A route leads here from one side.
  bool only_through_entry() const { return users == through_entry; }
  void enter(std::uint64_t side) {
    if (users++ == 0) {
      entry = side;
      through_entry = 0;
    }
    if (entry == side) ++through_entry;
  }
  void leave(std::uint64_t side) {
    --users;
    if (entry == side && --through_entry == 0) fed_by = nullptr;
  }

  /// Takes over what a coalesced transfer has done here through input port `port`.
  void account(const ServerCounters& done, RoomWaits waits, Time free, Time start, Bytes bytes, std::uint64_t from) {
    room_waits += waits;
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
