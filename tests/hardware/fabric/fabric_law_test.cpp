// The closed forms of the law, to the picosecond, for uncontended() and for both modes of the simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "fabric_scenario.h"
#include "hardware/fabric/bursts.h"
#include "sim/errors.h"

namespace kernbench::hardware::testing {
namespace {

/// The times of the only transfer of a scenario, by all three ways.
TransferTimes times_of(const Scenario& scenario) {
  const PlannedTransfer& planned = scenario.transfers.at(0);
  const TransferTimes law = uncontended(scenario.servers, planned.request.view(), planned.start);
  EXPECT_EQ(simulate(scenario, {.exact = true}).times[0], law);
  EXPECT_EQ(simulate(scenario).times[0], law);
  return law;
}

/// A row of servers with `service[i]` picoseconds per byte.
Scenario pipeline(const std::vector<std::int64_t>& service, Time latency, std::int64_t buffer) {
  Scenario scenario;
  for (const std::int64_t time : service) scenario.add(server_spec(per_byte(time), latency, buffer));
  return scenario;
}

std::vector<Stage> straight_route(std::size_t length) {
  std::vector<Stage> route;
  for (std::uint32_t i = 0; i < length; ++i) route.push_back(stage(i));
  return route;
}

TEST(FabricLaw, OneBurstOnOneServer) {
  Scenario scenario = pipeline({2}, ps(70), 100);
  scenario.send({stage(0)}, 100, 1024, ps(1000));
  const TransferTimes times = times_of(scenario);
  EXPECT_EQ(times.delivered, ps(1000 + 200 + 70));
  EXPECT_EQ(times.departed, times.delivered);
}

TEST(FabricLaw, ServiceTimeRoundsUp) {
  Scenario scenario;
  scenario.add(server_spec(Bandwidth::gigabytes_per_second(3), ps(5)));
  scenario.send({stage(0)}, 1, 1024);
  EXPECT_EQ(times_of(scenario).delivered, ps(334 + 5));
}

TEST(FabricLaw, OneBurstTakesTheLatenciesAndTheSlowestService) {
  for (const std::vector<std::int64_t>& service :
       std::vector<std::vector<std::int64_t>>{{5, 1, 5}, {1, 5, 1}, {5, 2, 1}, {1, 2, 5}, {5, 1, 5, 1, 5}, {4, 4, 4}}) {
    Scenario scenario = pipeline(service, ps(30), 200);
    scenario.send(straight_route(service.size()), 100, 1024);
    const auto stages = static_cast<std::int64_t>(service.size());
    const TransferTimes times = times_of(scenario);
    EXPECT_EQ(times.delivered, ps(30 * stages + *std::ranges::max_element(service) * 100));
    EXPECT_EQ(times.departed, ps(30 + service[0] * 100));
  }
}

TEST(FabricLaw, ManyBurstsTakeTheBottleneckOncePerBurstWhereverItIs) {
  for (std::size_t bottleneck = 0; bottleneck < 6; ++bottleneck) {
    std::vector<std::int64_t> service = {4, 1, 2, 2, 1, 4};
    service[bottleneck] = 8;
    Scenario scenario = pipeline(service, ps(40), 64 * 64);
    scenario.send(straight_route(service.size()), 50 * 64, 64);
    const TransferTimes times = times_of(scenario);
    EXPECT_EQ(times.delivered, ps(6 * 40 + 50 * 64 * 8)) << bottleneck;
    EXPECT_EQ(times.departed, ps(40 + 50 * 64 * service[0])) << bottleneck;
  }
}

/// Sum of latencies + sum over bursts of the slowest service, whenever one server is slowest for every burst and
/// the buffers less one burst of the slowest server up to the next one cover the round trip of 2 latencies.
TEST(FabricLaw, HoldsForMixedSizesWhenOneServerIsSlowestAndRoomCoverTheRoundTrip) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    Scenario scenario;
    const std::int64_t stages = pick(random, 1, 8);
    for (std::int64_t i = 0; i < stages; ++i) {
      scenario.add(server_spec(per_byte(pick(random, 1, 20)), ps(pick(random, 1, 900)), 64'000));
    }
    const std::size_t transfer = scenario.send(straight_route(static_cast<std::size_t>(stages)), 1, 64);
    PlannedRequest& request = scenario.transfers[transfer].request;
    request.ranges = {
        {static_cast<std::uint64_t>(pick(random, 0, 99)), pick(random, 1, 9), Bytes(pick(random, 1, 300)), 333}};
    Time expected;
    for (const ServerSpec& spec : scenario.servers) expected += spec.latency;
    fabric::BurstCursor cursor(request.view());
    while (const std::int64_t bytes = cursor.next()) {
      Time slowest;
      for (const ServerSpec& spec : scenario.servers)
        slowest = std::max(slowest, transfer_time(Bytes(bytes), spec.bandwidth));
      expected += slowest;
    }
    EXPECT_EQ(times_of(scenario).delivered, expected);
  }
}

TEST(FabricLaw, JustEnoughRoomAreEnoughForUniformBursts) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 500; ++round) {
    Scenario scenario;
    const std::int64_t stages = pick(random, 1, 8);
    std::int64_t slowest = 0;
    std::int64_t latencies = 0;
    std::vector<std::int64_t> services;
    for (std::int64_t i = 0; i < stages; ++i) services.push_back(std::int64_t{1} << pick(random, 0, 3));
    for (std::size_t i = 0; i < services.size(); ++i) {
      slowest = std::max(slowest, services[i]);
      const std::int64_t next_slowest = i + 1 < services.size() ? std::max(slowest, services[i + 1]) : slowest;
      const std::int64_t latency = pick(random, 1, 200);
      const std::int64_t service = next_slowest * 8;  // bursts of 8 bytes
      const std::int64_t bursts = 1 + (2 * latency + service - 1) / service;
      scenario.add(server_spec(per_byte(services[i]), ps(latency), bursts * 8));
      latencies += latency;
    }
    const std::int64_t bursts = pick(random, 1, 60);
    scenario.send(straight_route(services.size()), bursts * 8, 8);
    EXPECT_EQ(times_of(scenario).delivered, ps(latencies + bursts * slowest * 8));
  }
}

