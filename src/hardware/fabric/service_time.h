// The time for which bytes occupy a server.
#pragma once

#include <algorithm>
#include <utility>

#include "hardware/fabric/fabric.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

/// Bytes on the wire / bandwidth, at least 1 ps. Remembers the last two sizes: a transfer has few.
class ServiceTime {
 public:
  ServiceTime() = default;
  explicit ServiceTime(Bandwidth bandwidth, Packets packets = {}) : bandwidth_(bandwidth), packets_(packets) {}

  Time of(Bytes bytes) {
    if (bytes == bytes_) return time_;
    std::swap(bytes_, previous_bytes_);
    std::swap(time_, previous_time_);
    if (bytes == bytes_) return time_;
    bytes_ = bytes;
    time_ = std::max(Time::picoseconds(1), transfer_time(packets_.on_wire(bytes), bandwidth_));
    return time_;
  }

 private:
  Bytes bytes_{-1};
  Time time_;
  Bytes previous_bytes_{-1};
  Time previous_time_;
  Bandwidth bandwidth_;
  Packets packets_;
};

/// The time from a server to whatever is behind it. An effect at another place is always later than its cause.
inline Time forwarding_latency(const ServerSpec& spec) {
  return std::max(spec.latency, Time::picoseconds(1));
}

}  // namespace kernbench::hardware::fabric
