// The law of one transfer that has its servers to itself, burst by burst: the times without the events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/fabric/bursts.h"
#include "hardware/fabric/channels.h"
#include "hardware/fabric/fabric.h"
#include "hardware/fabric/room.h"
#include "hardware/fabric/server.h"
#include "hardware/fabric/service_time.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

/// One stage as a single transfer sees it. Before run(): its state when the transfer starts; afterwards: at `until`.
struct Lane {
  ServiceTime service;
  Time latency;
  bool memory = false;  // serves bursts by their accesses
  Time free_at;
  Room room;        // of the buffer behind it, for this transfer's class; unused on the last stage
  Time last_start;  // of the last burst served, and its size
  Bytes last_bytes;
  ServerCounters work;  // of this transfer alone; none of a memory, whose channels count
  std::uint64_t bursts = 0;
  RoomWaits waits;         // of this transfer: see TransferLog
  Time first, first_held;  // for which its first burst waited here, and for room of that
};

/// A burst that has left stage `stage - 1` (it may still be on the way) and has not started on `stage`.
struct WaitingBurst {
  std::uint16_t stage = 0;
  std::int64_t bytes = 0;
  Time ready;     // when its head is there
  Time complete;  // when its tail is there
};

/// For burst k on stage i, with ser the service time:
///   ready[k][i]  = head[k][i-1] + latency[i-1]                      (ready[k][0] = the transfer's start)
///   start[k][i]  = max(ready[k][i], the server is free, there is room in the buffer behind it)
///   free         = start[k][i] + ser[k][i]
///   tail[k][i]   = max(start[k][i] + ser[k][i], tail[k][i-1] + latency[i-1])
/// with head = start, and the room of stage i-1 is home again at tail[k][i] + latency[i-1]. A memory has its own times
/// for head, free and end in place of start, free and start + ser (channels.h). Bursts start in order on every stage.
class Recurrence {
 public:
  /// Makes lanes for the route of `request`, which must outlive the recurrence's use; they are to be filled.
  void reset(const TransferRequest& request);
  std::size_t stages() const { return request_->route.size(); }
  Lane& lane(std::size_t stage) { return lanes_[stage]; }
  const Lane& lane(std::size_t stage) const { return lanes_[stage]; }
  /// Of a memory. REQUIRES: `stage` is the first or the last one, or has one channel.
  std::span<Channel> channels(std::size_t stage) {
    return {&channels_[first_channel_[stage]], request_->route[stage].group};
  }
  std::span<const Channel> channels(std::size_t stage) const {
    return {&channels_[first_channel_[stage]], request_->route[stage].group};
  }
  /// Puts a stage into the state of idle servers with empty buffers.
  void load_idle(std::size_t stage, std::span<const ServerSpec> servers);

  /// Lets everything happen that starts before `until`, for a transfer that starts at `start`.
  /// Bursts under way are appended to waiting(), in the order of the queues that they are in.
  void run(Time start, Time until = Time::max());

  /// Latest departure and delivery among the bursts that have started on the first and last stage.
  Time departed() const { return departed_; }
  Time delivered() const { return delivered_; }
  /// Bytes that have started on the first and on the last stage, and what stands behind them.
  std::int64_t started_first() const { return started_first_; }
  std::int64_t started_last() const { return started_last_; }
  const BurstCursor& first() const { return first_; }
  const BurstCursor& last() const { return last_; }
  const std::vector<WaitingBurst>& waiting() const { return waiting_; }

 private:
  struct Service {
    Time head, end;
  };
  Service serve(std::size_t stage, std::int64_t bytes, Time begin);
  MemoryService serve_memory(std::size_t stage, std::int64_t bytes, Time begin);

  const TransferRequest* request_ = nullptr;
  std::vector<Lane> lanes_;  // keeps its capacity and that of the rooms
  std::vector<Channel> channels_;
  std::vector<std::size_t> first_channel_;  // by stage
  std::vector<WaitingBurst> waiting_;
  Load load_;
  BurstCursor first_, last_;
  ChannelSelector first_channel_of_, last_channel_of_;
  std::vector<Accesses> accesses_;  // of the burst at the first stage
  Time departed_;
  Time delivered_;
  std::int64_t started_first_ = 0;
  std::int64_t started_last_ = 0;
};

}  // namespace kernbench::hardware::fabric