/// Bursts of mixed sizes with an alternating bottleneck: the law is a maximum over paths, with these bounds.
TEST(FabricLaw, IsBoundedByTheSlowestServerAndTheSlowestServices) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 500; ++round) {
    Scenario scenario;
    std::vector<Time> by_server;
    for (std::int64_t i = pick(random, 1, 6); i > 0; --i) {
      scenario.add(
          server_spec(per_byte(pick(random, 1, 9)), ps(pick(random, 1, 50)), 64'000, Bytes(pick(random, 1, 64))));
    }
    scenario.send(straight_route(scenario.servers.size()), 1, 64);
    PlannedRequest& request = scenario.transfers[0].request;
    request.ranges = {{7, pick(random, 1, 9), Bytes(pick(random, 1, 300)), 333}};
    Time latencies;
    Time upper;
    by_server.resize(scenario.servers.size());
    for (const ServerSpec& spec : scenario.servers) latencies += spec.latency;
    fabric::BurstCursor cursor(request.view());
    std::vector<Bytes> accesses;
    const auto look = [&](const fabric::Accesses& of) {
      for (std::int64_t i = 0; i < of.count; ++i) accesses.emplace_back(of.bytes);
    };
    for (; const std::int64_t bytes = cursor.next(look); accesses.clear()) {
      Time slowest;
      for (std::size_t i = 0; i < by_server.size(); ++i) {
        const ServerSpec& spec = scenario.servers[i];
        Bytes occupied = std::max(Bytes(bytes), spec.minimum);  // in the middle of the route a burst is one access
        if (i == 0 || i + 1 == by_server.size()) {
          occupied = Bytes(0);
          for (const Bytes access : accesses) occupied += std::max(access, spec.minimum);
        }
        const Time service = transfer_time(occupied, spec.bandwidth);
        by_server[i] += service;
        slowest = std::max(slowest, service);
      }
      upper += slowest;
    }
    const Time delivered = times_of(scenario).delivered;
    EXPECT_GE(delivered, latencies + *std::ranges::max_element(by_server));
    EXPECT_LE(delivered, latencies + upper);
  }
}

TEST(FabricLaw, TooFewRoomLimitTheRateToRoomPerRoundTrip) {
  // Service 10, latency 100 there and 100 back: room is away for 210 ps, so that room for 3 moves 3 bursts in 210 ps.
  Scenario scenario = pipeline({1, 1}, ps(100), 30);
  const std::int64_t bursts = 20;
  scenario.send(straight_route(2), bursts * 10, 10);
  const std::int64_t last_start = (bursts - 1) / 3 * 210 + (bursts - 1) % 3 * 10;
  const TransferTimes times = times_of(scenario);
  EXPECT_EQ(times.departed, ps(last_start + 10 + 100));
  EXPECT_EQ(times.delivered, ps(last_start + 100 + 10 + 100));
}

TEST(FabricLaw, ShortRowsOfABurstCostTheMinimumAccessEach) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(10), 1024, Bytes(64)));
  scenario.send({stage(0)}, 1, 1024);
  scenario.transfers[0].request.ranges = {{0, 5, Bytes(4), 4096}};
  EXPECT_EQ(times_of(scenario).delivered, ps(5 * 64 + 10));
  EXPECT_EQ(simulate(scenario).counters[0], (ServerCounters{ps(5 * 64), Bytes(20), 1}));
}

