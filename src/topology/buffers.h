// The number of chunks that the buffer behind a link, a memory channel or a port holds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernbench/units.h"
#include "topology/spec.h"

namespace kernbench::topology {

/// Chunks of `chunk` bytes that are on their way from the start of their serialisation until their credits are back, at
/// full bandwidth: the way there and back, the one being serialised, and one more against rounding.
inline std::int64_t covering_credits(Bandwidth bandwidth, Time latency, Bytes chunk) {
  const uint128 bytes =
      static_cast<uint128>(bandwidth.count()) * static_cast<uint128>(2 * latency.count()) / 1'000'000'000'000u;
  return static_cast<std::int64_t>(bytes / static_cast<uint128>(chunk.count())) + 2;
}

/// The credits of a buffer that is not given: enough for the full bandwidth with chunks as short as an access of the
/// HBM
/// (`2 * latency * bandwidth / cube.hbm.access + 2`), and at least 16, so that a few flows can wait in it.
inline std::int32_t derived_credits(Bandwidth bandwidth, Time latency, const CubeSpec& cube) {
  constexpr std::int64_t kLeast = 16;      // assumption
  constexpr std::int64_t kMost = 1 << 30;  // more than can be on any way
  const Bytes shortest = std::min(cube.hbm.access, cube.noc.chunk);
  return static_cast<std::int32_t>(std::clamp(covering_credits(bandwidth, latency, shortest), kLeast, kMost));
}

/// The credits of a link: those given, or those that follow from its bandwidth and latency.
inline std::int32_t credits_of(const LinkSpec& link, const CubeSpec& cube) {
  return link.credits.value_or(derived_credits(link.bandwidth, link.latency, cube));
}

/// Likewise of each channel of the HBM.
inline std::int32_t hbm_credits(const CubeSpec& cube) {
  const Bandwidth channel = Bandwidth::bytes_per_second(cube.hbm.bandwidth.count() / cube.hbm.channels);
  return cube.hbm.credits.value_or(derived_credits(channel, cube.hbm.latency, cube));
}

}  // namespace kernbench::topology
