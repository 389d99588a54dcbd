// Sharing: conservation, fairness, queues and buffers, by worked examples.
#include <gtest/gtest.h>

#include <algorithm>

#include "fabric_scenario.h"

namespace kernbench::hardware::testing {
namespace {

/// Both modes, which must agree.
Outcome outcome_of(const Scenario& scenario, std::vector<Time> sample_at = {}) {
  const Outcome exact = simulate(scenario, {.exact = true, .sample_at = sample_at});
  const Outcome coalesced = simulate(scenario, {.exact = false, .sample_at = sample_at});
  EXPECT_EQ(exact.times, coalesced.times);
  EXPECT_EQ(exact.counters, coalesced.counters);
  EXPECT_EQ(exact.samples, coalesced.samples);
  EXPECT_TRUE(exact.idle && coalesced.idle);
  EXPECT_EQ(exact.in_flight + coalesced.in_flight, 0u);
  return coalesced;
}

TEST(FabricContention, FlowsOverOneServerTakeTurnsBurstByBurst) {
  for (const std::int64_t flows : {2, 3, 7, 16}) {
    Scenario scenario;
    scenario.add(server_spec(per_byte(1), ps(50)));
    for (std::int64_t i = 0; i < flows; ++i) scenario.send({stage(0)}, 20 * 10, 10);
    const Outcome outcome = outcome_of(scenario);
    for (std::int64_t i = 0; i < flows; ++i) {
      EXPECT_EQ(outcome.times[static_cast<std::size_t>(i)].delivered, ps((19 * flows + i + 1) * 10 + 50));
    }
    EXPECT_EQ(outcome.counters[0],
              (ServerCounters{ps(flows * 200), Bytes(flows * 200), static_cast<std::uint64_t>(flows * 20)}));
  }
}

TEST(FabricContention, FlowsOfUnequalLengthFinishAsRoundRobinSays) {
  std::mt19937_64 random(21);
  for (int round = 0; round < 100; ++round) {
    Scenario scenario;
    scenario.add(server_spec(per_byte(1), ps(50)));
    std::vector<std::int64_t> bursts;
    for (std::int64_t i = pick(random, 2, 9); i > 0; --i) {
      bursts.push_back(pick(random, 1, 30));
      scenario.send({stage(0)}, bursts.back() * 10, 10);
    }
    const Outcome outcome = outcome_of(scenario);
    std::int64_t total = 0;
    for (std::size_t i = 0; i < bursts.size(); ++i) {
      std::int64_t served = 0;  // by the end of flow i's last turn
      for (std::size_t j = 0; j < bursts.size(); ++j) served += std::min(bursts[j], j <= i ? bursts[i] : bursts[i] - 1);
      EXPECT_EQ(outcome.times[i].delivered, ps(served * 10 + 50));
      total += bursts[i];
    }
    Time makespan;
    for (const TransferTimes& times : outcome.times) makespan = std::max(makespan, times.delivered);
    EXPECT_EQ(makespan, ps(total * 10 + 50));
  }
}

TEST(FabricContention, SourcesIntoOneSinkShareItsBandwidthExactly) {
  const std::int64_t sources = 8;
  const std::int64_t bursts = 40;
  Scenario scenario;
  for (std::int64_t i = 0; i < sources; ++i) scenario.add(server_spec(per_byte(1), ps(20), 80));
  const std::uint32_t sink = scenario.add(server_spec(per_byte(1), ps(30)));
  for (std::uint32_t i = 0; i < sources; ++i) scenario.send({stage(i), stage(sink)}, bursts * 10, 10);
  std::vector<Time> sample_at;
  for (std::int64_t time = 0; time < 3300; time += 7) sample_at.push_back(ps(time));
  const Outcome outcome = outcome_of(scenario, sample_at);
  // The first head is there after 20 ps; from then on the sink is never idle.
  for (std::int64_t i = 0; i < sources; ++i) {
    EXPECT_EQ(outcome.times[static_cast<std::size_t>(i)].delivered,
              ps(20 + ((bursts - 1) * sources + i + 1) * 10 + 30));
  }
  for (std::size_t s = 0; s < sample_at.size(); ++s) {
    const ServerCounters& counters = outcome.samples[s][sink];
    const Time expected = std::clamp(sample_at[s] - ps(20), ps(0), ps(sources * bursts * 10));
    EXPECT_EQ(counters.busy, expected);
    EXPECT_LE(counters.bytes.count(), expected.count() + 10);
    // Each source is ahead of the sink by no more than its buffer.
    for (std::uint32_t i = 0; i < sources; ++i) {
      EXPECT_LE(static_cast<std::int64_t>(outcome.samples[s][i].bursts * sources),
                static_cast<std::int64_t>(counters.bursts) + (8 + 1) * sources);
    }
  }
}

TEST(FabricContention, BytesAreConservedAndNoServerIsBusyLongerThanTimePasses) {
  std::mt19937_64 random(22);
  for (int round = 0; round < 300; ++round) {
    const Scenario scenario = random_scenario(random, 1 + random() % 10);
    const std::vector<Time> sample_at = {ps(10), ps(40), ps(90), ps(200), ps(100'000)};
    const Outcome outcome = outcome_of(scenario, sample_at);
    Bytes expected;
    for (const PlannedTransfer& planned : scenario.transfers) {
      Bytes total;
      for (const StridedRange& range : planned.request.ranges) total += range.total();
      expected += total * static_cast<std::int64_t>(planned.request.route.size());
    }
    Bytes moved;
    for (const ServerCounters& counters : outcome.counters) moved += counters.bytes;
    EXPECT_EQ(moved, expected);
    for (std::size_t s = 0; s < sample_at.size(); ++s) {
      for (const ServerCounters& counters : outcome.samples[s]) EXPECT_LE(counters.busy, sample_at[s]);
    }
  }
}

/// Three lanes, and a link from elsewhere, lead to one server: the lanes have every other turn, one after the other,
/// and all of them those that the link leaves.
TEST(FabricContention, LanesToOneServerHaveOneTurnTogether) {
  Scenario scenario;
  for (int i = 0; i < 4; ++i) scenario.add(server_spec(per_byte(1), ps(20), 80));
  for (std::size_t lane = 0; lane < 3; ++lane) scenario.servers[lane].lane = true;
  const std::uint32_t sink = scenario.add(server_spec(per_byte(1), ps(30)));
  const std::int64_t bursts = 12;
  for (std::uint32_t i = 0; i < 4; ++i) scenario.send({stage(i), stage(sink)}, bursts * 10, 10);
  const Outcome outcome = outcome_of(scenario);
  // Heads are there after 20 ps. Turns: link, lane 0, link, lane 1, link, lane 2, link, lane 0, …
  const auto end_of_turn = [](std::int64_t turn) { return ps(20 + turn * 10 + 30); };
  EXPECT_EQ(outcome.times[3].delivered, end_of_turn(2 * bursts - 1));
  for (std::int64_t lane = 0; lane < 3; ++lane) {
    EXPECT_EQ(outcome.times[static_cast<std::size_t>(lane)].delivered, end_of_turn(4 * bursts - 2 + lane));
  }
}

/// A feeds a slow server B and a fast server C through one queue.
Scenario queue_with_two_ways(std::uint8_t second_channel) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5), 40));   // A: 10 ps a burst
  scenario.add(server_spec(per_byte(10), ps(5), 40));  // B: 100 ps
  scenario.add(server_spec(per_byte(1), ps(5), 40));   // C: 10 ps
  scenario.send({stage(0), stage(1)}, 20, 10);
  scenario.send({stage(0, 1, {VirtualNetwork::request, second_channel}), stage(2)}, 20, 10);
  return scenario;
}

