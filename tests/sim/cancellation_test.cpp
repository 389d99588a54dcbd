#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/errors.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "sim/waitable.h"
#include "support/fiber_queues.h"

namespace kernbench::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

FiberOptions agent(std::uint32_t number) {
  return {.agent = AgentId{number}, .name = "fiber " + std::to_string(number)};
}

// Everything that a fiber can wait for, in a state in which it has to wait.
struct Waits {
  Completion completion;
  Semaphore semaphore;
  Mailbox<int> box;
  std::map<std::string, std::function<void()>> all{
      {"completion", [this] { completion.wait(); }},
      {"semaphore", [this] { semaphore.acquire(); }},
      {"mailbox", [this] { box.receive(); }},
      {"sleep", [] { this_fiber::sleep(Time::nanoseconds(100)); }},
  };
};

TEST(CancellationTest, EveryKindOfWaitThrowsInTheInstantOfTheCancellation) {
  for (const auto& [kind, wait] : Waits().all) {
    Scheduler scheduler;
    Waits waits;
    std::int64_t cancelled_at = -1;
    const auto victim = scheduler.spawn(agent(1), [&, name = kind] {
      try {
        waits.all.at(name)();
        ADD_FAILURE() << name;
      } catch (const Cancelled&) {
        cancelled_at = scheduler.now().count();
        throw;
      }
    });
    scheduler.spawn(agent(2), [&] {
      this_fiber::sleep(Time::picoseconds(7));
      EXPECT_FALSE(victim->cancelled());
      victim->cancel();
      victim->cancel();
      EXPECT_TRUE(victim->cancelled());
      victim->done().wait();
      EXPECT_EQ(scheduler.now(), Time::picoseconds(7));
    });
    scheduler.run();
    EXPECT_EQ(cancelled_at, 7) << kind;
    EXPECT_EQ(victim->take_error(), nullptr) << "to be cancelled is no error";
  }
}

TEST(CancellationTest, EveryKindOfWaitThrowsAtOnceAfterwards) {
  for (const auto& [kind, wait] : Waits().all) {
    Scheduler scheduler;
    Waits waits;
    int thrown = 0;
    scheduler.spawn(agent(1), [&, name = kind] {
      this_fiber::current()->cancel();
      for (int i = 0; i < 3; ++i) {
        try {
          waits.all.at(name)();
        } catch (const Cancelled&) {
          ++thrown;
        }
      }
    });
    scheduler.run();
    EXPECT_EQ(thrown, 3) << kind;
    EXPECT_EQ(scheduler.now(), Time::zero());
  }
}

TEST(CancellationTest, WhatIsThereAlreadyIsNotWaitedFor) {
  Scheduler scheduler;
  Waits waits;
  waits.completion.set();
  waits.semaphore.release();
  waits.box.send(5);
  bool reached_end = false;
  scheduler.spawn(agent(1), [&] {
    this_fiber::current()->cancel();
    waits.completion.wait();
    waits.semaphore.acquire();
    EXPECT_EQ(waits.box.receive(), 5);
    this_fiber::sleep(Time::zero());
    reached_end = true;
  });
  scheduler.run();
  EXPECT_TRUE(reached_end);
}

struct AtEnd {
  std::function<void()> action;
  ~AtEnd() { action(); }
};

TEST(CancellationTest, EveryKindOfWaitWaitsInADestructorOfAFiberThatUnwindsByItself) {
  for (const auto& [kind, wait] : Waits().all) {
    Scheduler scheduler;
    Waits waits;
    Time served;
    scheduler.spawn(agent(1), [&, name = kind] {
      const AtEnd guard{[&] {
        EXPECT_EQ(std::uncaught_exceptions(), 1);
        EXPECT_FALSE(this_fiber::unwinding()) << "nobody has cancelled it";
        waits.all.at(name)();
        served = scheduler.now();
      }};
      throw ValueError("unwind");
    });
    scheduler.spawn(agent(2), [&] {
      this_fiber::sleep(Time::nanoseconds(100));
      waits.completion.set();
      waits.semaphore.release();
      waits.box.send(5);
    });
    EXPECT_THROW(scheduler.run(), ValueError);
    EXPECT_EQ(served, Time::nanoseconds(100)) << kind;
  }
}

