// A memory: channels that a burst occupies by its accesses.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/fabric/bursts.h"
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

  /// No access yet. REQUIRES for what follows: channels below `channels`.
  void reset(std::size_t channels) {
    const std::size_t words = (channels + kWord - 1) / kWord;
    if (shares_.size() < channels) shares_.resize(channels);
    needed_.resize(words);
    for (std::uint64_t& word : needed_) word = 0;
    first_ = kNone;
  }
  /// So many accesses of equal length in one channel.
  void add(std::uint32_t channel, std::int64_t bytes, std::int64_t minimum, std::int64_t count) {
    if (first_ == kNone) first_ = channel;
    Share& share = shares_[channel];
    std::uint64_t& word = needed_[channel / kWord];
    const std::uint64_t bit = std::uint64_t{1} << channel % kWord;
    if ((word & bit) == 0) share = Share{};
    word |= bit;
    share.bytes += bytes * count;
    share.occupied += std::max(bytes, minimum) * count;
  }
  /// Accesses that begin at `address`, in the channels that they need.
  void add(const Accesses& accesses, std::uint64_t address, const ChannelSelector& channel_of,
           std::span<const Channel> channels);

  /// The channel of the first access.
  std::uint32_t first() const { return first_; }
  /// Calls `visit(channel, share)` for each channel that is needed, in their order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t word = 0; word < needed_.size(); ++word) {
      for (std::uint64_t bits = needed_[word]; bits != 0; bits &= bits - 1) {
        const std::size_t channel = word * kWord + static_cast<std::size_t>(std::countr_zero(bits));
        visit(channel, shares_[channel]);
      }
    }
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kWord = 64;
  std::vector<Share> shares_;          // valid where `needed_` says so
  std::vector<std::uint64_t> needed_;  // a bit for each channel
  std::uint32_t first_ = kNone;
};

inline void Load::add(const Accesses& accesses, std::uint64_t address, const ChannelSelector& channel_of,
                      std::span<const Channel> channels) {
  const auto add_to = [&](std::uint32_t channel, std::int64_t count) {
    add(channel, accesses.bytes, channels[channel].minimum.count(), count);
  };
  const std::uint32_t group = channel_of.group();
  if (group <= 1) return add_to(0, accesses.count);
  for (std::int64_t left = accesses.count; left > 0;) {
    std::int64_t done = 0;
    if (left >= group && channel_of.begins_round(address, accesses.stride)) {
      if (first_ == kNone) first_ = channel_of(address);
      for (std::uint32_t channel = 0; channel < group; ++channel) add_to(channel, left / group);
      done = left / group * group;
    } else {
      done = channel_of.in_one_granule(address, accesses.stride, left);
      add_to(channel_of(address), done);
    }
    left -= done;
    address += static_cast<std::uint64_t>(done * accesses.stride);
  }
}

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
  load.for_each([&](std::size_t i, const Load::Share& share) {
    Channel& channel = channels[i];
    const Time start = std::max(channel.free_at, taken);
    const Time time = channel.service.of(Bytes(share.occupied));
    channel.take(taken, time, Bytes(share.bytes));
    if (i == load.first()) service.head = start;
    service.end = std::max(service.end, channel.free_at);
    served(i, start, channel.free_at, Bytes(share.bytes));
  });
  return service;
}

/// Likewise for a burst that needs one channel only.
inline MemoryService occupy(Channel& channel, const Accesses& all, Time taken) {
  const Time head = std::max(channel.free_at, taken);
  const std::int64_t occupied = std::max(all.bytes, channel.minimum.count()) * all.count;
  channel.take(taken, channel.service.of(Bytes(occupied)), Bytes(all.bytes * all.count));
  return {head, channel.free_at};
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
