// What the packets of a link cost beside their payload.
#pragma once

#include <cstdint>

#include "kernbench/units.h"

namespace kernbench {

/// A link cuts what it carries into packets of at most `payload` bytes, and adds `overhead` bytes to each: headers,
/// checks, framing. Without a payload nothing is added.
struct Packets {
  Bytes payload{0};
  Bytes overhead{0};

  /// The bytes that the link serialises for `bytes` of payload.
  constexpr Bytes on_wire(Bytes bytes) const {
    if (payload == Bytes(0)) return bytes;
    return bytes + overhead * ((bytes.count() + payload.count() - 1) / payload.count());
  }
  /// Payload in each second when all packets are full, rounded down.
  constexpr Bandwidth payload_rate(Bandwidth bandwidth) const {
    if (payload == Bytes(0)) return bandwidth;
    const uint128 rate = static_cast<uint128>(bandwidth.count()) * static_cast<uint128>(payload.count()) /
                         static_cast<uint128>(payload.count() + overhead.count());
    return Bandwidth::bytes_per_second(rate > 0 ? static_cast<std::int64_t>(rate) : 1);
  }
  constexpr bool operator==(const Packets&) const = default;
};

}  // namespace kernbench
