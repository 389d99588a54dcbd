// The state of a coalesced transfer in the middle of its way.
#include <gtest/gtest.h>

#include "fabric_scenario.h"
#include "hardware/fabric/recurrence.h"

namespace kernbench::hardware::testing {
namespace {

using fabric::Recurrence;
using fabric::WaitingChunk;

void run(Recurrence& recurrence, const Scenario& scenario, Time until) {
  const TransferRequest& request = scenario.transfers[0].request;
  recurrence.reset(request);
  std::size_t lane = 0;
  for (const Stage& at : request.route) {
    for (std::uint32_t member = 0; member < at.group; ++member) {
      recurrence.load_idle(lane++, scenario.servers[at.server.value + member]);
    }
  }
  recurrence.run(scenario.transfers[0].start, until);
}

std::vector<std::int64_t> returning(const fabric::Lane& lane) {
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < lane.credits.returning().size(); ++i)
    times.push_back(lane.credits.returning()[i].home.count());
  return times;
}

/// A (10 ps a chunk, 3 credits, latency 5) before B (40 ps a chunk): A serves at 0, 10, 20, 50, 90; B at 5, 45, 85,
/// 125.
Scenario two_servers() {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5), 3));
  scenario.add(server_spec(per_byte(4), ps(5)));
  scenario.send({stage(0), stage(1)}, 60, 10);
  return scenario;
}

TEST(FabricStateAt, KnowsWhoWaitsAndWhichCreditsAreUnderWay) {
  Recurrence recurrence;
  run(recurrence, two_servers(), ps(46));
  EXPECT_EQ(recurrence.started_first(), 3u);
  EXPECT_EQ(recurrence.started_last(), 2u);
  ASSERT_EQ(recurrence.waiting().size(), 1u);
  const WaitingChunk& waiting = recurrence.waiting()[0];
  EXPECT_EQ(waiting.chunk, 2u);
  EXPECT_EQ(waiting.stage, 1u);
  EXPECT_EQ(waiting.ready, ps(25));
  EXPECT_EQ(waiting.complete, ps(35));
  EXPECT_EQ(recurrence.lane(0).free_at, ps(30));
  EXPECT_EQ(recurrence.lane(1).free_at, ps(85));
  EXPECT_EQ(recurrence.lane(0).credits.home(), 0);
  EXPECT_EQ(returning(recurrence.lane(0)), (std::vector<std::int64_t>{50, 90}));
  EXPECT_EQ(recurrence.lane(0).work, (ServerCounters{ps(30), Bytes(30), 3}));
}

TEST(FabricStateAt, LeavesWhatStartsAtThatTimeToTheArbiters) {
  Recurrence recurrence;
  run(recurrence, two_servers(), ps(45));
  EXPECT_EQ(recurrence.started_last(), 1u);
  ASSERT_EQ(recurrence.waiting().size(), 2u);
  EXPECT_EQ(recurrence.waiting()[0].chunk, 1u);
  EXPECT_EQ(recurrence.waiting()[1].chunk, 2u);
  run(recurrence, two_servers(), ps(0));
  EXPECT_EQ(recurrence.started_first(), 0u);
  EXPECT_TRUE(recurrence.waiting().empty());
}

TEST(FabricStateAt, ChunksAheadOfTheirPredecessorWaitInTheResponseBuffer) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(10), ps(5), 4));  // granules 0, 3: 100 ps each
  scenario.add(server_spec(per_byte(1), ps(5), 4));   // granules 1, 2: 10 ps each
  scenario.add(server_spec(per_byte(1), ps(5)));
  scenario.send({stage(0, 2), stage(2)}, 40, 10);
  Recurrence recurrence;
  run(recurrence, scenario, ps(20));  // 0 is at the port since 5; 1 and 2 follow at 15 and 25; 3 is behind 0
  EXPECT_EQ(recurrence.started_first(), 3u);
  EXPECT_EQ(recurrence.lane(0).work.chunks, 1u);
  EXPECT_EQ(recurrence.lane(1).work.chunks, 2u);
  EXPECT_EQ(recurrence.started_last(), 2u);
  ASSERT_EQ(recurrence.waiting().size(), 1u);
  EXPECT_EQ(recurrence.waiting()[0].chunk, 2u);
}

TEST(FabricStateAt, GrowsIntoTheWholeTransfer) {
  std::mt19937_64 random(31);
  for (int round = 0; round < 200; ++round) {
    const Scenario scenario = random_scenario(random, 1);
    Recurrence whole;
    run(whole, scenario, Time::max());
    EXPECT_TRUE(whole.waiting().empty());
    EXPECT_EQ(whole.started_first(), whole.started_last());
    Recurrence part;
    std::uint32_t before = 0;
    for (Time at = ps(0); at <= whole.delivered(); at += ps(7)) {
      run(part, scenario, at);
      EXPECT_EQ(part.started_first(), part.started_last() + part.waiting().size());
      EXPECT_GE(part.started_first(), before);
      before = part.started_first();
    }
    run(part, scenario, whole.delivered());
    EXPECT_EQ(part.delivered(), whole.delivered());
    EXPECT_EQ(part.departed(), whole.departed());
  }
}

}  // namespace
}  // namespace kernbench::hardware::testing