TEST(FabricContention, TheHeadOfAQueueBlocksTheBurstsBehindIt) {
  // A serves 1.0 at 0, 2.0 at 10, 1.1 at 20, 2.1 at 30. B serves 1.0 from 5 to 105. C serves 2.0 from 15 to 25.
  // Then 1.1 is the head and waits for B until 105; only then is 2.1 the head: C serves it from 105 to 115.
  const Outcome blocked = outcome_of(queue_with_two_ways(0));
  EXPECT_EQ(blocked.times[0], (TransferTimes{ps(35), ps(210)}));
  EXPECT_EQ(blocked.times[1], (TransferTimes{ps(45), ps(120)}));
  // In a queue of its own, 2.1 is served by C from 35 to 45.
  const Outcome free = outcome_of(queue_with_two_ways(1));
  EXPECT_EQ(free.times[0], (TransferTimes{ps(35), ps(210)}));
  EXPECT_EQ(free.times[1], (TransferTimes{ps(45), ps(50)}));
}

/// Ranges of one granule of 10 bytes each.
std::vector<StridedRange> granules(const std::vector<std::uint64_t>& indices) {
  std::vector<StridedRange> ranges;
  for (const std::uint64_t index : indices) ranges.push_back({index * 10, 1, Bytes(10), 0});
  return ranges;
}

