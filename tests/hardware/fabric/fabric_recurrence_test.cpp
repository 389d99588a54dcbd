// The state of a coalesced transfer in the middle of its way.
#include <gtest/gtest.h>

#include <utility>

#include "fabric_scenario.h"
#include "hardware/fabric/recurrence.h"

namespace kernbench::hardware::testing {
namespace {

using fabric::Recurrence;
using fabric::WaitingBurst;

/// The first transfer of a scenario, alone and from idle servers on. The recurrence goes on referring to its request.
void run(Recurrence& recurrence, const Scenario& scenario, const TransferRequest& request, Time until) {
  recurrence.reset(request);
  for (std::size_t stage = 0; stage < request.route.size(); ++stage) {
    const Stage& at = request.route[stage];
    recurrence.load_idle(stage, std::span(scenario.servers).subspan(at.server.value, at.group));
  }
  recurrence.run(scenario.transfers[0].start, until);
}

/// The same with all that it refers to.
struct LoneRun {
  LoneRun(Scenario of, Time until) : scenario(std::move(of)) { run(recurrence, scenario, request, until); }
  LoneRun(const LoneRun&) = delete;
  LoneRun& operator=(const LoneRun&) = delete;

  const Scenario scenario;
  const TransferRequest request = scenario.transfers[0].request.view();
  Recurrence recurrence;
};

std::vector<std::int64_t> returning(const fabric::Lane& lane) {
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < lane.room.returning().size(); ++i) times.push_back(lane.room.returning()[i].home.count());
  return times;
}

/// A (10 ps a burst, room for 3, latency 5) before B (40 ps a burst): A serves at 0, 10, 20, 50, 90; B at 5, 45, 85,
/// 125.
Scenario two_servers() {
  Scenario scenario;
  scenario.add(server_spec(per_byte(1), ps(5), 30));
  scenario.add(server_spec(per_byte(4), ps(5)));
  scenario.send({stage(0), stage(1)}, 60, 10);
  return scenario;
}

TEST(FabricStateAt, KnowsWhoWaitsAndWhichCreditsAreUnderWay) {
  const LoneRun lone(two_servers(), ps(46));
  const Recurrence& recurrence = lone.recurrence;
  EXPECT_EQ(recurrence.started_first(), 30);
  EXPECT_EQ(recurrence.started_last(), 20);
  ASSERT_EQ(recurrence.waiting().size(), 1u);
  const WaitingBurst& waiting = recurrence.waiting()[0];
  EXPECT_EQ(waiting.bytes, 10);
  EXPECT_EQ(waiting.stage, 1u);
  EXPECT_EQ(waiting.ready, ps(25));
  EXPECT_EQ(waiting.complete, ps(35));
  EXPECT_EQ(recurrence.lane(0).free_at, ps(30));
  EXPECT_EQ(recurrence.lane(1).free_at, ps(85));
  EXPECT_EQ(recurrence.lane(0).room.free(), 0);
  EXPECT_EQ(returning(recurrence.lane(0)), (std::vector<std::int64_t>{50, 90}));
  EXPECT_EQ(recurrence.lane(0).work, (ServerCounters{ps(30), Bytes(30), 3}));
}

TEST(FabricStateAt, LeavesWhatStartsAtThatTimeToTheArbiters) {
  const LoneRun some(two_servers(), ps(45));
  const Recurrence& recurrence = some.recurrence;
  EXPECT_EQ(recurrence.started_last(), 10);
  ASSERT_EQ(recurrence.waiting().size(), 2u);
  EXPECT_EQ(recurrence.waiting()[0].ready, ps(15));
  EXPECT_EQ(recurrence.waiting()[1].ready, ps(25));
  const LoneRun none(two_servers(), ps(0));
  EXPECT_EQ(none.recurrence.started_first(), 0);
  EXPECT_TRUE(none.recurrence.waiting().empty());
}

TEST(FabricStateAt, BurstsAheadOfTheirPredecessorWaitInTheResponseBuffer) {
  Scenario scenario;
  scenario.add(server_spec(per_byte(10), ps(5), 40));  // granules 0, 3: 100 ps each
  scenario.add(server_spec(per_byte(1), ps(5), 40));   // granules 1, 2: 10 ps each
  scenario.add(server_spec(per_byte(1), ps(5)));
  scenario.send({stage(0, 2), stage(2)}, 40, 10);
  const LoneRun lone(std::move(scenario), ps(22));
  const Recurrence& recurrence = lone.recurrence;
  // The memory takes 0 and 1 at once; 2 and 3 when the second channel is idle.
  EXPECT_EQ(recurrence.started_first(), 40);
  EXPECT_EQ(recurrence.channels(0)[0].work.bursts, 2u);
  EXPECT_EQ(recurrence.channels(0)[0].free_at, ps(200));
  EXPECT_EQ(recurrence.channels(0)[1].work.bursts, 2u);
  EXPECT_EQ(recurrence.started_last(), 20);
  ASSERT_EQ(recurrence.waiting().size(), 2u);
  EXPECT_EQ(recurrence.waiting()[0].ready, ps(10 + 5));
  EXPECT_EQ(recurrence.waiting()[1].ready, ps(100 + 5));
}

TEST(FabricStateAt, GrowsIntoTheWholeTransfer) {
  std::mt19937_64 random(31);
  for (int round = 0; round < 200; ++round) {
    const Scenario scenario = random_scenario(random, 1);
    const TransferRequest request = scenario.transfers[0].request.view();
    Recurrence whole;
    run(whole, scenario, request, Time::max());
    EXPECT_TRUE(whole.waiting().empty());
    EXPECT_EQ(whole.started_first(), whole.started_last());
    Recurrence part;
    std::int64_t before = 0;
    for (Time at = ps(0); at <= whole.delivered(); at += ps(7)) {
      run(part, scenario, request, at);
      std::int64_t waiting = 0;
      for (const WaitingBurst& burst : part.waiting()) waiting += burst.bytes;
      EXPECT_EQ(part.started_first(), part.started_last() + waiting);
      EXPECT_GE(part.started_first(), before);
      before = part.started_first();
    }
    run(part, scenario, request, whole.delivered());
    EXPECT_EQ(part.delivered(), whole.delivered());
    EXPECT_EQ(part.departed(), whole.departed());
  }
}

}  // namespace
}  // namespace kernbench::hardware::testing
