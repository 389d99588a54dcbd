// A memory: channels that a burst occupies by its accesses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/fabric/fabric.h"
#include "hardware/fabric/service_time.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

inline void add(ServerCounters& total, const ServerCounters& more) {
  total.busy += more.busy;
  total.bytes += more.bytes;
  total.bursts += more.bursts;
}

/// One channel of a memory. It serves what the memory has taken in the order in which that was taken.
struct Channel {
  Channel() = default;
  explicit Channel(const ServerSpec& spec)
      : service(spec.bandwidth), minimum(spec.minimum), queue(transfer_time(spec.queue, spec.bandwidth)) {}

  ServiceTime service;  // of the sum of a burst's accesses
  Bytes minimum;
  Time queue;  // what it may have to do while others stand idle
  Time free_at;
  ServerCounters work;
  Time last_taken;      // when the memory took the last burst that has accesses here
  ServerCounters last;  // what it took at that instant

  /// The memory takes a burst that keeps this channel busy for `busy`.
  void take(Time taken, Time busy, Bytes bytes) {
    if (last_taken != taken) last = ServerCounters{};
    last_taken = taken;
    free_at = std::max(free_at, taken) + busy;
    add(work, {busy, bytes, 1});
    add(last, {busy, bytes, 1});
  }
};

/// What a channel has done before `now`. What it does after `now` follows without a gap.
inline ServerCounters work_before(Time now, const Channel& channel) {
  ServerCounters total = channel.work;
  if (channel.free_at > now) total.busy -= channel.free_at - now;
  if (channel.last_taken >= now) {
    total.bytes -= channel.last.bytes;
    total.bursts -= channel.last.bursts;
  }
  return total;
}

/// What one burst asks of the channels of a memory.
class Load {
 public:
  struct Share {
    std::int64_t bytes = 0;
    std::int64_t occupied = 0;  // bytes, each access as long as the smallest one at least
  };

  void reset(std::size_t channels) {
    shares_.assign(channels, Share{});
    first_ = kNone;
  }
  void add(std::uint32_t channel, std::int64_t bytes, std::int64_t minimum) {
    if (first_ == kNone) first_ = channel;
    shares_[channel].bytes += bytes;
    shares_[channel].occupied += std::max(bytes, minimum);
  }
  /// The channel of the first access.
  std::uint32_t first() const { return first_; }
  std::span<const Share> shares() const { return shares_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<Share> shares_;
  std::uint32_t first_ = kNone;
};

/// How a memory serves a burst that it takes.
struct MemoryService {
  Time head;  // its first access begins
  Time end;   // its last access is over
};

/// Occupies each channel from when it is free, but not before `taken`, for the burst's accesses there, one after the
/// other. `served(channel, start, end, bytes)` is called for each channel that the burst needs.
template <class Served>
MemoryService occupy(std::span<Channel> channels, const Load& load, Time taken, Served&& served) {
  MemoryService service{taken, taken};
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Load::Share& share = load.shares()[i];
    if (share.bytes == 0) continue;
    Channel& channel = channels[i];
    const Time start = std::max(channel.free_at, taken);
    const Time time = channel.service.of(Bytes(share.occupied));
    channel.take(taken, time, Bytes(share.bytes));
    if (i == load.first()) service.head = start;
    service.end = std::max(service.end, channel.free_at);
    served(i, start, channel.free_at, Bytes(share.bytes));
  }
  return service;
}

/// When a memory that took a burst at `taken` takes the next one: at once, if one of its channels stands idle, or when
/// one of its channels stands idle, but not while another one has more than its queue holds before it.
inline Time takes_next(std::span<const Channel> channels, Time taken) {
  Time first = channels[0].free_at;
  Time behind = first - channels[0].queue;
  for (const Channel& channel : channels.subspan(1)) {
    first = std::min(first, channel.free_at);
    behind = std::max(behind, channel.free_at - channel.queue);
  }
  return std::max({taken, first, behind});
}

}  // namespace kernbench::hardware::fabric
