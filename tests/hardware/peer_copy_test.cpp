// Copies from SIP to SIP: the law to the picosecond, conserved bytes, and copies of more legs than one command has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "copy_window.h"
#include "hardware/copy/parts.h"
#include "hardware/copy/split.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

struct PeerTimes {
  Time read, written, completed;
  bool operator==(const PeerTimes&) const = default;
};

/// `times` is filled while the simulation runs.
void start(Bench& bench, std::vector<PeerLeg> legs, PeerTimes& times) {
  PeerCopyRequest request;
  request.source = legs.front().source.sip;
  request.legs = std::move(legs);
  request.read = [&] { times.read = bench.scheduler.now(); };
  request.written = [&] { times.written = bench.scheduler.now(); };
  request.completed = [&] { times.completed = bench.scheduler.now(); };
  bench.machine.copy(std::move(request));
}

PeerTimes run(Bench& bench, std::vector<PeerLeg> legs) {
  PeerTimes times;
  start(bench, std::move(legs), times);
  finish(bench);
  return times;
}

PeerLeg peer_leg(PeCoordinate from, std::uint64_t source, PeCoordinate to, std::uint64_t destination,
                 std::int64_t bytes) {
  return {from, to, {{source, 1, Bytes(bytes), 0}}, {{destination, 1, Bytes(bytes), 0}}};
}

std::vector<Stage> way_of(const Bench& bench, PeCoordinate source, PeCoordinate destination) {
  const auto links = bench.links(Endpoint::hbm_slice(source), Endpoint::hbm_slice(destination));
  return join({{bench.channels(source)}, links, {bench.channels(destination)}});
}

/// Of one header behind the other, where the engine asks a slice.
Time header_time(Bench& bench, PeCoordinate source) {
  const auto io = Endpoint::io_cpu(source.sip), memory = Endpoint::hbm_slice(source);
  return bench.message_time(io, memory) - latency_of(bench, bench.links(io, memory));
}

/// Of a leg that is in the window at once: the last of its requests is a little behind the first.
void expect_law(const topology::Topology& machine, const PeerLeg& part) {
  const auto host = Endpoint::host(), io = Endpoint::io_cpu(part.source.sip);
  const auto source = Endpoint::hbm_slice(part.source), destination = Endpoint::hbm_slice(part.destination);
  for (const bool exact : {false, true}) {
    Bench bench(machine, exact);
    const PeerTimes times = run(bench, {part});
    const Time asked = kDoorbell + bench.message_time(host, io) + bench.message_time(io, source);
    const TransferTimes law =
        bench.transfer_times(way_of(bench, part.source, part.destination), part.from, asked, part.to);
    const std::int64_t most_parts = 2 * bytes_of(std::vector{part}).count() / kPart + 1;  // two are more than a burst
    EXPECT_GE(times.read, law.departed);
    EXPECT_LE(times.read, law.departed + header_time(bench, part.source) * (most_parts - 1));
    EXPECT_EQ(times.written, law.delivered);
    EXPECT_EQ(times.completed, law.delivered + bench.message_time(destination, io) + bench.message_time(io, host));
  }
}

topology::Topology system_of(std::int32_t sips, topology::SystemTopology kind) {
  auto machine = small_machine({2, 1}, {2, 1}, sips);
  machine.system.topology = kind;
  return machine;
}

TEST(PeerCopy, HoldsToItsLawForAllSizes) {
  for (const std::int64_t bytes : {1, 64, 1000, 1024, 1025, 5000}) {
    expect_law(system_of(2, topology::SystemTopology::ring_1d), peer_leg(at(0, 0, 0), 2048, at(1, 0, 0), 4096, bytes));
  }
}

