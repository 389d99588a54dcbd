// The laws of host copies on the topology `tiny`, by hand: one chunk to or from the HBM slice of the first PE.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>

#include "kernbench/units.h"

namespace kernbench {

/// How GoogleTest prints a time.
inline void PrintTo(Time time, std::ostream* out) {
  *out << time.count() << " ps";
}

}  // namespace kernbench

namespace kernbench::testing {

inline Time ps(std::int64_t count) {
  return Time::picoseconds(count);
}

inline constexpr std::int64_t kOverhead = 2'000'000;   // host.launch_overhead
inline constexpr std::int64_t kHostMessage = 600'500;  // 600 ns, and 32 B at 64 GB/s
inline constexpr std::int64_t kSliceMessage = 10'250;  // 8 ns and 2 ns, and 32 B at 128 GB/s
inline constexpr std::int64_t kDoorbell = 1;
inline constexpr std::int64_t kLatencies = 700'000;  // 600 ns, 8 ns, 2 ns, and 90 ns of the channel

/// One channel of 300 GB/s / 8, at least 64 B: the slowest stage.
inline std::int64_t channel_service(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 64) * 8 * 10 + 2) / 3;
}
inline Time copy_to_host(std::int64_t bytes) {
  return ps(kDoorbell + kHostMessage + kSliceMessage + kLatencies + channel_service(bytes));
}
inline constexpr std::int64_t kPeerWay = 520'000;  // 2 ns, 8 ns, 500 ns between the SIPs, 8 ns, 2 ns

/// From the first PE of one SIP to that of the next: the slowest stage is a channel, and each side has its 90 ns.
inline Time copy_to_peer(std::int64_t bytes) {
  const std::int64_t written =
      kDoorbell + kHostMessage + kSliceMessage + 2 * 90'000 + kPeerWay + channel_service(bytes);
  return ps(written + kPeerWay - 10'000 + 250 + kHostMessage);  // to the source's IO chiplet, and to the host
}
inline Time copy_to_device(std::int64_t bytes) {
  return ps(kDoorbell + kHostMessage + kLatencies + channel_service(bytes) + kSliceMessage + kHostMessage);
}

}  // namespace kernbench::testing
