// The law of one transfer that has its servers to itself, chunk by chunk: the times without the events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hardware/fabric/credit_pool.h"
#include "hardware/fabric/fabric.h"
#include "hardware/fabric/service_time.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

/// One server as a single transfer sees it. Before run(): its state when the transfer starts; afterwards: at `until`.
struct Lane {
  ServiceTime service;
  Time latency;
  Time free_at;
  CreditPool credits;  // of the buffer behind it, for this transfer's class; unused on the last stage
  Time last_start;     // of the last chunk served, and its size
  Bytes last_bytes;
  ServerCounters work;  // of this transfer alone
  Time starved;         // likewise: see TransferLog
};

/// A chunk that has left stage `stage - 1` (it may still be on the way) and has not started on `stage`.
struct WaitingChunk {
  std::uint32_t chunk = 0;
  std::uint16_t stage = 0;
  Time ready;     // when its head is there
  Time complete;  // when its tail is there
};

/// For chunk k on stage i, with ser the service time:
///   ready[k][i]  = start[k][i-1] + latency[i-1]                     (ready[k][0] = the transfer's start)
///   start[k][i]  = max(ready[k][i], the server is free, a credit of the buffer behind it is home)
///   free         = start[k][i] + ser[k][i]
///   tail[k][i]   = max(start[k][i] + ser[k][i], tail[k][i-1] + latency[i-1])
/// and the credit of stage i-1 is home again at tail[k][i] + latency[i-1]. Chunks start in order on every stage, except
/// that the servers of a group as first stage go ahead independently.
class Recurrence {
 public:
  /// Makes lanes for the route of `request`, which must outlive the recurrence's use; they are to be filled by load().
  void reset(const TransferRequest& request);
  /// Number of servers on the route, groups counted in full; lanes are ordered by stage, then by member.
  std::size_t lane_count() const { return count_; }
  Lane& lane(std::size_t index) { return lanes_[index]; }
  const Lane& lane(std::size_t index) const { return lanes_[index]; }
  std::size_t first_lane(std::size_t stage) const { return first_lane_[stage]; }
  /// Puts lane `index` into the state of an idle server with all credits at home.
  void load_idle(std::size_t index, const ServerSpec& spec);

  /// Lets everything happen that starts before `until`, for a transfer that starts at `start`.
  /// Chunks under way are appended to waiting(), in the order of the queues that they are in.
  void run(Time start, Time until = Time::max());

  /// Latest departure and delivery among the chunks that have started on the first and last stage.
  Time departed() const { return departed_; }
  Time delivered() const { return delivered_; }
  /// Chunks that have started on the first and on the last stage.
  std::uint32_t started_first() const { return started_first_; }
  std::uint32_t started_last() const { return started_last_; }
  const std::vector<WaitingChunk>& waiting() const { return waiting_; }

 private:
  const TransferRequest* request_ = nullptr;
  std::vector<Lane> lanes_;  // keeps its capacity and that of the pools
  std::size_t count_ = 0;
  std::vector<std::size_t> first_lane_;
  std::vector<WaitingChunk> waiting_;
  Time departed_;
  Time delivered_;
  std::uint32_t started_first_ = 0;
  std::uint32_t started_last_ = 0;
};

}  // namespace kernbench::hardware::fabric