TEST(CancellationTest, EveryKindOfWaitEndsWhenItsFiberIsCancelledWhileItUnwindsByItself) {
  for (const auto& [kind, wait] : Waits().all) {
    Scheduler scheduler;
    Waits waits;
    Time ended;
    const auto victim = scheduler.spawn(agent(1), [&, name = kind] {
      const AtEnd guard{[&] {
        waits.all.at(name)();
        ended = scheduler.now();
        EXPECT_TRUE(this_fiber::unwinding());
        for (const auto& [other, again] : waits.all) again();
        EXPECT_EQ(scheduler.now(), ended) << "each wait returns at once from then on";
      }};
      throw ValueError("its own");
    });
    scheduler.spawn(agent(2), [&] {
      this_fiber::sleep(Time::nanoseconds(1));
      victim->cancel();
      // What the victim no longer waits for goes to others.
      waits.semaphore.release();
      waits.semaphore.acquire();
    });
    EXPECT_THROW(scheduler.run(), ValueError) << "what it has thrown by itself is a cause";
    EXPECT_EQ(ended, Time::nanoseconds(1)) << kind;
    EXPECT_FALSE(victim->was_told());
    EXPECT_EQ(waits.semaphore.value(), 0);
  }
}

TEST(CancellationTest, EveryKindOfWaitOfACancelledFiberReturnsAtOnceWhileItUnwinds) {
  for (const auto& [kind, wait] : Waits().all) {
    Scheduler scheduler;
    Waits waits;
    Completion never;
    bool returned = false;
    const auto victim = scheduler.spawn(agent(1), [&, name = kind] {
      const AtEnd guard{[&] {
        EXPECT_TRUE(this_fiber::unwinding());
        waits.all.at(name)();
        returned = true;
      }};
      never.wait();
    });
    scheduler.spawn(agent(2), [&] { victim->cancel(); });
    scheduler.run();
    EXPECT_TRUE(returned) << kind;
    EXPECT_TRUE(victim->was_told());
    EXPECT_EQ(scheduler.now(), Time::zero());
  }
}

TEST(CancellationTest, FibersThatUnwindAtOnceKeepTheirExceptionsApart) {
  Scheduler scheduler;
  std::string trace;
  for (std::uint32_t i : {1u, 2u, 3u}) {
    scheduler.spawn(agent(i), [&, i] {
      try {
        const AtEnd guard{[&, i] {
          for (int step = 0; step < 3; ++step) {
            this_fiber::sleep(Time::nanoseconds(10 + i));
            EXPECT_EQ(std::uncaught_exceptions(), 1);
            try {
              const AtEnd inner{[&] {
                this_fiber::sleep(Time::nanoseconds(i));
                EXPECT_EQ(std::uncaught_exceptions(), 2);
              }};
              throw OutOfMemoryError("inner " + std::to_string(i));
            } catch (const OutOfMemoryError& error) {
              this_fiber::sleep(Time::nanoseconds(1));
              EXPECT_EQ(error.what(), "inner " + std::to_string(i));
              EXPECT_EQ(std::uncaught_exceptions(), 1);
            }
          }
        }};
        throw ValueError("outer " + std::to_string(i));
      } catch (const ValueError& error) {
        this_fiber::sleep(Time::nanoseconds(1));
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        trace += fmt::format("{} at {}; ", error.what(), scheduler.now().count() / 1000);
      }
    });
  }
  scheduler.run();
  EXPECT_EQ(trace, "outer 1 at 40; outer 2 at 46; outer 3 at 52; ");
}

