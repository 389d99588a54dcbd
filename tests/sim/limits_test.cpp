#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sim/errors.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "sim/waitable.h"
#include "sim/watched_call.h"
#include "support/fiber_queues.h"
#include "support/sanitizers.h"

namespace kernbench::sim::limits_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

FiberOptions named(std::uint32_t number, std::string name) {
  return {.agent = AgentId{number}, .name = std::move(name)};
}

template <class ErrorType>
std::string message_of(Scheduler& scheduler, const RunLimits& limits = {}) {
  try {
    scheduler.run(limits);
  } catch (const ErrorType& error) {
    EXPECT_THAT(scheduler.live_fibers(), ElementsAre());
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(TimeLimitTest, TheMessageNamesTheLimitAndWhatFibersDid) {
  Scheduler scheduler;
  Mailbox<int> box;
  box.describe_as([] { return "mailbox a"; });
  scheduler.spawn(named(2, "rank 2"), [&] { box.receive(); });
  scheduler.spawn(named(1, "rank 1"), [] {
    for (;;) this_fiber::sleep(Time::nanoseconds(30));
  });
  EXPECT_EQ(message_of<TimeLimitError>(scheduler, {.max_time = Time::nanoseconds(100)}),
            "simulated time would pass the limit of 100 ns (the next event is at 120 ns); fibers then:\n"
            "  rank 1 sleeps until 120 ns\n"
            "  rank 2 waits for mailbox a");
  EXPECT_EQ(scheduler.now(), Time::nanoseconds(90));
}

TEST(TimeLimitTest, AnEventAtTheLimitStillHappens) {
  Scheduler scheduler;
  scheduler.spawn(named(1, "rank 1"), [] { this_fiber::sleep(Time::nanoseconds(100)); });
  EXPECT_NO_THROW(scheduler.run({.max_time = Time::nanoseconds(100)}));
}

TEST(TimeLimitTest, NothingHappensAfterTheLatestTime) {
  Scheduler scheduler;
  scheduler.spawn(named(1, "rank 1"), [] {
    this_fiber::sleep_until(Time::limit());
    this_fiber::sleep(Time::picoseconds(1));
  });
  EXPECT_EQ(message_of<TimeLimitError>(scheduler),
            "simulated time would pass the limit of 4611686.018 s, the latest that can be simulated (the next event is "
            "at 4611686.018 s); fibers then:\n"
            "  rank 1 sleeps until 4611686.018 s");
  EXPECT_EQ(scheduler.now(), Time::limit());
}

TEST(LivelockTest, FibersThatWakeEachOtherAtOneInstantAreNamed) {
  Scheduler scheduler;
  Mailbox<int> ping, pong, never;
  scheduler.spawn(named(1, "ping"), [&] {
    this_fiber::sleep(Time::nanoseconds(5));
    for (;;) {
      ping.send(1);
      pong.receive();
    }
  });
  scheduler.spawn(named(2, "pong"), [&] {
    for (;;) {
      ping.receive();
      pong.send(1);
    }
  });
  never.describe_as([] { return "never"; });
  scheduler.spawn(named(3, "bystander"), [&] { never.receive(); });
  const std::string message = message_of<LivelockError>(scheduler, {.max_events_per_instant = 10'000});
  EXPECT_THAT(message, HasSubstr("10000 events at 5 ns"));
  EXPECT_THAT(message, HasSubstr("\n  ping "));
  EXPECT_THAT(message, HasSubstr("\n  pong "));
  EXPECT_THAT(message, Not(HasSubstr("bystander")));
}

TEST(LivelockTest, EventsOfManyInstantsAreNoLivelock) {
  Scheduler scheduler;
  scheduler.spawn(named(1, "worker"), [] {
    for (int i = 0; i < 1'000; ++i) this_fiber::sleep(Time::picoseconds(1));
  });
  EXPECT_NO_THROW(scheduler.run({.max_events_per_instant = 10}));
}

// Reads `flag` until it is set, as a kernel does that polls memory.
void poll(const bool& flag) {
  while (!flag) {
    this_fiber::note_poll();
    this_fiber::sleep(Time::nanoseconds(1));
  }
}

TEST(PollingTest, FibersThatPollWhatNobodyWillChangeAreALivelock) {
  Scheduler scheduler;
  const bool flag = false;
  Completion never;
  scheduler.spawn(named(1, "reader a"), [&] { poll(flag); });
  scheduler.spawn(named(2, "reader b"), [&] { poll(flag); });
  scheduler.spawn(named(3, "waiter"), [&] { never.wait(); });
  scheduler.spawn(named(4, "worker"), [] { this_fiber::sleep(Time::microseconds(1)); });
  const std::string message = message_of<LivelockError>(scheduler, {.max_polls = 1'000});
  EXPECT_THAT(message, HasSubstr("polls in vain (of 2 fibers, 100"));
  EXPECT_THAT(message, HasSubstr("--max-polls 1000000, SimulateOptions::max_polls"));
  EXPECT_THAT(message, HasSubstr("\n  reader a "));
  EXPECT_THAT(message, HasSubstr("\n  reader b "));
  EXPECT_THAT(message, HasSubstr("\nfibers that wait for something else:\n  waiter waits for "));
  EXPECT_GE(scheduler.now(), Time::microseconds(1));
}

TEST(PollingTest, AWriteThatIsStillOnItsWayIsWaitedFor) {
  Scheduler scheduler;
  bool flag = false;
  scheduler.spawn(named(2, "reader"), [&] { poll(flag); });
  scheduler.spawn(named(1, "writer"), [&] {
    this_fiber::sleep(Time::microseconds(100));
    flag = true;
    this_fiber::note_progress();
  });
  EXPECT_NO_THROW(scheduler.run({.max_polls = 10}));
  EXPECT_EQ(scheduler.now(), Time::microseconds(100)) << "the writer's agent comes before the reader's";
}

// The limit that holds without one; a tenth of it, told, under sanitizers.
constexpr std::uint64_t kTries = kSanitized ? 100'000 : 1'000'000;
RunLimits limits_of_tries() {
  return kSanitized ? RunLimits{.max_polls = kTries} : RunLimits{};
}

// Polls `times` times, each after `pause`, then ends by itself.
void poll_for_a_while(std::uint64_t times, Time pause) {
  for (std::uint64_t i = 0; i < times; ++i) {
    this_fiber::note_poll();
    this_fiber::sleep(pause);
  }
}

TEST(PollingTest, AMillionTriesOfOneFiberAreNone) {
  Scheduler scheduler;
  scheduler.spawn(named(1, "reader"), [] { poll_for_a_while(kTries, Time::nanoseconds(1)); });
  EXPECT_NO_THROW(scheduler.run(limits_of_tries()));
}

TEST(PollingTest, AMillionTriesOfEachOfTwoFibersAreNone) {
  Scheduler scheduler;
  for (std::uint32_t i = 1; i <= 2; ++i) {
    scheduler.spawn(named(i, "reader " + std::to_string(i)), [] { poll_for_a_while(kTries, Time::nanoseconds(1)); });
  }
  EXPECT_NO_THROW(scheduler.run(limits_of_tries()));
}

TEST(PollingTest, TheLimitIsThatOfEachFiberThatPolls) {
  for (const std::uint64_t tries : {400u, 401u}) {
    Scheduler scheduler;
    bool flag = false;
    for (std::uint32_t i = 1; i <= 20; ++i) {
      scheduler.spawn(named(i, "reader " + std::to_string(i)), [&] { poll(flag); });
    }
    // Much slower than the others, and the only one that ends by itself.
    scheduler.spawn(named(30, "slow"), [&] {
      poll_for_a_while(tries, Time::nanoseconds(20));
      flag = true;
      this_fiber::note_progress();
    });
    if (tries == 400) {
      EXPECT_NO_THROW(scheduler.run({.max_polls = 400}));
    } else {
      EXPECT_THAT(message_of<LivelockError>(scheduler, {.max_polls = 200}), HasSubstr("of 21 fibers, 20"));
    }
  }
}

TEST(PollingTest, WithoutALimitManyFibersShareOne) {
  NOT_UNDER_SANITIZERS("millions of polls");
  Scheduler scheduler;
  const bool flag = false;
  for (std::uint32_t i = 1; i <= 128; ++i) {
    scheduler.spawn(named(i, "reader " + std::to_string(i)), [&] { poll(flag); });
  }
  EXPECT_THAT(message_of<LivelockError>(scheduler, {}), HasSubstr("of 128 fibers, 18"));
}

// A kernel's poll of memory takes many events.
void poll_dearly(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    this_fiber::note_poll();
    for (int event = 0; event < 3; ++event) this_fiber::sleep(Time::nanoseconds(1));
  }
}

TEST(PollingTest, DearPollsOfSeveralAreEnoughWhenTheyTakeMoreThanTheRunBefore) {
  NOT_UNDER_SANITIZERS("a million events");
  // 300,000 tries together take 900,000 events. Nobody has so many tries as are enough without that.
  const auto ends_early = [](std::uint64_t events_before, std::uint64_t least_events, std::uint32_t fibers) {
    Scheduler scheduler;
    scheduler.spawn(named(9, "worker"), [&] {
      for (std::uint64_t i = 0; i < events_before; ++i) this_fiber::sleep(Time::nanoseconds(1));
      for (std::uint32_t i = 1; i <= fibers; ++i) {
        scheduler.spawn(named(i, "reader " + std::to_string(i)), [=] { poll_dearly(300'000 / fibers); });
      }
    });
    try {
      scheduler.run({.dear_poll_events = least_events});
      return false;
    } catch (const LivelockError&) {
      return true;
    }
  };
  EXPECT_TRUE(ends_early(0, 500'000, 2));
  EXPECT_FALSE(ends_early(1'000'000, 500'000, 2)) << "the run before took more";
  EXPECT_FALSE(ends_early(0, 1'000'000, 2)) << "fewer events than are granted to all";
  EXPECT_FALSE(ends_early(0, 500'000, 1)) << "one alone";
  EXPECT_FALSE(ends_early(0, 500'000, 4)) << "75,000 tries of each";
}

// A server that always has somebody waiting goes from turn to turn: whoever began it, it is the pollers' doing.
struct BusyServer {
  explicit BusyServer(Scheduler& owner) : scheduler(owner) {}
  void ask() {
    Request request{scheduler.begin_work(), {}};
    queue.push_back(&request);
    if (queue.size() == 1) next(0);
    request.done.wait();
  }
  void next(std::uint64_t) {
    const Scheduler::ActsFor nobody(scheduler, scheduler.origin_of_turns());
    scheduler.schedule(scheduler.now() + Time::nanoseconds(1), Phase::deliver, AgentId{99}, turns++,
                       call<&BusyServer::serve>(this));
  }
  void serve(std::uint64_t) {
    Request& request = *queue.front();
    queue.pop_front();
    if (!queue.empty()) next(0);
    scheduler.end_work(request.origin);
    const Scheduler::ActsFor asker(scheduler, request.origin);
    request.done.set();
  }
  struct Request {
    Origin origin;
    Completion done;
  };
  Scheduler& scheduler;
  std::deque<Request*> queue;
  std::uint64_t turns = 0;
};

TEST(PollingTest, PollsThroughAServerThatIsAlwaysBusyAreFoundAndOtherWorkInItIsWaitedFor) {
  for (const bool worker : {false, true}) {
    Scheduler scheduler;
    BusyServer server(scheduler);
    bool flag = false;
    for (std::uint32_t i = 1; i <= 8; ++i) {
      scheduler.spawn(named(i, "reader " + std::to_string(i)), [&] {
        while (!flag) {
          server.ask();
          this_fiber::note_poll();
        }
      });
    }
    if (!worker) {
      EXPECT_THAT(message_of<LivelockError>(scheduler, {.max_polls = 100}), HasSubstr("of 8 fibers"));
      continue;
    }
    scheduler.spawn(named(9, "worker"), [&] {
      for (int i = 0; i < 2'000; ++i) server.ask();
      flag = true;
      this_fiber::note_progress();
    });
    EXPECT_NO_THROW(scheduler.run({.max_polls = 100}));
  }
}

TEST(PollingTest, ProgressStartsTheCountAgain) {
  Scheduler scheduler;
  int level = 0;
  scheduler.spawn(named(1, "climber"), [&] {
    while (level < 20) {
      for (int i = 0; i < 9; ++i) {
        this_fiber::note_poll();
        this_fiber::sleep(Time::nanoseconds(1));
      }
      ++level;
      this_fiber::note_progress();
    }
  });
  EXPECT_NO_THROW(scheduler.run({.max_polls = 10}));
}

TEST(WatchdogTest, AFiberThatDoesNotYieldIsNamedWhileItRuns) {
  Scheduler scheduler;
  std::atomic<bool> told = false;
  std::string said;
  scheduler.spawn(named(1, "rank 1"), [&] {
    this_fiber::sleep(Time::nanoseconds(1));
    while (!told) std::this_thread::yield();
    this_fiber::sleep(Time::nanoseconds(1));
    ADD_FAILURE() << "the run goes on";
  });
  RunLimits limits{.watchdog_seconds = 0.05};
  limits.on_stuck = [&](const std::string& message) {
    said = message;
    told = true;
  };
  EXPECT_EQ(message_of<WatchdogError>(scheduler, limits), said);
  EXPECT_THAT(said, HasSubstr("fiber 'rank 1' has run for more than 0.05 s"));
}

/// The code of a user's that an event calls.
struct EndlessCall {
  struct Model final : WatchedCall {
    std::string text() const override { return "the model \"slow\" of a part, asked at 5 ns,"; }
  };
  std::atomic<bool> told = false;
  void run(std::uint64_t) {
    const Model model;
    const WatchedScope scope(model);
    while (!told) std::this_thread::yield();
  }
};

TEST(WatchdogTest, ACallOfAnEventIsNamedWhileItRuns) {
  Scheduler scheduler;
  EndlessCall endless;
  scheduler.schedule(Time::nanoseconds(5), Phase::deliver, AgentId{1}, 0, call<&EndlessCall::run>(&endless));
  std::string said;
  RunLimits limits{.watchdog_seconds = 0.05};
  limits.on_stuck = [&](const std::string& message) {
    said = message;
    endless.told = true;
  };
  EXPECT_EQ(message_of<WatchdogError>(scheduler, limits), said);
  EXPECT_THAT(said, HasSubstr("the model \"slow\" of a part, asked at 5 ns, has run for more than 0.05 s"));
  EXPECT_EQ(WatchedCalls::of_this_thread().text(), "") << "it has ended";
}

TEST(WatchdogTest, ASimulationThatSwitchesIsLeftAlone) {
  Scheduler scheduler;
  std::atomic<int> told = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    scheduler.spawn(named(i, "rank " + std::to_string(i)), [] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
      while (std::chrono::steady_clock::now() < end) this_fiber::sleep(Time::picoseconds(1));
    });
  }
  RunLimits limits{.watchdog_seconds = 0.1};
  limits.on_stuck = [&](const std::string&) { ++told; };
  EXPECT_NO_THROW(scheduler.run(limits));
  EXPECT_EQ(told, 0);
}

TEST(WatchdogTest, AFiberThatSaysThatItIsAliveIsLeftAlone) {
  Scheduler scheduler;
  scheduler.spawn(named(1, "rank 1"), [] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
    while (std::chrono::steady_clock::now() < end) this_fiber::note_alive();
  });
  std::atomic<int> told = 0;
  RunLimits limits{.watchdog_seconds = 0.1};
  limits.on_stuck = [&](const std::string&) { ++told; };
  EXPECT_NO_THROW(scheduler.run(limits));
  EXPECT_EQ(told, 0);
}

/// Takes a millisecond of the host's time at each of so many instants.
struct SlowSteps {
  Scheduler& scheduler;
  int left = 0;
  void step(std::uint64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (left-- == 0) return;
    scheduler.schedule(scheduler.now() + Time::picoseconds(1), Phase::deliver, AgentId{1}, 0,
                       call<&SlowSteps::step>(this));
  }
};

TEST(WatchdogTest, ALongRunWithoutFibersIsLeftAlone) {
  Scheduler scheduler;
  SlowSteps steps{scheduler, 300};
  steps.step(0);
  std::atomic<int> told = 0;
  RunLimits limits{.watchdog_seconds = 0.1};
  limits.on_stuck = [&](const std::string&) { ++told; };
  EXPECT_NO_THROW(scheduler.run(limits));
  EXPECT_EQ(told, 0);
}

TEST(WatchdogTest, ARunThatEndsAtOnceDoesNotWaitForTheWatchdog) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    Scheduler scheduler;
    scheduler.spawn(named(1, "rank 1"), [] { this_fiber::sleep(Time::nanoseconds(1)); });
    scheduler.run({.watchdog_seconds = 60});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// Uses a kilobyte of stack for each level, in a way that no optimiser removes.
[[gnu::noinline]] int descend(int depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : descend(depth + 1) + frame[0];
}

TEST(StackOverflowTest, EndlessRecursionIsAnErrorThatNamesTheFiber) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer keeps a call stack of its own, which overflows first";
  Scheduler scheduler;
  Completion never;
  bool other_unwound = false;
  scheduler.spawn(named(1, "rank 1"), [] {
    this_fiber::sleep(Time::nanoseconds(1));
    descend(0);
  });
  scheduler.spawn(named(2, "rank 2"), [&] {
    try {
      never.wait();
    } catch (const Cancelled&) {
      other_unwound = true;
      throw;
    }
  });
  const std::string message = message_of<StackOverflowError>(scheduler);
  EXPECT_THAT(message, HasSubstr("fiber 'rank 1' overflowed its stack of 256 KiB"));
  EXPECT_TRUE(other_unwound);
  // The same scheduler can go on, and overflow again.
  scheduler.spawn(named(1, "again"), [] { descend(0); });
  EXPECT_THAT(message_of<StackOverflowError>(scheduler), HasSubstr("'again'"));
}

TEST(StackOverflowTest, AJoinerMayTakeItLikeAnyError) {
  if (kThreadSanitizer) GTEST_SKIP();
  Scheduler scheduler;
  bool taken = false;
  scheduler.spawn(named(1, "parent"), [&] {
    const auto child = this_fiber::scheduler().spawn(named(2, "child"), [] { descend(0); });
    child->done().wait();
    taken = child->take_error() != nullptr;
    this_fiber::sleep(Time::nanoseconds(1));
  });
  EXPECT_NO_THROW(scheduler.run());
  EXPECT_TRUE(taken);
}

TEST(StackOverflowTest, ALargeStackHoldsADeepRecursion) {
  Scheduler scheduler;
  FiberOptions options = named(1, "deep");
  options.stack_bytes = 16 << 20;
  bool returned = false;
  scheduler.spawn(options, [&] {
    struct Deep {
      static int down(int levels) {
        volatile char frame[512];
        frame[0] = 1;
        return levels == 0 ? 0 : down(levels - 1) + frame[0];
      }
    };
    returned = Deep::down(5'000) == 5'000;
  });
  scheduler.run();
  EXPECT_TRUE(returned);
}

void exit_with_7(int /*signal*/) {
  std::_Exit(7);
}

TEST(StackOverflowDeathTest, OtherFaultsGoToTheHandlerThatWasThereBefore) {
  if (kThreadSanitizer) GTEST_SKIP();
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, exit_with_7);
        Scheduler scheduler;
        scheduler.spawn(named(1, "faulty"), [] { std::raise(SIGSEGV); });
        scheduler.run();
      },
      testing::ExitedWithCode(7), "");
}

// Larger than the blocks that a thread keeps for itself: malloc takes the lock of its arena. Its frames are larger than
// this one, so that most overflows are found within it.
[[gnu::noinline]] int descend_and_allocate(int depth) {
  const auto block = std::make_unique_for_overwrite<char[]>(4096);
  block[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : descend_and_allocate(depth + 1) + block[0];
}

TEST(StackOverflowDeathTest, OverflowsWithinTheAllocatorLeaveItUsable) {
  NOT_UNDER_SANITIZERS("sanitizers have allocators of their own");
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  // A hang ends this process, not the test.
  EXPECT_EXIT(
      {
        ::alarm(60);
        Scheduler scheduler;
        int overflows = 0;
        for (std::uint32_t offset = 0; offset < 8; ++offset) {
          scheduler.spawn(named(1, "deep"), [offset] {
            // Where malloc is when the stack ends differs with this.
            auto* const space = static_cast<volatile char*>(__builtin_alloca(16 + offset * 48));
            space[0] = 1;
            descend_and_allocate(0);
          });
          try {
            scheduler.run({.watchdog_seconds = 600});  // with a second thread, malloc locks
          } catch (const StackOverflowError& error) {
            overflows += std::string_view(error.what()).starts_with("fiber 'deep' overflowed its stack of 256 KiB");
          }
        }
        std::_Exit(overflows);
      },
      testing::ExitedWithCode(8), "");
}

TEST(StackOverflowTest, TheHandlersAreInstalledOnlyDuringARun) {
  for (const int signal : {SIGSEGV, SIGTRAP}) {
    struct sigaction before{}, during{}, after{};
    ::sigaction(signal, nullptr, &before);
    Scheduler scheduler;
    scheduler.spawn(named(1, "looks"), [&] { ::sigaction(signal, nullptr, &during); });
    scheduler.run();
    ::sigaction(signal, nullptr, &after);
    EXPECT_NE(during.sa_sigaction, before.sa_sigaction);
    EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
  }
}

}  // namespace
}  // namespace kernbench::sim::limits_test