/// A feeds two channels, whose granules have an even (0, 3, 5, 6) and an odd number of ones (1, 2), and a server C.
Scenario channels_behind_a_server(std::int64_t buffer) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5), buffer));                       // A: 10 ps a burst
  for (int i = 0; i < 2; ++i) scenario.add(server_spec(per_byte(10), ps(5)));  // 100 ps
  scenario.add(server_spec(per_byte(1), ps(5)));                               // C: 10 ps
  return scenario;
}

TEST(FabricContention, AWriteThatWaitsForOneChannelDoesNotHoldThoseToAnother) {
  // A serves 1.0, 1.1 and 1.2 at 0, 10 and 20, 2.0 and 2.1 at 30 and 40. The first channel serves the first transfer
  // from 5 to 305, the other one has the second at 35, and serves it from then to 235.
  Scenario scenario = channels_behind_a_server(80);
  scenario.send({stage(0), stage(1, 2)}, 30, 10);
  scenario.send({stage(0), stage(1, 2)}, 20, 10, ps(25));
  scenario.transfers[0].request.ranges = granules({0, 3, 5});
  scenario.transfers[1].request.ranges = granules({1, 2});
  const Outcome outcome = outcome_of(scenario);
  EXPECT_EQ(outcome.times[0], (TransferTimes{ps(35), ps(310)}));
  EXPECT_EQ(outcome.times[1], (TransferTimes{ps(55), ps(240)}));
}

TEST(FabricContention, WritesThatWaitForTheirChannelTakeNoRoomFromWhatGoesElsewhere) {
  // The four slots of the write buffer are taken at 30; the burst for C goes at 40, and C serves it from 45 to 55.
  Scenario scenario = channels_behind_a_server(40);
  scenario.send({stage(0), stage(1, 2)}, 40, 10);
  scenario.send({stage(0), stage(3)}, 10, 10, ps(35));
  scenario.transfers[0].request.ranges = granules({0, 3, 5, 6});
  const Outcome outcome = outcome_of(scenario);
  EXPECT_EQ(outcome.times[0], (TransferTimes{ps(45), ps(410)}));
  EXPECT_EQ(outcome.times[1], (TransferTimes{ps(55), ps(60)}));
}

TEST(FabricContention, AFullWriteBufferHoldsTheServerBeforeIt) {
  // As above with two slots, the third write bound for the other channel: the first room is home at 105 + 5, when A
  // serves it; the second one at 205 + 5.
  Scenario scenario = channels_behind_a_server(20);
  scenario.send({stage(0), stage(1, 2)}, 30, 10);
  scenario.transfers[0].request.ranges = granules({0, 3, 1});
  EXPECT_EQ(outcome_of(scenario).times[0], (TransferTimes{ps(125), ps(220)}));
}

