// Buffers that are not given follow from the link: its bandwidth is reached whatever the figures, at no cost in memory.
#include "topology/buffers.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <random>
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

std::vector<ServerSpec> two_servers(const topology::LinkSpec& link, std::int32_t credits) {
  ServerSpec spec;
  spec.bandwidth = link.bandwidth;
  spec.latency = link.latency;
  spec.credits = credits;
  return {spec, spec};
}

TransferRequest over_both(std::int64_t chunks, Bytes chunk) {
  TransferRequest request;
  request.route = {{ServerId{0}, 1, {}}, {ServerId{1}, 1, {}}};
  request.ranges = {{0, 1, chunk * chunks, 0}};
  request.chunk = chunk;
  return request;
}

TEST(Buffers, ALinkWhoseBufferIsNotGivenIsNeverHeldBackByIt) {
  const topology::CubeSpec cube = ahbm_1sip().cube;
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const topology::LinkSpec link = random_link(random);
    const Bytes chunk(std::int64_t{64} << pick(random, 0, 4));
    const std::int64_t in_flight = topology::covering_credits(link.bandwidth, link.latency, chunk);
    const std::int64_t chunks = std::min<std::int64_t>(in_flight + pick(random, 2, 500), 20'000);
    const Time service = std::max(ps(1), transfer_time(chunk, link.bandwidth));
    const auto servers = two_servers(link, topology::credits_of(link, cube));
    EXPECT_EQ(uncontended(servers, over_both(chunks, chunk), Time()).delivered, 2 * link.latency + chunks * service)
        << link.bandwidth.count() << " B/s, " << link.latency.count() << " ps, chunks of " << chunk.count();
  }
}

TEST(Buffers, ARoundTripOfShortChunksIsWhatTheyAreMadeFor) {
  const topology::CubeSpec cube = ahbm_1sip().cube;
  const topology::LinkSpec link{Bandwidth::gigabytes_per_second(200), ns(500), {}};
  const std::int32_t credits = topology::credits_of(link, cube);
  EXPECT_EQ(credits, 2 * 500 * 200 / 64 + 2);
  // One in ten fewer, and a long train of accesses of the HBM arrives later.
  const TransferRequest train = over_both(20'000, Bytes(64));
  EXPECT_GT(uncontended(two_servers(link, credits * 9 / 10), train, Time()).delivered,
            uncontended(two_servers(link, credits), train, Time()).delivered);
}

std::int32_t credits_in(Bench& bench, const std::string& name) {
  Fabric& fabric = bench.machine.fabric();
  for (ServerId server{0}; server.value < fabric.server_count(); ++server.value) {
    if (fabric.spec(server).name == name) return fabric.spec(server).credits;
  }
  ADD_FAILURE() << "no server " << name;
  return 0;
}

TEST(Buffers, EachServerOfAMachineHasTheCreditsOfItsOwnFigures) {
  topology::Topology machine = ahbm_1sip();
  machine.system.sips = 2;
  machine.system.link = {Bandwidth::gigabytes_per_second(400), ns(500), {}};
  machine.host.link.credits = 77;
  machine.overrides.push_back({"sip1.io.to_sip0", {}, ns(5000), {}, {}, {}, {}, {}});
  Bench bench(machine);
  EXPECT_EQ(credits_in(bench, "sip0.io.to_sip1"), 2 * 500 * 400 / 64 + 2);
  EXPECT_EQ(credits_in(bench, "sip1.io.to_sip0"), 2 * 5000 * 400 / 64 + 2) << "an override of the latency";
  EXPECT_EQ(credits_in(bench, "host.to_sip0"), 77) << "as given";
  EXPECT_EQ(credits_in(bench, "sip0.io.row0.to_mesh"), 2 * 8 * 128 / 64 + 2) << "a lane has half of the edge";
  EXPECT_EQ(credits_in(bench, "sip0.cube0.pe0.router.east"), 16) << "never less";
  EXPECT_EQ(credits_in(bench, "sip0.cube0.pe0.hbm.channel0"), 105 + 2) << "2 * 90 ns * 37.5 GB/s of one channel";
  EXPECT_EQ(credits_in(bench, "sip0.cube0.pe0.tcm.dma"), 16);
}

/// Bytes on the heap while a load from the other SIP is under way.
std::size_t heap_of_a_load(Time latency) {
  topology::Topology machine = small_machine({2, 1}, {2, 1}, 2);
  machine.system.link = {Bandwidth::gigabytes_per_second(200), latency, {}};
  std::size_t most = 0;
  const std::size_t before = mallinfo2().uordblks;
  Bench bench(machine, true);
  bench.run(at(0, 1, 1), [&](ProgramScope& p) {
    const CommandRef load = p.load({leg(at(1, 0, 0), 0, 1 << 15)});
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
