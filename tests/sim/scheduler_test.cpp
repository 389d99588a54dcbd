#include "sim/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernbench/error.h"
#include "sim/fiber.h"
#include "sim/waitable.h"
#include "support/fiber_queues.h"

namespace kernbench::sim {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// Notes which events fire.
struct Log {
  Scheduler& scheduler;
  std::vector<std::uint64_t> fired;
  void note(std::uint64_t number) { fired.push_back(number); }
  Callback callback(std::uint64_t number) { return call<&Log::note>(this, number); }
};

TEST(SchedulerTest, EventsFireInOrderOfTimePhaseAgentAndOperation) {
  struct Event {
    std::int64_t time;
    Phase phase;
    std::uint32_t agent;
    std::uint64_t operation;
  };
  std::vector<Event> events;
  for (std::int64_t time : {0, 3}) {
    for (const Phase phase : {Phase::deliver, Phase::arbitrate, Phase::resume, Phase::sample}) {
      for (std::uint32_t agent : {0u, 7u}) {
        for (std::uint64_t operation : {0u, 1u}) events.push_back({time, phase, agent, operation});
      }
    }
  }
  std::vector<std::uint64_t> order(events.size()), expected(events.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = expected[i] = i;
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    Scheduler scheduler;
    Log log{scheduler, {}};
    for (const std::uint64_t i : order) {
      scheduler.schedule(Time::picoseconds(events[i].time), events[i].phase, AgentId{events[i].agent},
                         events[i].operation, log.callback(i));
    }
    scheduler.run();
    ASSERT_THAT(log.fired, ElementsAreArray(expected));
    ASSERT_EQ(scheduler.now(), Time::picoseconds(3));
    ASSERT_EQ(scheduler.events_processed(), events.size());
    ASSERT_EQ(scheduler.ambiguous_orders(), 0u);
  }
}

TEST(SchedulerTest, EqualKeysAreCounted) {
  Scheduler scheduler;
  Log log{scheduler, {}};
  for (int i = 0; i < 3; ++i) scheduler.schedule(Time::zero(), Phase::deliver, AgentId{1}, 1, log.callback(0));
  scheduler.run();
  EXPECT_EQ(scheduler.ambiguous_orders(), 2u);
}

TEST(SchedulerTest, ACancelledEventDoesNotFireAndDoesNotMoveTime) {
  Scheduler scheduler;
  Log log{scheduler, {}};
  scheduler.schedule(Time::nanoseconds(1), Phase::deliver, AgentId{1}, 1, log.callback(1));
  const EventHandle handle = scheduler.schedule(Time::nanoseconds(9), Phase::deliver, AgentId{1}, 2, log.callback(2));
  EXPECT_TRUE(scheduler.cancel(handle));
  EXPECT_FALSE(scheduler.cancel(handle));
  scheduler.run();
  EXPECT_THAT(log.fired, ElementsAre(1));
  EXPECT_EQ(scheduler.now(), Time::nanoseconds(1));
}

TEST(SchedulerTest, StaleHandlesAreHarmless) {
  Scheduler scheduler;
  Log log{scheduler, {}};
  const EventHandle fired = scheduler.schedule(Time::zero(), Phase::deliver, AgentId{1}, 1, log.callback(1));
  scheduler.run();
  EXPECT_FALSE(scheduler.cancel(fired));
  EXPECT_FALSE(scheduler.cancel(EventHandle{}));
  // The new event uses the slot of the old one.
  const EventHandle pending = scheduler.schedule(Time::zero(), Phase::deliver, AgentId{1}, 2, log.callback(2));
  EXPECT_EQ(pending.slot, fired.slot);
  EXPECT_FALSE(scheduler.cancel(fired));
  scheduler.run();
  EXPECT_THAT(log.fired, ElementsAre(1, 2));
}

TEST(SchedulerTest, RandomCancellationsLeaveExactlyTheOthers) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    Scheduler scheduler;
    Log log{scheduler, {}};
    std::vector<EventHandle> handles;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
      handles.push_back(scheduler.schedule(Time::picoseconds(static_cast<std::int64_t>(i / 3)), Phase::deliver,
                                           AgentId{0}, i, log.callback(i)));
    }
    std::vector<std::uint64_t> expected;
    std::vector<std::uint64_t> victims;
    const auto cancelled_in_ten = random() % 11;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
      (random() % 10 < cancelled_in_ten ? victims : expected).push_back(i);
    }
    std::shuffle(victims.begin(), victims.end(), random);
    for (const std::uint64_t i : victims) ASSERT_TRUE(scheduler.cancel(handles[i]));
    scheduler.run();
    ASSERT_THAT(log.fired, ElementsAreArray(expected));
  }
}