TEST(FabricContention, AFullBufferHoldsTheServerBeforeIt) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5), 20));  // A: 10 ps a burst, room for 2
  scenario.add(server_spec(per_byte(10), ps(5)));     // B: 100 ps
  scenario.add(server_spec(per_byte(1), ps(5)));      // C: 10 ps
  scenario.send({stage(0), stage(1)}, 40, 10);
  // A serves at 0 and 10; the first room is home at 105 + 5, the second at 205 + 5. B serves from 5 to 405.
  EXPECT_EQ(outcome_of(scenario).times[0], (TransferTimes{ps(225), ps(410)}));
  // A newcomer at 20 waits for the room at 110 and is next in turn; C has its burst at 115. Its room is home at
  // 130, when A serves 1.2, still in time for B.
  scenario.send({stage(0), stage(2)}, 10, 10, ps(20));
  const Outcome outcome = outcome_of(scenario);
  EXPECT_EQ(outcome.times[0], (TransferTimes{ps(225), ps(410)}));
  EXPECT_EQ(outcome.times[1], (TransferTimes{ps(125), ps(130)}));
}

TEST(FabricContention, CreditsUnderWayAtADeliveryHoldTheNextTransfer) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(100), 10));
  scenario.add(server_spec(per_byte(1), ps(1)));
  scenario.send({stage(0), stage(1)}, 10, 10);
  scenario.send({stage(0), stage(1)}, 10, 10);
  scenario.transfers[1].after = 0;
  scenario.transfers[1].start = ps(1);
  // Delivered at 100 + 10 + 1 = 111; the room is home at 210, so the second starts at 210, not at 112.
  const Outcome outcome = outcome_of(scenario);
  EXPECT_EQ(outcome.times[0].delivered, ps(111));
  EXPECT_EQ(outcome.times[1].delivered, ps(210 + 111));
}

TEST(FabricContention, ATransferWithoutBytesIsDeliveredAtOnce) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5)));
  scenario.send({stage(0)}, 0, 10, ps(30));
  scenario.send({stage(0)}, 10, 10, ps(30));
  const Outcome outcome = outcome_of(scenario);
  EXPECT_EQ(outcome.times[0], (TransferTimes{ps(30), ps(30)}));
  EXPECT_EQ(outcome.times[1], (TransferTimes{ps(45), ps(45)}));
}

/// Two transfers that each begin on the channel that the other goes on with. A response buffer shared by both could be
/// filled by bursts that wait for each other's predecessors; each transfer has its own.
TEST(FabricContention, ResponseBuffersOfTransfersCannotBlockEachOther) {
  Scenario scenario;
  for (int i = 0; i < 2; ++i) scenario.add(server_spec(per_byte(1), ps(10), 10));
  scenario.add(server_spec(per_byte(1), ps(10)));
  scenario.add(server_spec(per_byte(3), ps(10)));
  for (int i = 0; i < 6; ++i) {
    const std::size_t transfer =
        scenario.send({stage(0, 2), stage(2 + static_cast<std::uint32_t>(i % 2))}, 10, 10, ps(i * 3));
    // Granules 0, 3, 5 belong to channel 0, granules 1, 2, 4 to channel 1.
    const auto range = [](std::uint64_t granule) { return StridedRange{granule * 10, 1, Bytes(10), 0}; };
    auto& ranges = scenario.transfers[transfer].request.ranges;
    if (i % 2 == 0) {
      ranges = {range(0), range(1), range(2), range(4)};
    } else {
      ranges = {range(1), range(0), range(3), range(5)};
    }
  }
  EXPECT_EQ(outcome_of(scenario).in_flight, 0u);
}

/// For how long a server stood idle for want of room while one transfer passed.
Time starved(const Outcome& outcome, std::size_t transfer, std::size_t stage) {
  return outcome.logs[transfer].hops[stage].starved;
}

TEST(FabricContention, ABufferThatIsTooSmallForItsLinkStarvesTheLinkForTheRestOfEachRoundTrip) {
  // Service 10, latency 100 there and 100 back: room is away for 210 ps, in which room for 3 moves 30 ps' worth.
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(100), 30));
  scenario.add(server_spec(per_byte(1), ps(1), 30));
  scenario.send({stage(0), stage(1)}, 30 * 10, 10);
  const Outcome outcome = outcome_of(scenario);
  EXPECT_EQ(starved(outcome, 0, 0), ps(9 * (210 - 30)));
  EXPECT_EQ(starved(outcome, 0, 1), ps(0));
  // All that the transfer takes beyond what it takes with enough room.
  EXPECT_EQ(outcome.times[0].delivered, ps(101 + 30 * 10) + starved(outcome, 0, 0));
  EXPECT_EQ(outcome.logs[0].hops[0].start, ps(9 * 210 + 2 * 10)) << "of the last burst";
}

