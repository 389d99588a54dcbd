// Buffers that are not given follow from the link: its bandwidth is reached whatever the figures, at no cost in memory.
#include "topology/buffers.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "sim/fiber.h"

namespace kernbench::hardware {
namespace {

std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

topology::LinkSpec random_link(std::mt19937_64& random) {
  return {
      Bandwidth::bytes_per_second(pick(random, 1'000'000'000, 2'000'000'000'000)), ps(pick(random, 1, 20'000'000)), {}};
}

std::vector<ServerSpec> two_servers(const topology::LinkSpec& link, Bytes buffer) {
  ServerSpec spec;
  spec.bandwidth = link.bandwidth;
  spec.latency = link.latency;
  spec.buffer = buffer;
  return {spec, spec};
}

/// Of a train of bursts over both servers, when it is there.
Time arrival(std::span<const ServerSpec> servers, std::int64_t bursts, Bytes burst) {
  const std::vector<Stage> route{{ServerId{0}, 1, {}}, {ServerId{1}, 1, {}}};
  TransferRequest request;
  request.route = route;
  request.ranges = Ranges(StridedRange{0, 1, burst * bursts, 0});
  request.burst = request.granule = burst;
  return uncontended(servers, request, Time()).delivered;
}

TEST(Buffers, ALinkWhoseBufferIsNotGivenIsNeverHeldBackByIt) {
  const topology::CubeSpec cube = ahbm_1sip().cube;
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const topology::LinkSpec link = random_link(random);
    const Bytes burst = round % 2 == 0 ? cube.noc.burst : Bytes(pick(random, 1, cube.noc.burst.count()));
    const auto in_flight = topology::covering_buffer(link.bandwidth, link.latency, burst).count() / burst.count();
    const std::int64_t bursts = std::min<std::int64_t>(in_flight + pick(random, 2, 500), 20'000);
    const Time service = std::max(ps(1), transfer_time(burst, link.bandwidth));
    const auto servers = two_servers(link, topology::buffer_of(link, cube));
    EXPECT_EQ(arrival(servers, bursts, burst), 2 * link.latency + bursts * service)
        << link.bandwidth.count() << " B/s, " << link.latency.count() << " ps, bursts of " << burst.count();
  }
}

TEST(Buffers, ARoundTripAndABurstAreWhatTheyMustHold) {
  const topology::CubeSpec cube = ahbm_1sip().cube;
  const topology::LinkSpec link{Bandwidth::gigabytes_per_second(200), ns(500), {}};
  const Bytes burst = cube.noc.burst, least = topology::covering_buffer(link.bandwidth, link.latency, burst);
  EXPECT_EQ(least, burst + Bytes(2 * 500 * 200));
  EXPECT_EQ(topology::buffer_of(link, cube), least + burst);
  // What is said to cover a round trip does so for bursts that fill it; a tenth less, and a long train arrives later.
  const Bytes unit(1000);
  const Bytes covering = topology::covering_buffer(link.bandwidth, link.latency, unit);
  const Time all = 2 * link.latency + 1'000 * transfer_time(unit, link.bandwidth);
  EXPECT_EQ(arrival(two_servers(link, covering), 1'000, unit), all);
  EXPECT_GT(arrival(two_servers(link, Bytes(covering.count() * 9 / 10)), 1'000, unit), all);
}

Bytes buffer_in(Bench& bench, const std::string& name) {
  Fabric& fabric = bench.machine.fabric();
  for (ServerId server{0}; server.value < fabric.server_count(); ++server.value) {
    if (fabric.spec(server).name == name) return fabric.spec(server).buffer;
  }
  ADD_FAILURE() << "no server " << name;
  return {};
}

TEST(Buffers, EachServerOfAMachineHasTheBufferOfItsOwnFigures) {
  topology::Topology machine = ahbm_1sip();
  machine.cube.noc.burst = Bytes(8192);
  machine.system.sips = 2;
  machine.system.link = {Bandwidth::gigabytes_per_second(400), ns(500), {}};
  machine.host.link.buffer = Bytes(77);
  machine.overrides.push_back({"sip1.io.to_sip0", {}, ns(5000), {}, {}, {}, {}, {}});
  Bench bench(machine);
  const Bytes bursts(2 * 8192);
  EXPECT_EQ(buffer_in(bench, "sip0.io.to_sip1"), bursts + Bytes(2 * 500 * 400));
  EXPECT_EQ(buffer_in(bench, "sip1.io.to_sip0"), bursts + Bytes(2 * 5000 * 400)) << "an override of the latency";
  EXPECT_EQ(buffer_in(bench, "host.to_sip0"), Bytes(77)) << "as given";
  EXPECT_EQ(buffer_in(bench, "sip0.io.row0.to_mesh"), bursts + Bytes(2 * 8 * 128)) << "a lane has half of the edge";
  EXPECT_EQ(buffer_in(bench, "sip0.cube0.pe0.hbm.channel0"), bursts + Bytes(6750)) << "2 * 90 ns * 37.5 GB/s";
  EXPECT_EQ(buffer_in(bench, "sip0.cube0.pe0.tcm.dma"), bursts + Bytes(1)) << "a latency of 1 ps";
  machine.cube.noc.burst = Bytes(1024);
  Bench small(machine);
  EXPECT_EQ(buffer_in(small, "sip0.cube0.pe0.router.east"), Bytes(16 * 1024)) << "never less";
}

/// Bytes on the heap while a load from the other SIP is under way.
std::size_t heap_of_a_load(Time latency) {
  topology::Topology machine = small_machine({2, 1}, {2, 1}, 2);
  machine.system.link = {Bandwidth::gigabytes_per_second(200), latency, {}};
  std::size_t most = 0;
  const std::size_t before = mallinfo2().uordblks;
  Bench bench(machine, true);
  bench.run(at(0, 1, 1), [&](ProgramScope& p) {
    const OperationRef load = p.load({leg(at(1, 0, 0), 0, 1 << 15)});
    for (int i = 0; i < 100; ++i) {
      most = std::max(most, mallinfo2().uordblks - before);
      sim::this_fiber::sleep(ns(200));
    }
  });
  return most;
}

TEST(Buffers, TheMemoryOfTheSimulatorDoesNotGrowWithThem) {
  (void)heap_of_a_load(ns(500));  // what is made once
  const std::size_t near = heap_of_a_load(ns(500)), far = heap_of_a_load(ns(5000)),
                    farther = heap_of_a_load(ns(50'000));
  EXPECT_LE(far, near + near / 20) << "ten times the buffer";
  EXPECT_LE(farther, near + near / 20) << "a hundred times";
}

}  // namespace
}  // namespace kernbench::hardware