TEST(SchedulerTest, AnEventMayScheduleMoreOfTheSameInstant) {
  struct Chain {
    Scheduler& scheduler;
    int fired = 0;
    void next(std::uint64_t left) {
      ++fired;
      if (left > 0) {
        scheduler.schedule(scheduler.now(), Phase::deliver, AgentId{1}, left, call<&Chain::next>(this, left - 1));
      }
    }
  };
  Scheduler scheduler;
  Chain chain{scheduler};
  chain.next(10);
  scheduler.run();
  EXPECT_EQ(chain.fired, 11);
  EXPECT_EQ(scheduler.now(), Time::zero());
}

// Fires every nanosecond, for ever.
struct Sampler {
  Scheduler& scheduler;
  std::uint64_t samples = 0;
  void sample(std::uint64_t /*argument*/) {
    ++samples;
    schedule();
  }
  void schedule() {
    scheduler.schedule(scheduler.now() + Time::nanoseconds(1), Phase::sample, AgentId{0}, samples,
                       call<&Sampler::sample>(this), /*background=*/true);
  }
};

TEST(SchedulerTest, BackgroundEventsRunOnlyAsLongAsThereIsSomethingElse) {
  Scheduler scheduler;
  Sampler sampler{scheduler};
  sampler.schedule();
  scheduler.spawn({.agent = AgentId{1}, .name = "main"}, [] { this_fiber::sleep(Time::nanoseconds(5)); });
  scheduler.run();
  EXPECT_EQ(scheduler.now(), Time::nanoseconds(5));
  EXPECT_EQ(sampler.samples, 5u) << "the sampler also sees the last instant";
}

TEST(SchedulerTest, ARunCanFollowARun) {
  Scheduler scheduler;
  for (int i = 1; i <= 3; ++i) {
    scheduler.spawn({.agent = AgentId{1}, .name = "main"}, [] { this_fiber::sleep(Time::nanoseconds(5)); });
    scheduler.run();
    EXPECT_EQ(scheduler.now(), Time::nanoseconds(5 * i));
  }
}

TEST(SchedulerTest, AnExceptionOfACallbackUnwindsTheFibersAndLeavesRun) {
  struct Thrower {
    void fire(std::uint64_t /*argument*/) { throw ValueError("from a callback"); }
  } thrower;
  Scheduler scheduler;
  Mailbox<int> box;
  bool unwound = false;
  scheduler.spawn({.agent = AgentId{1}, .name = "waiter"}, [&] {
    try {
      box.receive();
    } catch (const Cancelled&) {
      unwound = true;
      throw;
    }
  });
  scheduler.schedule(Time::nanoseconds(1), Phase::deliver, AgentId{0}, 0, call<&Thrower::fire>(&thrower));
  EXPECT_THROW(scheduler.run(), ValueError);
  EXPECT_TRUE(unwound);
  EXPECT_THAT(scheduler.live_fibers(), ElementsAre());
  EXPECT_NO_THROW(scheduler.run());
}

TEST(SchedulerTest, RunInsideOfASimulationIsAnError) {
  Scheduler scheduler, other;
  scheduler.spawn({.agent = AgentId{1}, .name = "main"}, [&] { other.run(); });
  EXPECT_THROW(scheduler.run(), ProgramError);
}

TEST(SchedulerTest, FibersThatNoRunStartedDieWithTheScheduler) {
  auto captured = std::make_shared<int>(1);
  {
    Scheduler scheduler;
    scheduler.spawn({.agent = AgentId{1}, .name = "main"}, [captured] {});
    EXPECT_EQ(captured.use_count(), 2);
  }
  EXPECT_EQ(captured.use_count(), 1);
}

}  // namespace
}  // namespace kernbench::sim
