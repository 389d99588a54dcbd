#include "sim/waitable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/errors.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "support/fiber_queues.h"

namespace kernbench::sim::waitable_test {
namespace {

using testing::ElementsAre;

FiberOptions agent(std::uint32_t number, bool background = false) {
  return {.agent = AgentId{number}, .name = "fiber " + std::to_string(number), .background = background};
}

TEST(CompletionTest, WaitersResumeAtTheTimeItIsSetByAgent) {
  Scheduler scheduler;
  Completion completion;
  std::vector<std::int64_t> trace;
  for (std::uint32_t i : {3u, 1u, 2u}) {
    scheduler.spawn(agent(i), [&, i] {
      completion.wait();
      trace.push_back(scheduler.now().count() * 10 + i);
    });
  }
  scheduler.spawn(agent(9), [&] {
    this_fiber::sleep(Time::picoseconds(5));
    completion.set();
    completion.set();
    completion.wait();
    trace.push_back(scheduler.now().count() * 10 + 9);
  });
  scheduler.run();
  EXPECT_THAT(trace, ElementsAre(59, 51, 52, 53));
}

TEST(CompletionTest, CallbacksRunWhenItIsSetInOrderOfRegistration) {
  struct Notes {
    std::vector<std::uint64_t> notes;
    void note(std::uint64_t number) { notes.push_back(number); }
  } log;
  Completion completion;
  completion.on_set(call<&Notes::note>(&log, 1));
  completion.on_set(call<&Notes::note>(&log, 2));
  EXPECT_THAT(log.notes, ElementsAre());
  completion.set();
  completion.on_set(call<&Notes::note>(&log, 3));
  EXPECT_THAT(log.notes, ElementsAre(1, 2, 3));
}

TEST(CompletionTest, MayBeDestroyedAsSoonAsItIsSet) {
  Scheduler scheduler;
  auto completion = std::make_unique<Completion>();
  bool resumed = false;
  scheduler.spawn(agent(1), [&] {
    completion->wait();
    resumed = true;
  });
  scheduler.spawn(agent(2), [&] {
    completion->set();
    completion.reset();
  });
  scheduler.run();
  EXPECT_TRUE(resumed);
}

TEST(SemaphoreTest, UnitsAreGrantedInOrderOfArrivalWithoutOvertaking) {
  Scheduler scheduler;
  Semaphore semaphore(2);
  std::vector<std::uint32_t> order;
  const auto taker = [&](std::uint32_t number, std::int64_t units) {
    scheduler.spawn(agent(number), [&, number, units] {
      this_fiber::sleep(Time::picoseconds(number));
      semaphore.acquire(units);
      order.push_back(number);
    });
  };
  taker(1, 3);  // must wait for one more unit
  taker(2, 1);  // could be served, but came later
  taker(3, 1);
  scheduler.spawn(agent(9), [&] {
    this_fiber::sleep(Time::picoseconds(10));
    EXPECT_THAT(order, ElementsAre());
    EXPECT_FALSE(semaphore.try_acquire(1)) << "not past those who wait";
    semaphore.release(2);
    this_fiber::sleep(Time::picoseconds(1));
    EXPECT_THAT(order, ElementsAre(1, 2));
    semaphore.release(1);
  });
  scheduler.run();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_EQ(semaphore.value(), 0);
}

TEST(SemaphoreTest, RandomUseConservesUnitsAndNeverExceedsThem) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    Scheduler scheduler;
    const std::int64_t capacity = 1 + random() % 5;
    Semaphore semaphore(capacity);
    std::int64_t in_use = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      const std::int64_t units = 1 + random() % capacity;
      const Time hold = Time::picoseconds(random() % 4);
      const auto fiber = scheduler.spawn(agent(i), [&, units, hold] {
        for (int use = 0; use < 10; ++use) {
          semaphore.acquire(units);
          in_use += units;
          EXPECT_LE(in_use, capacity);
          this_fiber::sleep(hold);
          in_use -= units;
          semaphore.release(units);
          this_fiber::sleep(Time::picoseconds(1));
        }
      });
      if (random() % 4 == 0) {
        // Some end early, with or without units in hand, granted or not.
        const Time when = Time::picoseconds(random() % 30);
        scheduler.spawn(agent(100 + i), [fiber, when] {
          this_fiber::sleep(when);
          fiber->cancel();
        });
      }
    }
    // A cancelled holder keeps its units (it has no guard object here), so that others may wait for ever.
    try {
      scheduler.run();
    } catch (const DeadlockError&) {
    }
    EXPECT_EQ(semaphore.value() + in_use, capacity);
  }
}

