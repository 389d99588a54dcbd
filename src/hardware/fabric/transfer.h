// A transfer under way, and all that the fabric is made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ring.h"
#include "hardware/fabric/bursts.h"
#include "hardware/fabric/channels.h"
#include "hardware/fabric/fabric.h"
#include "hardware/fabric/room.h"
#include "hardware/fabric/server.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::hardware::fabric {

/// What a coalesced transfer leaves behind on the first server of a stage.
struct LaneResult {
  Time free_at;
  Time last_start;
  Bytes last_bytes;
  ServerCounters work;
  RoomWaits waits;
  std::uint32_t returns = 0;  // rooms that are still on their way back when the transfer is delivered
};

/// What is known of one end of a tree.
struct TreeEnd {
  Time delivered;
  std::int64_t unstarted = 0;  // bytes that have not started on its last stage
};

struct Transfer {
  TransferRequest request;
  sim::Origin origin;  // who has started it, and so whose doing its delivery is
  Time start;
  bool coalesced = false;
  bool own_laws = false;  // a server of the route has one
  bool resumed = false;   // it began coalesced
  Time departed;          // latest known so far
  Time delivered;
  sim::EventHandle departed_event;
  sim::EventHandle delivered_event;

  std::vector<StageWatch> watches;  // by stage, with a log

  // Coalesced: the outcome, by stage, and of the channels of its memories.
  std::vector<LaneResult> results;
  std::vector<ReturningRoom> returns;
  std::vector<Channel> channels;

  // Exact.
  BurstCursor first;               // stands behind the burst that starts next on the first stage
  std::vector<Accesses> accesses;  // of that burst, if the first stage is a memory
  BurstCursor last;                // stands at the burst that starts next on the last stage
  std::int64_t bytes = 0;
  std::int64_t unstarted_first = 0;  // bytes that have not started on the first or last stage
  std::int64_t unstarted_last = 0;
  Buffer responses{Bytes(0)};  // the response buffer behind a first group
  std::vector<Hop> hops;
  std::vector<TreeEnd> ends;                    // of a tree, by receiver
  std::size_t open_receivers = 0;               // which have not got all
  ChannelSelector first_channel, last_channel;  // of memories at the ends

  std::uint64_t port() const { return injection_port(request.agent, request.operation); }
  /// Tells the log, if there is one, of bursts that have started on a stage, the last of them at `begun`. The server
  /// had waited for room for `before`, and did for `more` since; the first of these bursts `waited` here, and the
  /// server `held` it for want of room.
  void note(std::size_t stage, Time begun, RoomWaits before, RoomWaits more, Time waited, Time held) {
    if (request.log == nullptr) return;
    TransferLog::Hop& hop = request.log->hops[stage];
    StageWatch& watch = watches[stage];
    if (!watch.reached) reach(stage, before, waited, held);
    hop.start = std::max(hop.start, begun);
    hop.starved = before.starved + more.starved - watch.starved_before;
    hop.held = before.kept + more.kept - watch.at_start.kept;
  }
  /// The first burst comes to a stage. Where servers without room kept it before, and the server of this one was
  /// starved meanwhile, that is what held it up: its queue reached that far.
  void reach(std::size_t stage, RoomWaits before, Time waited, Time held) {
    StageWatch& watch = watches[stage];
    watch.reached = true;
    watch.starved_before = before.starved;
    if (is_tree()) return;
    const Time back = stage > 0 ? watches[stage - 1].held_back : Time();
    watch.starved_before -= std::min(before.starved - watch.at_start.starved, back + waited - held);
    watch.held_back = back + std::min(waited, before.total() - watch.at_start.total() + held);
  }
  /// Whether the log has to know of the next burst, of so many bytes, wherever it comes: of bursts that follow each
  /// other the first and the last one say all.
  bool logs_next(std::int64_t next) const {
    return request.log != nullptr && (unstarted_first == bytes || unstarted_first == next || resumed);
  }
  bool is_tree() const { return !request.tree.empty(); }
  bool has_response_buffer() const { return request.route.size() > 1 && request.route.front().group > 1; }
};

/// Servers and transfers. Slots of delivered transfers are used again, with their storage.
class FabricState {
 public:
  FabricState(sim::Scheduler& owner, ActivityObserver* told) : scheduler(owner), observer(told) {}

  sim::Scheduler& scheduler;
  std::vector<Server> servers;
  std::vector<Channel> channels;  // by server: what it does in a memory
  ActivityObserver* observer;     // or null
  // For what would be otherwise with other names or channels, or is somebody else's (Skipper).
  bool watching = false;
  sim::AgentId watched;  // whose transfers are looked at, with operations from the one to before the other
  std::uint64_t first_watched = 0, end_watched = 0;
  std::uint64_t disturbances = 0;  // since then

  /// Whether `stage` of a route serves bursts by their accesses.
  bool is_memory(const Stage& stage) const { return stage.group > 1 || servers[stage.server.value].by_accesses; }
  std::span<Channel> channels_of(const Stage& stage) { return {&channels[stage.server.value], stage.group}; }
  std::span<const Channel> channels_of(const Stage& stage) const {
    return {&channels[stage.server.value], stage.group};
  }
  /// What the queue behind a server is to the next one.
  std::uint64_t queue_port(std::uint32_t server, std::uint32_t buffer) const {
    return servers[server].lane ? lane_port(server, buffer) : fabric::queue_port(server, buffer);
  }
  /// The size of the response buffer behind a first group.
  Bytes response_buffer(const Stage& stage) const;

  Transfer& transfer(TransferSlot slot) { return *transfers_[slot]; }
  const Transfer& transfer(TransferSlot slot) const { return *transfers_[slot]; }
  TransferSlot add_transfer();
  void remove_transfer(TransferSlot slot) { free_.push_back(slot); }
  std::vector<TransferSlot> under_way() const;
  std::size_t in_flight() const { return transfers_.size() - free_.size(); }

  /// The events at which a transfer has departed and is delivered: both have the same keys however it got there.
  void schedule_departed(Transfer& transfer);
  void schedule_delivered(Transfer& transfer, TransferSlot slot);
  /// A receiver of a tree has all at its end's `delivered`.
  void schedule_received(Transfer& transfer, TransferSlot slot, std::size_t receiver);
  /// What a delivery calls, with the slot as argument; what the delivery to one receiver calls, with its number above.
  sim::Callback on_delivered, on_received;
  static constexpr int kReceiverShift = 32;

 private:
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<TransferSlot> free_;
};

}  // namespace kernbench::hardware::fabric
