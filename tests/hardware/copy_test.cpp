// The law of the copy engine, to the picosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "copy_window.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

struct CopyTimes {
  Time effect, completed;
};

/// `times` is filled while the simulation runs.
CopyRequest request_of(Bench& bench, bool to_device, std::vector<DmaLeg> legs, CopyTimes& times) {
  CopyRequest request;
  request.sip = legs.front().slice.sip;
  request.to_device = to_device;
  request.legs = std::move(legs);
  request.effect = [&] { times.effect = bench.scheduler.now(); };
  request.completed = [&] { times.completed = bench.scheduler.now(); };
  return request;
}

CopyTimes run(Bench& bench, bool to_device, std::vector<DmaLeg> legs) {
  CopyTimes times;
  bench.machine.copy(request_of(bench, to_device, std::move(legs), times));
  finish(bench);
  return times;
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
    if (bytes_of(std::vector{part}) <= machine.cube.noc.burst) {
      EXPECT_EQ(times.effect, law.departed);
    } else {
      EXPECT_GE(times.effect, law.departed);
      EXPECT_LE(times.effect, law.delivered - latency_of(bench, join({bench.links(slice, io), bench.links(io, host)})));
    }
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

// ---- the window

/// One cube of two PEs, whose memory is faster than every link.
topology::Topology fast_memory() {
  topology::Topology machine = tiny();
  machine.cube.hbm.bandwidth = Bandwidth::gigabytes_per_second(100'000);
  return machine;
}

std::vector<Stage> way_to_host(const Bench& bench, PeCoordinate slice) {
  const auto host = Endpoint::host(), io = Endpoint::io_cpu(slice.sip), memory = Endpoint::hbm_slice(slice);
  return join({{bench.channels(slice)}, bench.links(memory, io), bench.links(io, host)});
}

std::int64_t window_to_host(Bench& bench) {
  const PeCoordinate farthest = at(0, 0, 1);
  return window_parts(bench, farthest, way_to_host(bench, farthest), bench.topology.host.link.bandwidth);
}

Time part_on_host_link(const Bench& bench) {
  return transfer_time(Bytes(kPart), bench.topology.host.link.bandwidth);
}

TEST(Copy, AsksForTheLastPartOfALongLegWhenAWindowBeforeItHasArrived) {
  const topology::Topology machine = fast_memory();
  Bench law(machine);
  const std::int64_t parts = window_to_host(law);
  ASSERT_GT(parts, 4);
  const Time asks = kDoorbell + law.message_time(Endpoint::host(), Endpoint::io_cpu(SipId{0}));
  for (const int pe : {0, 1}) {
    const PeCoordinate slice = at(0, 0, pe);
    const std::vector<Stage> way = way_to_host(law, slice);
    for (const std::int64_t bytes : {std::int64_t{1}, kPart, kPart + 1, 4 * kPart + 100, (parts - 1) * kPart,
                                     parts * kPart, parts * kPart + 1, (parts + 1) * kPart, 9 * parts * kPart + 7}) {
      for (const bool exact : {false, true}) {
        Bench bench(machine, exact);
        const CopyTimes times = run(bench, false, {leg(slice, 0, bytes)});
        EXPECT_EQ(times.effect, last_departure(law, slice, way, bytes, asks, parts)) << bytes;
        const Time start = asks + law.message_time(Endpoint::io_cpu(SipId{0}), Endpoint::hbm_slice(slice));
        EXPECT_EQ(times.completed, law.transfer_times(way, leg(slice, 0, bytes).ranges, start).delivered) << bytes;
      }
    }
  }
}

/// At many instants: what the memories have begun to read, and what has begun to go to the host.
class Ahead {
 public:
  explicit Ahead(Bench& bench) : bench_(bench) {}
  void sample_every(Time step, int times) {
    for (int n = 1; n <= times; ++n) {
      bench_.scheduler.schedule(step * n, sim::Phase::deliver, {1}, static_cast<std::uint64_t>(n),
                                sim::call<&Ahead::sample>(this, std::uint64_t{0}));
    }
  }
  std::int64_t most = 0;

 private:
  void sample(std::uint64_t) {
    std::int64_t read = 0, sent = 0;
    for (const ResourceUsage& each : bench_.machine.usage()) {
      if (each.name.find(".hbm.channel") != std::string::npos) read += each.bytes.count();
      if (each.name == "sip0.io.to_host") sent += each.bytes.count();
    }
    most = std::max(most, read - sent);
  }

  Bench& bench_;
};

TEST(Copy, AllReadsTogetherAreAheadOfTheHostLinkByNoMoreThanAWindow) {
  for (const bool exact : {false, true}) {
    Bench bench(tiny(), exact);
    Ahead ahead(bench);
    ahead.sample_every(ns(97), 400);
    std::vector<CopyTimes> times(4);
    for (std::size_t n = 0; n < times.size(); ++n) {
      bench.machine.copy(
          request_of(bench, false, {leg(at(0, 0, static_cast<int>(n) % 2), n << 17, 500'000)}, times[n]));
    }
    finish(bench);
    EXPECT_LE(ahead.most, (window_to_host(bench) + 1) * kPart);  // one more, where a short part was in it
    EXPECT_GT(ahead.most, window_to_host(bench) * kPart / 4);
  }
}

TEST(Copy, OfOnePartBesideALongOneWaitsForAWindowOfItAtMost) {
  Bench alone(fast_memory());
  const Time lone = run(alone, false, {leg(at(0, 0, 1), 0, kPart)}).completed;
  Bench bench(fast_memory());
  CopyTimes of_long, of_short;
  bench.machine.copy(request_of(bench, false, {leg(at(0, 0, 0), 0, 1 << 19)}, of_long));
  bench.machine.copy(request_of(bench, false, {leg(at(0, 0, 1), 0, kPart)}, of_short));
  finish(bench);
  EXPECT_LE(of_short.completed, lone + part_on_host_link(bench) * (window_to_host(bench) + 2));
  EXPECT_GT(of_long.completed, of_short.completed);
}

TEST(Copy, TwoOfOneSizeEndWithinAWindow) {
  for (const bool one_slice : {false, true}) {
    Bench bench(fast_memory());
    std::vector<CopyTimes> times(2);
    bench.machine.copy(request_of(bench, false, {leg(at(0, 0, 0), 0, 1 << 18)}, times[0]));
    bench.machine.copy(request_of(bench, false, {leg(at(0, 0, one_slice ? 0 : 1), 1 << 18, 1 << 18)}, times[1]));
    finish(bench);
    const Time apart =
        std::max(times[0].completed, times[1].completed) - std::min(times[0].completed, times[1].completed);
    EXPECT_LE(apart, part_on_host_link(bench) * (window_to_host(bench) + 2));
  }
}

TEST(Copy, TakesEventsForItsBytesOnly) {
  const auto events = [](bool exact, std::int64_t bytes) {
    Bench bench(tiny(), exact);
    run(bench, false, {leg(at(0, 0, 0), 0, bytes), leg(at(0, 0, 1), 0, bytes)});
    return bench.scheduler.events_processed();
  };
  for (const bool exact : {false, true}) EXPECT_LE(events(exact, 1 << 18), 2 * events(exact, 1 << 17) + 1000) << exact;
}

// In the copy's second half, and with an effect that is never called: it comes to its end all the same.
TEST(Copy, ThatIsCancelledCompletesWithoutItsEffect) {
  Bench alone(tiny());
  const Time completed = run(alone, false, {leg(at(0, 0, 0), 0, 1 << 18)}).completed;
  Bench bench(tiny());
  CopyTimes times;
  CopyRequest request = request_of(bench, false, {leg(at(0, 0, 0), 0, 1 << 18)}, times);
  request.owner = 7;
  bench.machine.copy(std::move(request));
  struct Cancel {
    Machine& machine;
    void now(std::uint64_t) { machine.cancel(7); }
  } cancel{bench.machine};
  bench.scheduler.schedule(ns(3000), sim::Phase::deliver, {1}, 0, sim::call<&Cancel::now>(&cancel, std::uint64_t{0}));
  finish(bench);
  EXPECT_EQ(times.effect, Time::zero());
  EXPECT_EQ(times.completed, completed);
}

// ---- by hand

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