TEST(FabricLaw, ALatencyOfZeroCountsAsOnePicosecond) {
  Scenario scenario = pipeline({1, 1}, ps(0), 160);
  scenario.send(straight_route(2), 100, 10);
  EXPECT_EQ(times_of(scenario).delivered, ps(100 + 2));
}

/// Four channels of 40 ps per granule into a port of 10 ps per granule, in bursts of four granules.
Scenario channels_and_port(const StridedRange& range) {
  Scenario scenario;
  for (int i = 0; i < 4; ++i) scenario.add(server_spec(per_byte(4), ps(90), 160));
  scenario.add(server_spec(per_byte(1), ps(5)));
  scenario.send({stage(0, 4), stage(4)}, 1, 10);
  scenario.transfers[0].request.burst = Bytes(40);
  scenario.transfers[0].request.ranges = {range};
  return scenario;
}

TEST(FabricLaw, ChannelsOfAGroupWorkInParallel) {
  const Scenario scenario = channels_and_port({0, 1, Bytes(32 * 10), 0});
  const TransferTimes times = times_of(scenario);
  EXPECT_EQ(times.departed, ps(32 / 4 * 40 + 90));
  EXPECT_EQ(times.delivered, ps(32 / 4 * 40 + 90 + 5));
}

TEST(FabricLaw, StridesOfAPowerOfTwoKeepAllChannelsBusy) {
  for (const std::int64_t stride : {40, 80, 160, 640, 2560}) {
    const Scenario scenario = channels_and_port({0, 16, Bytes(10), stride});
    const std::vector<ServerCounters> counters = simulate(scenario).counters;
    for (int channel = 0; channel < 4; ++channel) EXPECT_EQ(counters[channel].bursts, 4u) << stride;
    EXPECT_EQ(times_of(scenario).departed, ps(16 / 4 * 40 + 90));
  }
}

TEST(FabricLaw, AMemoryTakesTheNextBurstWhenAChannelIsIdleAndEachChannelServesInTurn) {
  // Bursts of one granule: channels 0, 1, 2, 3 and then 1, 2, 3, 0. The first four are taken at once, the others at 40.
  Scenario scenario = channels_and_port({0, 1, Bytes(8 * 10), 0});
  scenario.transfers[0].request.burst = Bytes(10);
  const TransferTimes times = times_of(scenario);
  EXPECT_EQ(times.departed, ps(80 + 90));
  EXPECT_EQ(times.delivered, ps(80 + 90 + 5));
}

TEST(FabricLaw, ABurstHasItsHeadWhenItsFirstAccessBeginsAndItsTailWhenItsLastOneEnds) {
  // The first burst has channel 0 until 40; the second one channels 0 and 1, its first access on channel 0.
  Scenario scenario = channels_and_port({0, 1, Bytes(10), 0});
  scenario.transfers[0].request.burst = Bytes(20);
  scenario.transfers[0].request.ranges = {
      {0, 1, Bytes(10), 0}, {70, 1, Bytes(10), 0}, {100, 1, Bytes(10), 0}, {10, 1, Bytes(10), 0}};
  const TransferTimes times = times_of(scenario);
  // 80 ps of channel 0, then 40 of it and 40 of channel 1, which is idle: taken at once.
  EXPECT_EQ(times.departed, ps(120 + 90));
  EXPECT_EQ(times.delivered, ps(120 + 90 + 5));
  std::vector<ServerCounters> counters = simulate(scenario).counters;
  EXPECT_EQ(counters[0], (ServerCounters{ps(120), Bytes(30), 2}));
  EXPECT_EQ(counters[1], (ServerCounters{ps(40), Bytes(10), 1}));
}

TEST(FabricLaw, AChannelThatIsTooFarBehindHoldsTheMemory) {
  // Three bursts for channel 0, 40 ps each, and one for channel 1; with a queue of 5 bytes, 20 ps, the second burst is
  // taken at 20, the third at 60, the last at 100.
  Scenario scenario = channels_and_port({0, 1, Bytes(10), 0});
  for (ServerSpec& spec : scenario.servers) spec.queue = Bytes(5);
  scenario.transfers[0].request.burst = Bytes(10);
  scenario.transfers[0].request.ranges = {
      {0, 1, Bytes(10), 0}, {70, 1, Bytes(10), 0}, {100, 1, Bytes(10), 0}, {10, 1, Bytes(10), 0}};
  EXPECT_EQ(times_of(scenario).departed, ps(100 + 40 + 90));
}

