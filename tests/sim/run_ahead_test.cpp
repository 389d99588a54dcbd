// An agent with a queue of its own acts within one event until something else is due.
#include "sim/run_ahead.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/errors.h"

namespace kernbench::sim {
namespace {

constexpr EventKey key(std::uint64_t time, Phase phase = Phase::arbitrate, std::uint32_t agent = 5) {
  return {time, make_order(phase, AgentId{agent}, 0)};
}

/// At 10 ps it goes ahead through `keys` as far as it may.
struct Ahead {
  Ahead(std::vector<EventKey> wanted) : keys(std::move(wanted)) {
    scheduler.schedule(Time::picoseconds(10), Phase::arbitrate, {}, 0, call<&Ahead::go>(this));
  }
  void go(std::uint64_t) {
    for (const EventKey& next : keys) {
      if (!advance(scheduler, next)) break;
      reached.push_back(scheduler.now().count());
    }
  }
  EventHandle other(std::int64_t time, Phase phase) {
    return scheduler.schedule(Time::picoseconds(time), phase, {7}, 0, call<&Ahead::note>(this));
  }
  void note(std::uint64_t) { noted.push_back(scheduler.now().count()); }

  Scheduler scheduler;
  std::vector<EventKey> keys;
  std::vector<std::int64_t> reached, noted;
};

using Times = std::vector<std::int64_t>;

TEST(RunAhead, GoesOnUntilSomethingElseIsDue) {
  Ahead ahead({key(20), key(30), key(50)});
  ahead.other(40, Phase::deliver);
  ahead.scheduler.run();
  EXPECT_EQ(ahead.reached, (Times{20, 30}));
  EXPECT_EQ(ahead.noted, (Times{40}));
  EXPECT_EQ(ahead.scheduler.events_processed(), 2u);
}

TEST(RunAhead, KeepsTheOrderWithinAnInstant) {
  Ahead before({key(10), key(20)}), behind({key(10), key(20)});
  before.other(20, Phase::deliver);
  before.scheduler.run();
  EXPECT_EQ(before.reached, (Times{10}));
  behind.other(20, Phase::resume);
  behind.scheduler.run();
  EXPECT_EQ(behind.reached, (Times{10, 20}));
  EXPECT_EQ(behind.noted, (Times{20}));
}

TEST(RunAhead, IsNotHeldByWhatWasCancelled) {
  Ahead ahead({key(20)});
  ahead.scheduler.cancel(ahead.other(15, Phase::deliver));
  ahead.scheduler.run();
  EXPECT_EQ(ahead.reached, (Times{20}));
}

TEST(RunAhead, EndsAtTheLimitOfTime) {
  Ahead ahead({key(20), key(40)});
  EXPECT_THROW(ahead.scheduler.run({.max_time = Time::picoseconds(30)}), TimeLimitError);
  EXPECT_EQ(ahead.reached, (Times{20}));
}

}  // namespace
}  // namespace kernbench::sim