TEST(PeerCopy, HoldsToItsLawOnRoutesOfAllLengths) {
  using topology::SystemTopology;
  for (const auto& [sips, kind] : {std::pair{3, SystemTopology::ring_1d},
                                   {5, SystemTopology::ring_1d},
                                   {4, SystemTopology::switched},
                                   {6, SystemTopology::torus_2d},
                                   {4, SystemTopology::fully_connected}}) {
    const auto machine = system_of(sips, kind);
    for (std::int32_t from = 0; from < sips; ++from) {
      for (std::int32_t to = 0; to < sips; ++to) {
        if (from == to) continue;
        SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to) + " of " + std::to_string(sips));
        expect_law(machine, peer_leg(at(from, 0, 0), 0, at(to, 0, 0), 0, 3000));
        expect_law(machine, peer_leg(at(from, 1, 1), 0, at(to, 0, 1), 1024, 3000));
      }
    }
  }
}

TEST(PeerCopy, HoldsToItsLawWhereTheSidesHaveOtherRowsAndAlignments) {
  const auto machine = system_of(2, topology::SystemTopology::ring_1d);
  expect_law(machine, peer_leg(at(0, 0, 1), 100, at(1, 1, 0), 5000, 20'000));
  PeerLeg part{at(0, 0, 1), at(1, 1, 0), {{64, 30, Bytes(100), 256}}, {{1000, 3, Bytes(1000), 4096}}};
  expect_law(machine, part);
  std::swap(part.from, part.to);
  expect_law(machine, part);
}

// A ring of three, from SIP 0 to its neighbour the other way round: one link, of a ring's dateline.
TEST(PeerCopy, HoldsToItsLawWithPackets) {
  for (const std::int64_t bytes : {1, 256, 257, 9000}) {
    expect_law(lossy_machine({2, 1}, {2, 1}, 2), peer_leg(at(0, 0, 0), 2048, at(1, 1, 0), 4096, bytes));
  }
}

TEST(PeerCopy, HandLawOfOneChunkAroundARingOfThree) {
  for (const std::int32_t to : {1, 2}) {
    Bench bench(system_of(3, topology::SystemTopology::ring_1d));
    const PeerTimes times = run(bench, {peer_leg(at(0, 0, 0), 0, at(to, 0, 0), 0, 1000)});
    const Time to_slice = ns(7) + ns(2) + ps(252);              // 32 B at 127 GB/s
    const Time command = ps(1) + ps(525) + ns(601) + to_slice;  // the doorbell, then 32 B at 61 GB/s
    const Time slowest = ps(26846);                             // 1000 B at a channel's 37.25 GB/s
    const Time way = ns(2) + ns(7) + ns(503) + ns(7) + ns(2);   // slice, mesh, SIPs, mesh, slice
    EXPECT_EQ(times.read, command + slowest + ns(89));
    EXPECT_EQ(times.written, command + ns(89) + way + slowest + ns(89));
    const Time answer = way - ns(7) - ns(2) + ps(252);  // to the IO chiplet of the source
    EXPECT_EQ(times.completed, times.written + answer + ns(601) + ps(525));
  }
}

// ---- the window

std::int64_t window_between(Bench& bench) {
  const std::vector<Stage> way = way_of(bench, at(0, 1, 1), at(1, 1, 1));  // the slices at the far corners
  return window_parts(bench, at(0, 1, 1), way, bench.topology.system.link.bandwidth);
}

TEST(PeerCopy, AsksForTheLastPartOfALongLegWhenAWindowBeforeItHasLanded) {
  auto machine = system_of(2, topology::SystemTopology::ring_1d);
  machine.cube.hbm.bandwidth = Bandwidth::gigabytes_per_second(100'000);  // so that no memory is slowest
  Bench law(machine);
  const std::int64_t parts = window_between(law);
  ASSERT_GT(parts, 4);
  const Time asks = kDoorbell + law.message_time(Endpoint::host(), Endpoint::io_cpu(SipId{0}));
  for (const auto& [from, to] : {std::pair{at(0, 1, 1), at(1, 1, 1)}, {at(0, 0, 0), at(1, 1, 0)}}) {
    const std::vector<Stage> way = way_of(law, from, to);
    for (const std::int64_t bytes :
         {kPart, kPart + 1, parts * kPart, parts * kPart + 1, 2 * parts * kPart, 4 * parts * kPart + 7}) {
      for (const bool exact : {false, true}) {
        Bench bench(machine, exact);
        const PeerLeg part = peer_leg(from, 0, to, 0, bytes);
        const PeerTimes times = run(bench, {part});
        EXPECT_EQ(times.read, last_departure(law, from, way, bytes, asks, parts)) << bytes;
        const Time asked = asks + law.message_time(Endpoint::io_cpu(SipId{0}), Endpoint::hbm_slice(from));
        EXPECT_EQ(times.written, law.transfer_times(way, part.from, asked, part.to).delivered) << bytes;
      }
    }
  }
}

// Parts of a leg are transfers of their own, which pass each other where channels are not loaded alike: one channel's
// time for a burst, no more.
TEST(PeerCopy, OfALongLegTakesTheTimeOfOneTransferWhereTheMemoryIsSlow) {
  constexpr std::int64_t bytes = 300'000;
  Bench bench(system_of(2, topology::SystemTopology::ring_1d));
  const PeerLeg part = peer_leg(at(0, 0, 0), 2048, at(1, 0, 0), 4096, bytes);
  const Time asked = kDoorbell + bench.message_time(Endpoint::host(), Endpoint::io_cpu(SipId{0})) +
                     bench.message_time(Endpoint::io_cpu(SipId{0}), Endpoint::hbm_slice(part.source));
  const TransferTimes law =
      bench.transfer_times(way_of(bench, part.source, part.destination), part.from, asked, part.to);
  const PeerTimes times = run(bench, {part});
  const Stage channels = bench.channels(part.source);
  const ServerSpec& channel = bench.machine.fabric().spec(channels.server);
  const Time burst = transfer_time(Bytes(kPart), channel.bandwidth);
  EXPECT_LE(times.written, law.delivered + burst);
  EXPECT_GE(times.written, law.delivered - burst);
  // What has left its memory has the latency of the channel behind it.
  EXPECT_LE(times.read + latency_of(bench, way_of(bench, part.source, part.destination)) - channel.latency,
            times.written);
}

// Behind a switch all ways are equally long. Round a ring of three each neighbour has a link of its own.
TEST(PeerCopy, SharesTheWindowOfALinkWithThoseToOtherSipsThatAreAsFar) {
  using topology::SystemTopology;
  for (const SystemTopology kind : {SystemTopology::switched, SystemTopology::ring_1d}) {
    const auto machine = system_of(3, kind);
    const PeerLeg small = peer_leg(at(0, 1, 1), 0, at(2, 1, 1), 0, 1000);
    Bench alone(machine);
    const Time lone = run(alone, {small}).read;
    Bench bench(machine);
    PeerTimes of_large, of_small;
    start(bench, {peer_leg(at(0, 0, 0), 0, at(1, 0, 0), 0, 300'000)}, of_large);
    start(bench, {small}, of_small);
    finish(bench);
    if (kind == SystemTopology::switched) {
      EXPECT_GE(of_small.read, lone + machine.system.link.latency);  // until the first of the window has landed
    } else {
      EXPECT_LE(of_small.read, lone + ns(100));
    }
  }
}

TEST(PeerCopy, DoesNotWaitForTheWindowOfReadsByTheHost) {
  auto machine = system_of(2, topology::SystemTopology::ring_1d);
  machine.host.link.bandwidth = Bandwidth::gigabytes_per_second(1);
  const PeerLeg part = peer_leg(at(0, 1, 1), 0, at(1, 1, 1), 0, 1 << 16);
  Bench alone(machine);
  const PeerTimes lone = run(alone, {part});
  Bench bench(machine);
  CopyRequest read;
  read.to_device = false;
  read.legs = {leg(at(0, 0, 0), 0, 1 << 16)};
  bench.machine.copy(std::move(read));
  PeerTimes times;
  start(bench, {part}, times);
  finish(bench);
  EXPECT_LE((times.written - lone.written).count() * 10, lone.written.count());
}

TEST(PeerCopy, OfOnePartBesideALongOneWaitsForAWindowOfItAtMost) {
  const auto machine = system_of(2, topology::SystemTopology::ring_1d);
  const PeerLeg small = peer_leg(at(0, 1, 1), 0, at(1, 1, 1), 0, kPart);
  Bench alone(machine);
  const Time lone = run(alone, {small}).written;
  Bench bench(machine);
  PeerTimes of_long, of_short;
  start(bench, {peer_leg(at(0, 0, 0), 0, at(1, 0, 0), 0, 1 << 20)}, of_long);
  start(bench, {small}, of_short);
  finish(bench);
  // The long one's parts pass a lane of the mesh, the slowest link of its way.
  const Time part = transfer_time(Bytes(kPart), machine.cube.noc.link.bandwidth);
  EXPECT_LE(of_short.written,
            lone + part * (window_between(bench) + 2) + latency_of(bench, way_of(bench, at(0, 0, 0), at(1, 0, 0))));
  EXPECT_GT(of_long.written, of_short.written * 2);
}

// Parts that end a leg keep their slots until the host has been told, whose link is slow here. So few are left to the
// long legs, and nothing is under way when they come back.
TEST(PeerCopy, WithoutASlotGoesOnWhenOneComesBack) {
  auto machine = system_of(2, topology::SystemTopology::ring_1d);
  machine.host.link.bandwidth = Bandwidth::bytes_per_second(10'000'000);
  Bench bench(machine);
  std::vector<PeerLeg> legs;
  for (std::size_t n = 0; n < kMaximumLegs; ++n) {
    const bool is_long = n >= kMaximumLegs - 6;
    const auto address = static_cast<std::uint64_t>(n) * 64;
    legs.push_back(peer_leg(at(0, 0, 0), address, at(1, 0, 0), address, is_long ? 8 * kPart : 16));
  }
  const PeerTimes times = run(bench, legs);
  EXPECT_GT(times.read, Time::zero());
  EXPECT_GT(times.completed, times.written);
}

// ---- conservation

std::map<std::string, std::int64_t> bytes_by_resource(const Bench& bench) {
  std::map<std::string, std::int64_t> bytes;
  for (const auto& resource : bench.machine.usage()) bytes[resource.name] = resource.bytes.count();
  return bytes;
}

std::int64_t parts_of(const PeerLeg& part) {
  const std::vector<LegSides> sides{{part.from, part.to}};
  Parts parts(sides, Bytes(kPart), Bytes(kPart));
  std::int64_t count = 0;
  for (; !parts.all_taken(); ++count) parts.give_back(parts.take().slot);
  return count;
}

TEST(PeerCopy, ConservesBytesOnEveryLinkAndInEveryMemory) {
  for (const bool exact : {false, true}) {
    Bench bench(system_of(3, topology::SystemTopology::ring_1d), exact);
    std::vector<PeerLeg> legs;
    std::map<std::string, std::int64_t> expected;
    const auto add = [&](const std::vector<Stage>& links, std::int64_t bytes) {
      for (const Stage& link : links) expected[bench.machine.fabric().spec(link.server).name] += bytes;
    };
    const auto host = Endpoint::host(), io = Endpoint::io_cpu(SipId{0});
    const std::int64_t header = bench.topology.cube.noc.header.count();
    add(bench.links(host, io), header);
    for (std::int32_t n = 0; n < 12; ++n) {
      legs.push_back(peer_leg(at(0, n % 2, n / 2 % 2), static_cast<std::uint64_t>(n) * 8192, at(2, n / 4 % 2, n % 2),
                              static_cast<std::uint64_t>(n) * 8192 + 100, 1000 + 700 * n));
      const auto source = Endpoint::hbm_slice(legs.back().source), to = Endpoint::hbm_slice(legs.back().destination);
      const std::int64_t parts = parts_of(legs.back());
      add(bench.links(io, source), header * parts);
      add(bench.links(source, to), 1000 + 700 * n);
      add(bench.links(to, io), header * parts);
      add(bench.links(io, host), header);
    }
    run(bench, legs);
    std::int64_t in_memory = 0, moved = 0;
    for (const PeerLeg& part : legs) moved += part.from.front().total().count();
    for (const auto& [name, bytes] : bytes_by_resource(bench)) {
      if (name.find(".hbm.channel") != std::string::npos)
        in_memory += bytes;
      else
        EXPECT_EQ(bytes, expected[name]) << name;
    }
    EXPECT_EQ(in_memory, 2 * moved);
  }
}

TEST(PeerCopy, ALargeOneIsBoundByTheLinkBetweenTheSips) {
  Bench bench(system_of(2, topology::SystemTopology::ring_1d));
  std::vector<PeerLeg> legs;
  for (int cube = 0; cube < 2; ++cube) {
    for (int pe = 0; pe < 2; ++pe) legs.push_back(peer_leg(at(0, cube, pe), 0, at(1, cube, pe), 0, 1 << 19));
  }
  const PeerTimes times = run(bench, legs);
  const Time link = transfer_time(Bytes(4 << 19), Bandwidth::gigabytes_per_second(199));
  EXPECT_GE(times.written, link);
  EXPECT_LE(times.written, link * 3);
  EXPECT_LT(times.read, times.written);
  EXPECT_LT(times.written, times.completed);
}

// ---- more legs than one command has --------------------------------------------------------------------------------

TEST(SplitCopies, HaveAllLegsInOrderAndCallEachFunctionOnce) {
  for (const std::size_t limit : {1U, 3U, 7U, 100U}) {
    int read = 0, written = 0, completed = 0;
    PeerCopyRequest request;
    request.source = SipId{1};
    for (std::int32_t n = 0; n < 20; ++n) request.legs.push_back(peer_leg(at(1, 0, n), 0, at(0, 0, 0), 0, 1));
    request.read = [&] { ++read; };
    request.written = [&] { ++written; };
    request.completed = [&] { ++completed; };
    const auto parts = split(std::move(request), limit);
    EXPECT_EQ(parts.size(), (20 + limit - 1) / limit);
    std::int32_t next = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_LE(parts[i].legs.size(), limit);
      EXPECT_EQ(parts[i].source, SipId{1});
      for (const PeerLeg& part : parts[i].legs) EXPECT_EQ(part.source.pe.value, next++);
      EXPECT_EQ(std::max({read, written, completed}), 0);
      parts[i].read();
      parts[i].written();
      parts[i].completed();
    }
    EXPECT_EQ(next, 20);
    EXPECT_TRUE(read == 1 && written == 1 && completed == 1);
  }
}

TEST(SplitCopies, OfAnyNumberOfLegsMoveAllBytes) {
  constexpr std::int32_t kLegs = static_cast<std::int32_t>(kMaximumLegs) + 100;
  for (const bool to_device : {true, false}) {
    Bench bench(tiny());
    CopyRequest request;
    request.to_device = to_device;
    int effects = 0, completions = 0;
    for (std::int32_t n = 0; n < kLegs; ++n) {
      request.legs.push_back(leg(at(0, 0, n % 2), static_cast<std::uint64_t>(n) * 64, 64));
    }
    request.effect = [&] { ++effects; };
    request.completed = [&] { ++completions; };
    bench.machine.copy(std::move(request));
    bench.scheduler.run();
    EXPECT_EQ(effects, 1);
    EXPECT_EQ(completions, 1);
    std::int64_t in_memory = 0;
    for (const auto& [name, bytes] : bytes_by_resource(bench))
      if (name.find(".hbm.channel") != std::string::npos) in_memory += bytes;
    EXPECT_EQ(in_memory, 64 * kLegs);
  }
  Bench bench(system_of(2, topology::SystemTopology::ring_1d));
  std::vector<PeerLeg> legs;
  for (std::int32_t n = 0; n < kLegs; ++n) {
    const auto address = static_cast<std::uint64_t>(n) * 64;
    legs.push_back(peer_leg(at(0, 0, n % 2), address, at(1, 1, n % 2), address, 64));
  }
  const PeerTimes times = run(bench, legs);
  EXPECT_LT(times.read, times.written);
  EXPECT_LT(times.written, times.completed);
  EXPECT_EQ(bytes_by_resource(bench).at("sip0.io.to_sip1"), 64 * kLegs);
}

}  // namespace
}  // namespace kernbench::hardware
