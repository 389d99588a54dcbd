#include "sim/fiber.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernbench/error.h"
#include "sim/scheduler.h"
#include "sim/waitable.h"
#include "support/fiber_queues.h"
#include "support/sanitizers.h"

namespace kernbench::sim::fiber_test {
namespace {

using testing::ElementsAre;

FiberOptions agent(std::uint32_t number, std::string name = "fiber") {
  return {.agent = AgentId{number}, .name = std::move(name)};
}

TEST(FiberTest, SleepsTakeSimulatedTime) {
  Scheduler scheduler;
  std::vector<std::int64_t> times;
  scheduler.spawn(agent(1), [&] {
    this_fiber::sleep(Time::picoseconds(7));
    times.push_back(scheduler.now().count());
    this_fiber::sleep(Time::zero());
    this_fiber::sleep_until(Time::picoseconds(3));
    times.push_back(scheduler.now().count());
    this_fiber::sleep_until(Time::picoseconds(10));
    times.push_back(scheduler.now().count());
  });
  scheduler.run();
  EXPECT_THAT(times, ElementsAre(7, 7, 10));
}

TEST(FiberTest, FibersOfOneInstantResumeByAgentThenInOrderOfSpawning) {
  Scheduler scheduler;
  std::string trace;
  for (const char* name : {"3a", "1a", "2a", "3b", "1b", "2b"}) {
    scheduler.spawn(agent(static_cast<std::uint32_t>(name[0] - '0'), name), [&trace, name] {
      trace += std::string(name) + " ";
      this_fiber::sleep(Time::nanoseconds(1));
      trace += std::string(name) + " ";
    });
  }
  scheduler.run();
  EXPECT_EQ(trace, "1a 1b 2a 2b 3a 3b 1a 1b 2a 2b 3a 3b ");
  EXPECT_EQ(scheduler.ambiguous_orders(), 0u);
}

TEST(FiberTest, CurrentIsTheRunningFiberAndNobodyOutside) {
  Scheduler scheduler;
  EXPECT_EQ(this_fiber::current(), nullptr);
  std::shared_ptr<Fiber> fiber;
  fiber = scheduler.spawn(agent(4, "rank 4"), [&] {
    EXPECT_EQ(this_fiber::current(), fiber.get());
    EXPECT_EQ(&this_fiber::scheduler(), &scheduler);
    EXPECT_FALSE(fiber->finished());
  });
  scheduler.run();
  EXPECT_EQ(this_fiber::current(), nullptr);
  EXPECT_TRUE(fiber->finished());
  EXPECT_EQ(fiber->name(), "rank 4");
  EXPECT_EQ(fiber->agent(), AgentId{4});
}

TEST(FiberTest, AWaitOutsideOfAFiberIsAnError) {
  Completion completion;
  EXPECT_THROW(completion.wait(), ProgramError);
  EXPECT_THROW(this_fiber::sleep(Time::nanoseconds(1)), ProgramError);
  EXPECT_THROW(Semaphore(0).acquire(), ProgramError);
}

TEST(FiberTest, AFiberCanSpawnAndJoin) {
  Scheduler scheduler;
  std::int64_t joined_at = 0;
  scheduler.spawn(agent(1), [&] {
    const auto child = this_fiber::scheduler().spawn(agent(2), [] { this_fiber::sleep(Time::nanoseconds(3)); });
    child->done().wait();
    child->done().wait();
    joined_at = scheduler.now().count();
  });
  scheduler.run();
  EXPECT_EQ(joined_at, 3'000);
}

TEST(FiberTest, LocalsBelongToTheFiberAndStartEmpty) {
  Scheduler scheduler;
  const auto counted = std::make_shared<int>(0);
  for (std::uint32_t i = 0; i < 3; ++i) {
    scheduler.spawn(agent(i), [&, i] {
      auto& local = this_fiber::current()->local(Fiber::Slot::host);
      EXPECT_EQ(local, nullptr);
      EXPECT_EQ(this_fiber::current()->local(Fiber::Slot::kernel), nullptr);
      local = std::shared_ptr<int>(counted, counted.get() + i);
      this_fiber::sleep(Time::nanoseconds(1));
      EXPECT_EQ(local.get(), counted.get() + i);
    });
  }
  scheduler.run();
  EXPECT_EQ(counted.use_count(), 1) << "locals end with their fiber";
}

// Two fibers that yield inside a handler and then rethrow: each must get its own exception back.
TEST(FiberTest, AnExceptionThatIsBeingHandledBelongsToItsFiber) {
  Scheduler scheduler;
  std::vector<std::string> caught(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    scheduler.spawn(agent(i), [&caught, i] {
      try {
        try {
          throw std::runtime_error("error of " + std::to_string(i));
        } catch (const std::runtime_error&) {
          this_fiber::sleep(Time::nanoseconds(1 + i));
          throw;
        }
      } catch (const std::runtime_error& error) {
        caught[i] = error.what();
      }
    });
  }
  scheduler.run();
  EXPECT_THAT(caught, ElementsAre("error of 0", "error of 1"));
}

TEST(FiberTest, HandlersNestAcrossSwitches) {
  Scheduler scheduler;
  int checked = 0;
  for (std::uint32_t i = 0; i < 50; ++i) {
    scheduler.spawn(agent(i), [&checked, i] {
      for (int round = 0; round < 20; ++round) {
        try {
          throw round;
        } catch (const int& outer) {
          this_fiber::sleep(Time::picoseconds(1 + (i * 7 + static_cast<std::uint32_t>(round)) % 5));
          try {
            throw static_cast<long>(i);
          } catch (const long& inner) {
            this_fiber::sleep(Time::picoseconds(1 + i % 3));
            EXPECT_EQ(inner, static_cast<long>(i));
          }
          EXPECT_EQ(outer, round);
          ++checked;
        }
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }
    });
  }
  scheduler.run();
  EXPECT_EQ(checked, 1'000);
}

TEST(FiberTest, RunMayBeCalledInAHandler) {
  try {
    throw 17;
  } catch (const int&) {
    Scheduler scheduler;
    scheduler.spawn(agent(1), [] {
      EXPECT_EQ(std::current_exception(), nullptr);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      this_fiber::sleep(Time::nanoseconds(1));
    });
    scheduler.run();
    try {
      throw;
    } catch (const int& again) {
      EXPECT_EQ(again, 17);
    }
  }
}

TEST(FiberTest, AnErrorThatNobodyTakesLeavesRun) {
  Scheduler scheduler;
  scheduler.spawn(agent(1), [] { throw ValueError("wrong"); });
  try {
    scheduler.run();
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(), "wrong");
  }
}

TEST(FiberTest, AJoinerMayTakeTheError) {
  Scheduler scheduler;
  std::string message;
  scheduler.spawn(agent(1), [&] {
    const auto child = this_fiber::scheduler().spawn(agent(2), [] {
      this_fiber::sleep(Time::nanoseconds(1));
      throw ValueError("child failed");
    });
    child->done().wait();
    try {
      std::rethrow_exception(child->take_error());
    } catch (const ValueError& error) {
      message = error.what();
    }
    this_fiber::sleep(Time::nanoseconds(1));
  });
  scheduler.run();
  EXPECT_EQ(message, "child failed");
  EXPECT_EQ(scheduler.now(), Time::nanoseconds(2));
}

TEST(FiberTest, TheFirstErrorByTimeThenAgentIsReported) {
  Scheduler scheduler;
  for (std::uint32_t i : {5u, 3u, 4u}) {
    scheduler.spawn(agent(i), [i] {
      this_fiber::sleep(Time::nanoseconds(i == 5 ? 2 : 1));
      throw ValueError("agent " + std::to_string(i));
    });
  }
  try {
    scheduler.run();
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(), "agent 3");
  }
}

TEST(FiberTest, AHundredThousandFibersWork) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer is limited to a few thousand fibers";
  constexpr std::uint32_t kFibers = kSanitized ? 8'000 : 100'000;
  Scheduler scheduler;
  Semaphore gate;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < kFibers; ++i) {
    scheduler.spawn(agent(i), [&, i] {
      gate.acquire();
      this_fiber::sleep(Time::picoseconds(1 + i % 1'000));
      sum += i;
    });
  }
  scheduler.spawn(agent(kFibers), [&] {
    EXPECT_EQ(scheduler.live_fibers().size(), kFibers + 1);
    gate.release(kFibers);
  });
  scheduler.run();
  EXPECT_EQ(sum, std::uint64_t{kFibers} * (kFibers - 1) / 2);
  EXPECT_EQ(scheduler.now(), Time::picoseconds(1'000));
}

TEST(FiberTest, StacksAreUsedAgain) {
  Scheduler scheduler;
  std::vector<const void*> places;
  for (int i = 0; i < 3; ++i) {
    scheduler.spawn(agent(1), [&] {
      const int local = 0;
      places.push_back(&local);
    });
    scheduler.run();
  }
#if !KERNBENCH_ADDRESS_SANITIZER
  EXPECT_EQ(places[0], places[1]);
  EXPECT_EQ(places[1], places[2]);
#endif
}

TEST(FiberTest, SimulationsRunSideBySideOnSeveralThreads) {
  const auto simulate = [](std::uint32_t seed) {
    Scheduler scheduler;
    Mailbox<std::uint64_t> box;
    std::uint64_t hash = seed;
    for (std::uint32_t i = 0; i < 20; ++i) {
      scheduler.spawn(agent(i), [&, i] {
        for (int round = 0; round < 50; ++round) {
          this_fiber::sleep(Time::picoseconds(1 + (i * seed) % 7));
          box.send(i);
          hash = hash * 31 + box.receive();
        }
      });
    }
    scheduler.run();
    return hash;
  };
  std::vector<std::uint64_t> together(4), alone(4);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { together[i] = simulate(i + 1); });
  }
  for (std::uint32_t i = 0; i < 4; ++i) alone[i] = simulate(i + 1);
  EXPECT_EQ(together, alone);
}

std::vector<std::string>* hook_log = nullptr;
void log_switch(Fiber* from, Fiber* to) {
  hook_log->push_back((from != nullptr ? from->name() : "-") + ">" + (to != nullptr ? to->name() : "-"));
}

TEST(FiberTest, TheSwitchHookSeesEverySwitch) {
  std::vector<std::string> log;
  hook_log = &log;
  EXPECT_EQ(set_switch_hook(log_switch), nullptr);
  Scheduler scheduler;
  for (std::uint32_t i = 0; i < 2; ++i) {
    scheduler.spawn(agent(i, std::string(1, static_cast<char>('a' + i))),
                    [] { this_fiber::sleep(Time::nanoseconds(1)); });
  }
  scheduler.run();
  EXPECT_EQ(set_switch_hook(nullptr), log_switch);
  EXPECT_THAT(log, ElementsAre("->a", "a>-", "->b", "b>-", "->a", "a>-", "->b", "b>-"));
}

}  // namespace
}  // namespace kernbench::sim::fiber_test
