// A transfer under way, and all that the fabric is made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "hardware/fabric/credit_pool.h"
#include "hardware/fabric/fabric.h"
#include "hardware/fabric/server.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::hardware::fabric {

inline constexpr std::uint32_t kNoChunk = UINT32_MAX;

/// What exact mode knows of a chunk before it enters the first queue.
struct ChunkState {
  Time ready;  // in the response buffer behind a first group: head and tail at the second stage
  Time complete;
  Bytes bytes;
  std::uint32_t next = kNoChunk;  // the next chunk for the same server of the first stage
  std::uint16_t first_member = 0;
  std::uint16_t last_member = 0;
  bool arrived = false;  // has started on the first stage, a group
};

/// What a coalesced transfer leaves behind on one server.
struct LaneResult {
  Time free_at;
  Time last_start;
  Bytes last_bytes;
  ServerCounters work;
  Time starved;
  std::uint32_t returns = 0;  // its credits that are still on their way when the transfer is delivered
};

struct Transfer {
  TransferRequest request;
  sim::Origin origin;  // who has started it, and so whose doing its delivery is
  Time start;
  std::uint32_t chunk_count = 0;
  bool coalesced = false;
  bool own_laws = false;  // a server of the route has one
  Time departed;          // latest known so far
  Time delivered;
  sim::EventHandle departed_event;
  sim::EventHandle delivered_event;

  std::vector<Time> starved_before;  // by stage, with a log: for how long its server had been when the first chunk came

  // Coalesced: the outcome, by lane.
  std::vector<LaneResult> results;
  std::vector<ReturningCredit> returns;

  // Exact.
  std::vector<ChunkState> chunks;
  // Of the chunks, if a server of the route has a law of its own: where they come from and where they go.
  std::vector<std::uint64_t> addresses, landing_addresses;
  std::vector<CreditPool> response_credits;  // of the response buffer behind a first group, by member
  std::uint32_t next_response = 0;           // chunk that may leave the response buffer next
  std::uint32_t unstarted_first = 0;         // chunks that have not started on the first or last stage
  std::uint32_t unstarted_last = 0;

  std::uint64_t port() const { return injection_port(request.agent, request.operation); }
  /// Tells the log, if there is one, of chunks that have started on a stage, the last of them at `last`. The server had
  /// been starved for `before`, and for `more` since; of a group each server tells what is more.
  void note(std::size_t stage, Time last, Time before, Time more) {
    if (request.log == nullptr) return;
    TransferLog::Hop& hop = request.log->hops[stage];
    hop.start = std::max(hop.start, last);
    if (hop.group > 1) {
      hop.starved += more;
      return;
    }
    starved_before[stage] = std::min(starved_before[stage], before);
    hop.starved = before + more - starved_before[stage];
  }
  bool has_response_buffer() const { return request.route.size() > 1 && request.route.front().group > 1; }
};

/// Servers and transfers. Slots of delivered transfers are used again, with their storage.
class FabricState {
 public:
  explicit FabricState(sim::Scheduler& owner) : scheduler(owner) {}

  sim::Scheduler& scheduler;
  std::vector<Server> servers;
  ActivityObserver* observer = nullptr;

  Transfer& transfer(TransferSlot slot) { return *transfers_[slot]; }
  const Transfer& transfer(TransferSlot slot) const { return *transfers_[slot]; }
  TransferSlot add_transfer();
  void remove_transfer(TransferSlot slot) { free_.push_back(slot); }
  std::size_t in_flight() const { return transfers_.size() - free_.size(); }

  /// The events at which a transfer has departed and is delivered: both have the same keys however it got there.
  void schedule_departed(Transfer& transfer);
  void schedule_delivered(Transfer& transfer, TransferSlot slot);
  /// What a delivery calls, with the slot as argument.
  sim::Callback on_delivered;

 private:
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<TransferSlot> free_;
};

}  // namespace kernbench::hardware::fabric
