// The law of the copy engine, to the picosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

struct CopyTimes {
  Time effect, completed;
};

CopyTimes run(Bench& bench, bool to_device, std::vector<DmaLeg> legs) {
  CopyTimes times;
  CopyRequest request;
  request.sip = legs.front().slice.sip;
  request.to_device = to_device;
  request.legs = std::move(legs);
  request.effect = [&] { times.effect = bench.scheduler.now(); };
  request.completed = [&] { times.completed = bench.scheduler.now(); };
  bench.machine.copy(std::move(request));
  bench.scheduler.run();
  EXPECT_TRUE(bench.machine.fabric().idle());
  return times;
}

std::vector<Stage> join(std::vector<std::vector<Stage>> parts) {
  std::vector<Stage> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void expect_law(const topology::Topology& machine, const DmaLeg& part) {
  const auto host = Endpoint::host(), io = Endpoint::io_cpu(part.slice.sip), slice = Endpoint::hbm_slice(part.slice);
  {
    Bench bench(machine);
    const CopyTimes times = run(bench, true, {part});
    const Time start = kDoorbell + bench.message_time(host, io);
    const TransferTimes law = bench.transfer_times(
        join({bench.links(host, io), bench.links(io, slice), {bench.channels(part.slice)}}), part.ranges, start);
    EXPECT_EQ(times.effect, law.delivered);
    EXPECT_EQ(times.completed, law.delivered + bench.message_time(slice, io) + bench.message_time(io, host));
  }
  {
    Bench bench(machine);
    const CopyTimes times = run(bench, false, {part});
    const Time start = kDoorbell + bench.message_time(host, io) + bench.message_time(io, slice);
    const TransferTimes law = bench.transfer_times(
        join({{bench.channels(part.slice)}, bench.links(slice, io), bench.links(io, host)}), part.ranges, start);
    EXPECT_EQ(times.effect, law.departed);
    EXPECT_EQ(times.completed, law.delivered);
  }
}

TEST(Copy, HoldsToItsLawOnTinyForAllSizes) {
  for (const std::int64_t bytes : {1, 64, 1024, 1025, 100'000}) expect_law(tiny(), leg(at(0, 0, 1), 2048, bytes));
}

TEST(Copy, HoldsToItsLawOnTheFarthestSliceOfAhbm1Sip) {
  expect_law(ahbm_1sip(), leg(at(0, 15, 7), 0, 1 << 20));
}

TEST(Copy, HoldsToItsLawWithPacketsAndAnHbmThatLosesTime) {
  for (const std::int64_t bytes : {1, 200, 201, 5000})
    expect_law(lossy_machine({2, 1}, {2, 1}), leg(at(0, 1, 1), 0, bytes));
}

TEST(Copy, HandLawOfPacketsOnTheHostLink) {
  topology::Topology machine = tiny();
  machine.host.link.packet = Bytes(256);
  machine.host.link.packet_overhead = Bytes(24);
  machine.cube.hbm.bandwidth = Bandwidth::gigabytes_per_second(100'000);  // so that the host link is slowest
  Bench bench(machine);
  const CopyTimes times = run(bench, true, {leg(at(0, 0, 0), 0, 1000)});
  const Time command = ps(1) + ps(919) + ns(601);  // the doorbell, then 32 + 24 B at 61 GB/s
  const Time latencies = ns(601) + ns(7) + ns(2) + ns(89);
  EXPECT_EQ(times.effect, command + latencies + ps(17968));  // 1000 + 4 * 24 B at 61 GB/s
}

TEST(Copy, HoldsToItsLawOnAnotherSip) {
  expect_law(small_machine({2, 1}, {2, 1}, 2), leg(at(1, 1, 1), 0, 5000));
}

TEST(Copy, HandLawOfOneChunkToTiny) {
  Bench bench(tiny());
  const CopyTimes times = run(bench, true, {leg(at(0, 0, 0), 0, 1000)});
  const Time command = ps(1) + ps(525) + ns(601);  // the doorbell, then 32 B at 61 GB/s
  const Time latencies = ns(601) + ns(7) + ns(2) + ns(89);
  const Time slowest = ps(26846);  // 1000 B at a channel's 37.25 GB/s
  EXPECT_EQ(times.effect, command + latencies + slowest);
}

TEST(Copy, ALargeCopyIsBoundByTheHostLinkAndCompletesWhenAllLegsHave) {
  for (const bool to_device : {true, false}) {
    Bench bench(ahbm_1sip());
    std::vector<DmaLeg> legs;
    for (int cube = 0; cube < 16; ++cube) {
      for (int pe = 0; pe < 8; ++pe) legs.push_back(leg(at(0, cube, pe), 0, 65536));
    }
    const CopyTimes times = run(bench, to_device, legs);
    const Time link = transfer_time(Bytes(128 * 65536), Bandwidth::gigabytes_per_second(64));
    EXPECT_GE(times.completed, link);
    EXPECT_LE(times.completed, link + Time::microseconds(4));
    EXPECT_LT(times.effect, times.completed);
  }
}

}  // namespace
}  // namespace kernbench::hardware
