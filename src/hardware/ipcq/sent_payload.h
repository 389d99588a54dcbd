// What queues have handed to the fabric, without all that goes along with it.
#pragma once

#include <cstdint>

#include "kernbench/units.h"

namespace kernbench::hardware {

/// What queues have handed to the fabric so far: payload alone. Beside it each segment costs the links its
/// announcement, of one header, and a credit on the way back.
struct SentPayload {
  std::int64_t segments = 0;
  Bytes bytes;
  SentPayload& operator+=(const SentPayload& more) {
    segments += more.segments;
    bytes += more.bytes;
    return *this;
  }
};

}  // namespace kernbench::hardware