TEST(FabricLaw, OneChannelAloneIsTheBottleneck) {
  // Granules 0, 7, 10, 13 (digits 0, 13, 22, 31 to base 4) all belong to channel 0.
  Scenario scenario = channels_and_port({0, 1, Bytes(10), 0});
  scenario.transfers[0].request.ranges = {
      {0, 1, Bytes(10), 0}, {70, 1, Bytes(10), 0}, {100, 1, Bytes(10), 0}, {130, 1, Bytes(10), 0}};
  const TransferTimes times = times_of(scenario);
  EXPECT_EQ(times.departed, ps(4 * 40 + 90));
  EXPECT_EQ(times.delivered, ps(4 * 40 + 90 + 5));
}

TEST(FabricLaw, WritesIntoAGroupRunAtTheRateOfTheLinkBefore) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5), 640));
  for (int i = 0; i < 4; ++i) scenario.add(server_spec(per_byte(2), ps(90)));
  scenario.send({stage(0), stage(1, 4)}, 320, 10);
  const TransferTimes times = times_of(scenario);
  EXPECT_EQ(times.departed, ps(32 * 10 + 5));
  EXPECT_EQ(times.delivered, ps(5 + 31 * 10 + 20 + 90));
}

TEST(FabricLaw, WritesThatWaitForOneChannelLetThoseToAnotherPass) {
  // Granules 0 and 3 belong to the first channel, 1 and 2 to the second.
  Scenario scenario = pipeline({1, 10, 10}, ps(5), 160);
  scenario.send({stage(0), stage(1, 2)}, 40, 10);
  scenario.transfers[0].request.ranges = {
      {0, 1, Bytes(10), 0}, {30, 1, Bytes(10), 0}, {10, 1, Bytes(10), 0}, {20, 1, Bytes(10), 0}};
  const TransferTimes times = times_of(scenario);
  EXPECT_EQ(times.departed, ps(40 + 5));
  EXPECT_EQ(times.delivered, ps(20 + 5 + 2 * 100 + 5));
}

TEST(FabricLaw, EqualsTheSimulationOnRandomRoutes) {
  std::mt19937_64 random(14);
  for (int round = 0; round < 1000; ++round) {
    Scenario scenario = random_scenario(random, 1);
    scenario.transfers[0].start = ps(pick(random, 0, 1000));
    for (ServerSpec& spec : scenario.servers) {
      spec.bandwidth = Bandwidth::bytes_per_second(pick(random, 1'000'000'000, 900'000'000'000));
      spec.latency = ps(pick(random, 0, 20'000));
    }
    scenario.transfers[0].request.burst = Bytes(pick(random, 16, 2048));
    scenario.transfers[0].request.granule = Bytes(pick(random, 16, 512));
    PlannedRequest& request = scenario.transfers[0].request;
    request.ranges[0].row_bytes = Bytes(pick(random, 1, 20'000));
    if (!request.landing.empty()) request.landing = landing_of(request.ranges, random);
    times_of(scenario);
  }
}

TEST(FabricLaw, ATransferThatWouldPassTheLatestTimeIsRefused) {
  const auto message = [](const Scenario& scenario, bool exact) -> std::string {
    try {
      simulate(scenario, {.exact = exact});
    } catch (const sim::TimeLimitError& error) {
      return error.what();
    }
    return "";
  };
  for (const bool exact : {false, true}) {
    Scenario alone = pipeline({1, 1'000'000'000'000}, ps(5), 1 << 20);
    alone.send({stage(0), stage(1)}, 4'000'000, 1024);
    EXPECT_EQ(simulate(alone, {.exact = exact}).times[0].delivered, Time::seconds(4'000'000) + ps(10));
    alone.transfers[0].request.ranges[0].row_bytes = Bytes(20'000'000);
    EXPECT_EQ(
        message(alone, exact),
        "simulated time would pass the limit of 4611686.018 s, the latest that can be simulated: moving 19.073 MiB "
        "over server at 1 B/s may take 2e+07 s from 0 ps on");
    Scenario together = pipeline({1'000'000'000'000}, ps(5), 1 << 20);
    for (int i = 0; i < 5; ++i) together.send({stage(0)}, 3'000'000, 1024);
    EXPECT_THAT(message(together, exact),
                ::testing::StartsWith("simulated time would pass the limit of 4611686.018 s"));
  }
  Scenario memory;
  memory.add(server_spec(Bandwidth::bytes_per_second(1), ps(5), 160, Bytes(64)));
  memory.send({stage(0)}, 1, 1024);
  memory.transfers[0].request.ranges = {{0, 100'000, Bytes(1), 4096}};
  EXPECT_THAT(message(memory, false), ::testing::HasSubstr("may take"));
}

}  // namespace
}  // namespace kernbench::hardware::testing
