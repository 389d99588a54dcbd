// The law of the window of copies that read: how many parts are under way, and when the last one of a leg is asked for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bench.h"

namespace kernbench::hardware {

inline std::vector<Stage> join(std::vector<std::vector<Stage>> parts) {
  std::vector<Stage> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline Time latency_of(Bench& bench, std::span<const Stage> stages) {
  Time sum;
  for (const Stage& stage : stages) sum += bench.machine.fabric().spec(stage.server).latency;
  return sum;
}

/// Runs what has been asked for to its end.
inline void finish(Bench& bench) {
  bench.scheduler.run();
  EXPECT_TRUE(bench.machine.fabric().idle());
  EXPECT_EQ(bench.scheduler.ambiguous_orders(), 0u);
}

/// The burst and the granule of the machines of these tests.
inline constexpr std::int64_t kPart = 1024;

/// Whole parts that a window holds. `way` is that of the bytes from `farthest`, `rate` that of the narrowest link
/// behind the IO chiplet, which has no packets.
inline std::int64_t window_parts(Bench& bench, PeCoordinate farthest, const std::vector<Stage>& way, Bandwidth rate) {
  const Time time =
      bench.message_time(topology::Endpoint::io_cpu(farthest.sip), topology::Endpoint::hbm_slice(farthest)) +
      transfer_time(Bytes(kPart), bench.machine.fabric().spec(way.front().server).bandwidth) + latency_of(bench, way);
  const auto bytes = static_cast<std::int64_t>(time.in_seconds() * static_cast<double>(rate.count()));
  return bytes / kPart + 2;
}

/// Of a contiguous leg that is alone, of a memory that is faster than its links: when its last part leaves that memory.
/// `asks`: when the first part is asked for; `parts`: those of the window.
inline Time last_departure(Bench& bench, PeCoordinate slice, const std::vector<Stage>& route, std::int64_t bytes,
                           Time asks, std::int64_t parts) {
  const auto io = topology::Endpoint::io_cpu(slice.sip), memory = topology::Endpoint::hbm_slice(slice);
  const auto range = [](std::int64_t address, std::int64_t size) {
    return std::vector{StridedRange{static_cast<std::uint64_t>(address), 1, Bytes(size), 0}};
  };
  const Time request = bench.message_time(io, memory);
  const Time header = request - latency_of(bench, bench.links(io, memory));  // of one request behind the other
  const std::int64_t count = (bytes + kPart - 1) / kPart, last = (count - 1) * kPart;
  const Time asked = count <= parts
                         ? asks + header * (count - 1)
                         : bench.transfer_times(route, range(0, (count - parts) * kPart), asks + request).delivered;
  return bench.transfer_times(route, range(last, bytes - last), asked + request).departed;
}

}  // namespace kernbench::hardware
