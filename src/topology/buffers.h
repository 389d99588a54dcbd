// The bytes that the buffer behind a link, a memory channel or a port holds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernbench/units.h"
#include "topology/spec.h"

namespace kernbench::topology {

/// Bytes that are on their way from the start of their serialisation until their room is back, at full bandwidth, in
/// bursts of at most `burst` bytes: the way there and back, and the burst that is being serialised.
inline Bytes covering_buffer(Bandwidth bandwidth, Time latency, Bytes burst) {
  const uint128 bytes =
      static_cast<uint128>(bandwidth.count()) * static_cast<uint128>(2 * latency.count()) / 1'000'000'000'000u;
  return burst + Bytes(static_cast<std::int64_t>(bytes));
}

/// The size of a buffer that is not given: enough for the full bandwidth whatever the size of the bursts
/// (`2 * latency * bandwidth + 2 * burst`; the second burst is what bursts of other sizes leave unused), and at least
/// 16 KiB, so that a few flows can wait in it.
inline Bytes derived_buffer(Bandwidth bandwidth, Time latency, const CubeSpec& cube) {
  constexpr Bytes kLeast{16 * 1024};  // assumption
  const Bytes burst = cube.noc.burst;
  return std::max(kLeast, covering_buffer(bandwidth, latency, burst) + burst);
}

/// The buffer of a link: the one given, or the one that follows from its bandwidth and latency.
inline Bytes buffer_of(const LinkSpec& link, const CubeSpec& cube) {
  return link.buffer.value_or(derived_buffer(link.bandwidth, link.latency, cube));
}

/// Likewise of each channel of the HBM.
inline Bytes hbm_buffer(const CubeSpec& cube) {
  return cube.hbm.buffer.value_or(derived_buffer(cube.hbm.channel_bandwidth(), cube.hbm.latency, cube));
}

}  // namespace kernbench::topology