TEST(CancellationTest, ACancellationThatComesWhileAnErrorUnwindsIsThrownAtTheWaitAfterItWasCaught) {
  Scheduler scheduler;
  Completion never;
  std::string trace;
  const auto victim = scheduler.spawn(agent(1), [&] {
    try {
      const AtEnd guard{[&] { never.wait(); }};
      throw ValueError("its own");
    } catch (const ValueError&) {
      trace += "caught; ";
    }
    try {
      never.wait();
    } catch (const Cancelled&) {
      trace += "cancelled; ";
      throw;
    }
  });
  scheduler.spawn(agent(2), [&] {
    this_fiber::sleep(Time::nanoseconds(1));
    victim->cancel();
  });
  scheduler.run();
  EXPECT_EQ(trace, "caught; cancelled; ");
}

TEST(CancellationTest, ADeadlockOfADestructorSaysWhichErrorWasUnwinding) {
  Scheduler scheduler;
  Completion never;
  scheduler.spawn(agent(1), [&] {
    const AtEnd guard{[&] { never.wait(); }};
    throw ValueError("what has really gone wrong");
  });
  try {
    scheduler.run();
    FAIL();
  } catch (const DeadlockError& error) {
    EXPECT_THAT(error.what(), HasSubstr("fiber 'fiber 1' waits in a destructor, because it unwinds after a ValueError: "
                                        "what has really gone wrong"));
  }
}

TEST(CancellationTest, AFiberThatHasNotStartedDoesNotStart) {
  Scheduler scheduler;
  bool started = false;
  std::shared_ptr<Fiber> late;
  scheduler.spawn(agent(1), [&] { late->cancel(); });
  late = scheduler.spawn(agent(2), [&] { started = true; });
  scheduler.run();
  EXPECT_FALSE(started);
  EXPECT_TRUE(late->finished());
}

TEST(CancellationTest, SiblingsOfAFailureUnwindAtTheEndOfTheInstantInOrderOfAgents) {
  Scheduler scheduler;
  std::string trace;
  Completion never;
  for (std::uint32_t i : {4u, 2u, 3u, 1u}) {
    scheduler.spawn(agent(i), [&, i] {
      try {
        if (i == 2) {
          this_fiber::sleep(Time::nanoseconds(1));
          trace += "2 fails; ";
          throw ValueError("cause");
        }
        if (i == 3) {
          this_fiber::sleep(Time::nanoseconds(1));
          trace += "3 goes on; ";
        }
        never.wait();
      } catch (const Cancelled&) {
        trace += std::to_string(i) + " unwinds at " + std::to_string(scheduler.now().count()) + "; ";
        throw;
      }
    });
  }
  EXPECT_THROW(scheduler.run(), ValueError);
  EXPECT_EQ(trace, "2 fails; 3 goes on; 1 unwinds at 1000; 3 unwinds at 1000; 4 unwinds at 1000; ");
  EXPECT_THAT(scheduler.live_fibers(), ElementsAre());
}

TEST(CancellationTest, WhatVictimsThrowIsNotTheCause) {
  Scheduler scheduler;
  Completion never;
  scheduler.spawn(agent(1), [&] {
    try {
      never.wait();
    } catch (const Cancelled&) {
      throw ValueError("of a victim");
    }
  });
  scheduler.spawn(agent(2), [] {
    this_fiber::sleep(Time::nanoseconds(1));
    throw OutOfMemoryError("the cause");
  });
  EXPECT_THROW(scheduler.run(), OutOfMemoryError);
}

TEST(CancellationTest, AnErrorAfterACancellationByHandIsAConsequenceToo) {
  Scheduler scheduler;
  Completion never;
  const auto victim = scheduler.spawn(agent(1), [&] {
    try {
      never.wait();
    } catch (const Cancelled&) {
      throw ValueError("of a victim");
    }
  });
  scheduler.spawn(agent(2), [&] { victim->cancel(); });
  EXPECT_NO_THROW(scheduler.run());
  EXPECT_NE(victim->take_error(), nullptr);
}

