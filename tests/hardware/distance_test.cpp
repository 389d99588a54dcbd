// A remote access costs what its distance says: own slice < same cube < other cube < other SIP, by the law.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

struct RouteLaw {
  Time latency;       // of all links
  Bandwidth slowest;  // of the links
};

RouteLaw way(const Bench& bench, Endpoint from, Endpoint to) {
  RouteLaw way;
  for (const auto& hop : bench.network.route(from, to)) {
    const topology::LinkSpec& link = bench.network.link(hop.link).spec;
    way.latency += std::max(link.latency, ps(1));
    if (way.slowest == Bandwidth() || link.bandwidth < way.slowest) way.slowest = link.bandwidth;
  }
  return way;
}

/// From its start to its end, what one access of one chunk takes alone: chunks cut through, so only the slowest server
/// counts, and every latency does.
Time access_law(const Bench& bench, PeCoordinate pe, PeCoordinate slice, std::int64_t bytes, bool write) {
  const auto& topology = bench.topology;
  const Endpoint port = Endpoint::pe_port(pe), memory = Endpoint::hbm_slice(slice);
  const RouteLaw there = way(bench, port, memory), back = way(bench, memory, port);
  const RouteLaw& data = write ? there : back;
  const RouteLaw& message = write ? back : there;
  const auto& hbm = topology.cube.hbm;
  const Bandwidth channel = Bandwidth::bytes_per_second(hbm.bandwidth.count() / hbm.channels);
  Time slowest = std::max(transfer_time(Bytes(bytes), channel), transfer_time(Bytes(bytes), topology.pe.tcm.bandwidth));
  Time time = topology.pe.dma.setup + hbm.latency + ps(1) + data.latency + message.latency;
  if (data.slowest != Bandwidth()) {
    slowest = std::max(slowest, transfer_time(Bytes(bytes), data.slowest));
    time += transfer_time(topology.cube.noc.header, message.slowest);
  }
  return time + slowest;
}

Time measured(const topology::Topology& topology, PeCoordinate pe, PeCoordinate slice, std::int64_t bytes, bool write) {
  Bench bench(topology);
  bench.run(pe, [&](ProgramScope& p) { write ? p.store({leg(slice, 0, bytes)}) : p.load({leg(slice, 0, bytes)}); });
  const Command& operation = *bench.log.operations.front();
  EXPECT_EQ(operation.times.finished - operation.times.started, access_law(bench, pe, slice, bytes, write));
  return operation.times.finished - operation.times.started;
}

TEST(Distance, OwnSliceThenCubeThenSipThenOtherSips) {
  const topology::Topology topology = small_machine({3, 2}, {2, 2}, 4);
  const PeCoordinate reader = at(0, 0, 3);
  const std::vector<PeCoordinate> ways{reader, at(0, 0, 2), at(0, 1, 2), at(0, 2, 0), at(1, 0, 0), at(2, 0, 0)};
  for (const bool write : {false, true}) {
    for (const std::int64_t bytes : {64, 500, 1000}) {
      std::vector<Time> times;
      times.reserve(ways.size());
      for (const PeCoordinate slice : ways) times.push_back(measured(topology, reader, slice, bytes, write));
      for (std::size_t i = 1; i < times.size(); ++i) {
        EXPECT_LT(times[i - 1], times[i]) << "way " << i << ", " << bytes << " B, write " << write;
      }
    }
  }
}

}  // namespace
}  // namespace kernbench::hardware