// The link of the test before, with a source that two transfers share: the second one, a single burst, waits behind
// bursts of the first at the source and in the buffer before the link.
TEST(FabricContention, WhatQueuesUpBeforeAStarvedLinkIsHeldUpByItsBuffer) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(1), 60));
  scenario.add(server_spec(per_byte(1), ps(100), 30));
  scenario.add(server_spec(per_byte(1), ps(1), 30));
  scenario.send({stage(0), stage(1), stage(2)}, 60 * 10, 10);
  const Time begin = ps(1500);
  const std::size_t late = scenario.send({stage(0), stage(1), stage(2)}, 10, 10, begin);
  const Outcome outcome = outcome_of(scenario);
  const Time alone = ps(1 + 100 + 1 + 10), taken = outcome.times[late].delivered - begin;
  EXPECT_GT(taken, ps(300) + alone) << "about two round trips of 210 ps";
  EXPECT_LE(starved(outcome, late, 1), taken - alone);
  EXPECT_GE(starved(outcome, late, 1), ps((taken - alone).count() * 3 / 4));
  EXPECT_EQ(starved(outcome, late, 0), ps(0));
}

// Here the second one comes over a slow server of its own: the link is starved meanwhile, but holds up others.
TEST(FabricContention, AStarvedLinkHoldsUpNobodyWhoHasYetToCome) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(1), 60));
  scenario.add(server_spec(per_byte(1), ps(100), 30));
  scenario.add(server_spec(per_byte(1), ps(1), 30));
  scenario.add(server_spec(per_byte(40), ps(1), 60));
  scenario.add(server_spec(per_byte(1), ps(1), 60));
  scenario.send({stage(0), stage(1), stage(2)}, 60 * 10, 10);
  const std::size_t before = scenario.send({stage(3), stage(4)}, 20, 10, ps(1400));
  const std::size_t late = scenario.send({stage(3), stage(1), stage(2)}, 10, 10, ps(1401));
  const Outcome outcome = outcome_of(scenario);
  EXPECT_GT(outcome.logs[late].hops[0].start, ps(1700)) << "behind " << before;
  EXPECT_GT(outcome.logs[late].hops[1].start, outcome.logs[late].hops[0].start + ps(1)) << "it waits for room, too";
  EXPECT_LE(starved(outcome, late, 1), outcome.logs[late].hops[1].start - outcome.logs[late].hops[0].start);
}

TEST(FabricContention, WaitingForRoomBehindASlowerServerIsNoWantOfCredits) {
  // The second server is ten times slower: the buffer in front of it is full all the time, and larger would be no
  // faster.
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5), 40));
  scenario.add(server_spec(per_byte(10), ps(5), 40));
  scenario.send({stage(0), stage(1)}, 50 * 10, 10);
  const Outcome outcome = outcome_of(scenario);
  EXPECT_LE(starved(outcome, 0, 0), ps(100)) << "only behind the first burst, which had not waited";
}

TEST(FabricContention, WaitingForRoomThatAnotherFlowTakesIsNoWantOfCredits) {
  // Two flows meet on the second server; its buffers are large enough for each alone.
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5), 30));
  scenario.add(server_spec(per_byte(1), ps(5), 30));
  scenario.add(server_spec(per_byte(1), ps(5), 30));
  scenario.send({stage(0), stage(2)}, 50 * 10, 10);
  scenario.send({stage(1), stage(2)}, 50 * 10, 10);
  const Outcome outcome = outcome_of(scenario);
  EXPECT_GT(outcome.times[1].delivered, ps(2 * 50 * 10));
  for (const std::size_t transfer : {0u, 1u}) EXPECT_EQ(starved(outcome, transfer, 0), ps(0));
}

}  // namespace
}  // namespace kernbench::hardware::testing