TEST(CancellationTest, ASwallowedCancellationComesAgain) {
  Scheduler scheduler;
  Completion never;
  int swallowed = 0;
  scheduler.spawn(agent(1), [&] {
    for (int i = 0; i < 5; ++i) {
      try {
        never.wait();
      } catch (...) {
        ++swallowed;
      }
    }
  });
  scheduler.spawn(agent(2), [] { throw ValueError("cause"); });
  EXPECT_THROW(scheduler.run(), ValueError);
  EXPECT_EQ(swallowed, 5);
}

TEST(CancellationTest, CatchingStdExceptionDoesNotSwallowIt) {
  Scheduler scheduler;
  Completion never;
  bool swallowed = false;
  scheduler.spawn(agent(1), [&] {
    try {
      never.wait();
    } catch (const std::exception&) {
      swallowed = true;
    }
  });
  EXPECT_THROW(scheduler.run(), DeadlockError);
  EXPECT_FALSE(swallowed);
}

void swallow_for_ever(Completion& never) {
  for (;;) {
    try {
      never.wait();
    } catch (...) {
    }
  }
}

TEST(CancellationTest, AFiberThatSwallowsForEverIsNamed) {
  Scheduler scheduler;
  Completion never;
  const auto stubborn = scheduler.spawn(agent(1), [&] { swallow_for_ever(never); });
  scheduler.spawn(agent(2), [&] {
    stubborn->cancel();
    this_fiber::sleep(Time::nanoseconds(1));
  });
  try {
    scheduler.run();
    FAIL();
  } catch (const CancellationError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'fiber 1'"));
    EXPECT_THAT(error.what(), HasSubstr("1000 times"));
  }
}

TEST(CancellationTest, AFiberThatSwallowsForEverDoesNotHideTheCause) {
  Scheduler scheduler;
  Completion never;
  scheduler.spawn(agent(1), [&] { swallow_for_ever(never); });
  scheduler.spawn(agent(2), [] { throw ValueError("cause"); });
  EXPECT_THROW(scheduler.run(), ValueError);
}

TEST(CancellationTest, AFiberStartedDuringUnwindingEndsWithoutHavingRun) {
  Scheduler scheduler;
  Completion never;
  bool started = false;
  scheduler.spawn(agent(1), [&] {
    try {
      never.wait();
    } catch (const Cancelled&) {
      this_fiber::scheduler().spawn(agent(3), [&] { started = true; });
      throw;
    }
  });
  EXPECT_THROW(scheduler.run(), DeadlockError);
  EXPECT_FALSE(started);
  EXPECT_THAT(scheduler.live_fibers(), ElementsAre());
}

TEST(CancellationTest, WaitablesOnTheStacksOfUnwindingFibersMayGoBeforeTheirWaiters) {
  Scheduler scheduler;
  Semaphore* semaphore = nullptr;
  Mailbox<int>* box = nullptr;
  Completion never;
  scheduler.spawn(agent(1), [&] {
    Semaphore own_semaphore;
    Mailbox<int> own_box;
    semaphore = &own_semaphore;
    box = &own_box;
    never.wait();
  });
  scheduler.spawn(agent(2), [&] { semaphore->acquire(); });
  scheduler.spawn(agent(3), [&] { box->receive(); });
  EXPECT_THROW(scheduler.run(), DeadlockError);
}

TEST(CancellationTest, ACancelledRequestMakesRoomForThoseBehindIt) {
  for (const bool granted : {false, true}) {
    Scheduler scheduler;
    Semaphore semaphore(1);
    bool second_served = false;
    const auto first = scheduler.spawn(agent(1), [&] { semaphore.acquire(granted ? 2 : 5); });
    scheduler.spawn(agent(2), [&] {
      semaphore.acquire();
      second_served = true;
    });
    scheduler.spawn(agent(3), [&] {
      this_fiber::sleep(Time::nanoseconds(1));
      semaphore.release();
      first->cancel();
    });
    scheduler.run();
    EXPECT_TRUE(second_served);
    EXPECT_EQ(semaphore.value(), 1);
  }
}

}  // namespace
}  // namespace kernbench::sim