TEST(MailboxTest, MessagesArriveInOrder) {
  Scheduler scheduler;
  Mailbox<int> box;
  std::vector<int> received;
  scheduler.spawn(agent(1), [&] {
    for (int i = 0; i < 5; ++i) received.push_back(box.receive());
  });
  scheduler.spawn(agent(2), [&] {
    for (int i = 0; i < 5; ++i) {
      box.send(i);
      if (i % 2 == 0) this_fiber::sleep(Time::nanoseconds(1));
    }
  });
  scheduler.run();
  EXPECT_THAT(received, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(box.try_receive(), std::nullopt);
}

TEST(MailboxTest, ReceiversAreServedInTheOrderInWhichTheyCame) {
  Scheduler scheduler;
  Mailbox<int> box;
  std::vector<int> received(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    // The highest agent comes first, so that the order of agents would be another.
    scheduler.spawn(agent(3 - i), [&, i] {
      this_fiber::sleep(Time::nanoseconds(i));
      received[i] = box.receive();
    });
  }
  scheduler.spawn(agent(9), [&] {
    for (int message = 0; message < 3; ++message) {
      this_fiber::sleep(Time::nanoseconds(10));
      box.send(message);
    }
  });
  scheduler.run();
  EXPECT_THAT(received, ElementsAre(0, 1, 2));
}

TEST(MailboxTest, EveryMessageReachesExactlyOneOfSeveralReceivers) {
  std::mt19937 random(17);
  for (int round = 0; round < 50; ++round) {
    Scheduler scheduler;
    Mailbox<int> box;
    std::vector<int> count(60);
    for (std::uint32_t i = 0; i < 6; ++i) {
      scheduler.spawn(agent(i, /*background=*/true), [&, pause = random() % 3] {
        for (;;) {
          ++count[static_cast<std::size_t>(box.receive())];
          this_fiber::sleep(Time::picoseconds(pause));
        }
      });
    }
    for (std::uint32_t i = 0; i < 3; ++i) {
      scheduler.spawn(agent(10 + i), [&, i, pause = random() % 2] {
        for (int message = 0; message < 20; ++message) {
          this_fiber::sleep(Time::picoseconds(pause));
          box.send(static_cast<int>(i) * 20 + message);
        }
      });
    }
    scheduler.run();
    for (const int times : count) ASSERT_EQ(times, 1);
    ASSERT_EQ(box.size(), 0u);
  }
}

TEST(MailboxTest, AMessageForACancelledReceiverGoesToTheNext) {
  for (const bool cancel_first : {false, true}) {
    Scheduler scheduler;
    Mailbox<int> box;
    int received_by_second = 0;
    const auto first = scheduler.spawn(agent(1), [&] { box.receive(); });
    scheduler.spawn(agent(2), [&] { received_by_second = box.receive(); });
    scheduler.spawn(agent(3), [&] {
      this_fiber::sleep(Time::nanoseconds(1));
      // In one instant: the wake-up and the cancellation of the same receiver.
      if (cancel_first) first->cancel();
      box.send(42);
      if (!cancel_first) first->cancel();
    });
    scheduler.run();
    EXPECT_EQ(received_by_second, 42);
  }
}

// A waitable of a user's own, as the layers above write them.
class Barrier : public Waitable {
 public:
  explicit Barrier(int parties) : missing_parties_(parties) {}
  bool arrive() {
    if (--missing_parties_ == 0) wake_all();
    return block_until([this] { return missing_parties_ == 0; });
  }

 private:
  int missing_parties_;
};

TEST(WaitableTest, BlockUntilServesAWaitableOfOnesOwn) {
  Scheduler scheduler;
  Barrier barrier(4);
  std::vector<std::int64_t> times;
  for (std::uint32_t i = 0; i < 4; ++i) {
    scheduler.spawn(agent(i), [&, i] {
      this_fiber::sleep(Time::picoseconds(i));
      EXPECT_TRUE(barrier.arrive());
      times.push_back(scheduler.now().count());
    });
  }
  scheduler.run();
  EXPECT_THAT(times, ElementsAre(3, 3, 3, 3));
}

TEST(WaitableTest, WaitersAreListedInOrderOfArrival) {
  Scheduler scheduler;
  Completion completion;
  for (std::uint32_t i : {5u, 6u, 4u}) {
    scheduler.spawn(agent(i), [&, i] {
      this_fiber::sleep(Time::picoseconds(10 - i));
      completion.wait();
    });
  }
  scheduler.spawn(agent(9), [&] {
    this_fiber::sleep(Time::picoseconds(20));
    std::vector<std::uint32_t> agents;
    for (const Fiber* fiber : completion.waiters()) agents.push_back(fiber->agent().value);
    EXPECT_THAT(agents, ElementsAre(6, 5, 4));
    EXPECT_TRUE(completion.has_waiters());
    completion.set();
  });
  scheduler.run();
}

TEST(BackgroundTest, AServerThatIsAtWorkForSomebodyKeepsTheSimulationAlive) {
  for (const std::uint32_t server_agent : {0u, 9u}) {
    Scheduler scheduler;
    Mailbox<int> requests, replies;
    scheduler.spawn(agent(server_agent, /*background=*/true), [&] {
      for (;;) {
        const int request = requests.receive();
        this_fiber::sleep(Time::nanoseconds(10));
        replies.send(request * 2);
      }
    });
    int reply = 0;
    scheduler.spawn(agent(1), [&] {
      requests.send(21);
      reply = replies.receive();
    });
    scheduler.run();
    EXPECT_EQ(reply, 42);
    EXPECT_EQ(scheduler.now(), Time::nanoseconds(10));
  }
}

TEST(BackgroundTest, ABackgroundFiberAloneKeepsNothingAlive) {
  Scheduler scheduler;
  int ticks = 0;
  bool unwound = false;
  scheduler.spawn(agent(0, /*background=*/true), [&] {
    struct Guard {
      bool& flag;
      ~Guard() { flag = true; }
    } guard{unwound};
    for (;;) {
      this_fiber::sleep(Time::nanoseconds(1));
      ++ticks;
    }
  });
  scheduler.spawn(agent(1), [] { this_fiber::sleep(Time::picoseconds(3'500)); });
  scheduler.run();
  EXPECT_EQ(ticks, 3);
  EXPECT_TRUE(unwound);
}

}  // namespace
}  // namespace kernbench::sim::waitable_test
