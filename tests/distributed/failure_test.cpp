// The failure of ranks: who is cause and who victim, what the error says, and that nothing is left of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/waitable.h"
#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::devices;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::now;
using testing::one_pe;
using testing::sleep;
namespace mp = torch::multiprocessing;

std::vector<int> ranks_of(const mp::SpawnException& failure) {
  std::vector<int> ranks;
  for (const auto& cause : failure.errors) ranks.push_back(cause.rank);
  return ranks;
}

/// Runs `worker` on so many ranks of a machine of two devices, and `check` on their failure.
void expect_failure(int ranks, const std::function<void(int)>& worker,
                    const std::function<void(const mp::SpawnException&)>& check) {
  simulate(devices(2), [&] {
    try {
      mp::spawn(worker, {}, {.nprocs = ranks});
      ADD_FAILURE() << "nothing failed";
    } catch (const mp::SpawnException& failure) {
      check(failure);
    }
    EXPECT_EQ(testing::ambiguous_orders(), 0u);
  });
}

/// All but the failing ones wait for what will never come.
std::function<void(int)> failing(std::vector<int> ranks, sim::Completion& never) {
  return [ranks = std::move(ranks), &never](int rank) {
    sleep(1000);
    if (std::ranges::find(ranks, rank) != ranks.end()) throw ValueError("mimic of rank " + std::to_string(rank));
    never.wait();
  };
}

TEST(Failure, RootCausesAreTheRanksThatThrewAndVictimsTheOthers) {
  const std::vector<std::vector<int>> cases{{0}, {1}, {3}, {1, 2}, {0, 3}, {1, 2, 3}, {0, 1, 2, 3}};
  for (const auto& causes : cases) {
    sim::Completion never;
    never.describe_as([] { return "a barrier"; });
    expect_failure(4, failing(causes, never), [&](const mp::SpawnException& failure) {
      EXPECT_EQ(ranks_of(failure), causes);
      std::vector<int> others;
      for (int rank = 0; rank < 4; ++rank) {
        if (std::ranges::find(causes, rank) == causes.end()) others.push_back(rank);
      }
      EXPECT_EQ(failure.victims, others);
      EXPECT_EQ(failure.error_index, causes.front());
      EXPECT_EQ(failure.error_pid, causes.front() + 1);
      EXPECT_THROW(std::rethrow_exception(failure.errors.front().error), ValueError);
      EXPECT_EQ(failure.errors.front().time, Time::nanoseconds(1000));
    });
  }
}

TEST(Failure, TheTextHasPyTorchsLineForCausesThatAreAlikeAndSaysWhereVictimsWaited) {
  sim::Completion never;
  never.describe_as([] { return "a barrier"; });
  expect_failure(3, failing({0, 2}, never), [](const mp::SpawnException& failure) {
    EXPECT_STREQ(failure.what(),
                 "-- Process 0 terminated with the following error (on ranks {0, 2}):\n"
                 "ValueError at 1 us: mimic of rank {0, 2}\n\n"
                 "Unwound because of them: rank 1 (waits for a barrier)");
  });
}

TEST(Failure, OnlyWhoFailsInTheInstantOfTheFirstIsACause) {
  expect_failure(
      3,
      [](int rank) {
        sleep(1000 + (rank == 2 ? 1 : 0));
        throw ValueError("of " + std::to_string(rank));
      },
      [](const mp::SpawnException& failure) {
        EXPECT_THAT(ranks_of(failure), ElementsAre(0, 1));
        EXPECT_THAT(failure.victims, ElementsAre(2));
      });
}

TEST(Failure, WhatUnwindingThrowsDoesNotCount) {
  sim::Completion never;
  expect_failure(
      2,
      [&](int rank) {
        if (rank == 0) throw ValueError("the cause");
        try {
          never.wait();
        } catch (const Cancelled&) {
          throw ValueError("a consequence");
        }
      },
      [](const mp::SpawnException& failure) {
        EXPECT_THAT(ranks_of(failure), ElementsAre(0));
        EXPECT_THAT(std::string(failure.what()), Not(HasSubstr("consequence")));
      });
}

TEST(Failure, VictimsGetCancelledByRankAndAgainWhenTheySwallowIt) {
  sim::Completion never;
  std::vector<std::string> events;
  expect_failure(
      4,
      [&](int rank) {
        if (rank == 1) {
          sleep(10);
          throw ValueError("the cause");
        }
        for (int again = 0; again < 3; ++again) {
          try {
            never.wait();
          } catch (const Cancelled&) {
            events.push_back(std::to_string(rank) + "." + std::to_string(again));
          }
        }
        never.wait();
      },
      [&](const mp::SpawnException& failure) { EXPECT_THAT(failure.victims, ElementsAre(0, 2, 3)); });
  EXPECT_THAT(events, ElementsAre("0.0", "0.1", "0.2", "2.0", "2.1", "2.2", "3.0", "3.1", "3.2"));
}

TEST(Failure, AVictimDoesNotWaitWhileItUnwindsAndWhatItLaunchesThenIsDropped) {
  sim::Completion never;
  std::vector<Time> ends(2);
  const auto worker = [&](int rank) {
    torch::ahbm::set_device(rank);
    auto x = torch::ones({64}, one_pe()), y = torch::empty_like(x);
    torch::ahbm::synchronize();
    struct Last {
      const torch::Tensor &x, &y;
      Time& end;
      ~Last() {
        torch::launch("last", testing::busy, x, y, 100);
        torch::ahbm::synchronize();
        EXPECT_EQ(y.cpu().size(0), 64) << "a victim's read does not wait either, and has no values";
        end = now();
      }
    } const last{x, y, ends[static_cast<std::size_t>(rank)]};
    if (rank == 0) throw ValueError("the cause");
    never.wait();
  };
  const auto result = simulate(devices(2), [&] {
    EXPECT_THROW(mp::spawn(worker, {}, {.nprocs = 2}), mp::SpawnException);
    EXPECT_GT(ends[0], Time::nanoseconds(100'000)) << "who has thrown waits for its work";
    EXPECT_EQ(ends[0], ends[1]);
    EXPECT_LT(now(), ends[0] + Time::nanoseconds(10'000)) << "the 100 us of work of the victim do not happen";
  });
  EXPECT_EQ(std::ranges::count_if(result.launches,
                                  [](const auto& each) { return each.name.find("last") != std::string::npos; }),
            1);
}

TEST(Failure, ExitCodesAreErrorsOfTheirOwnAndZeroIsANormalEnd) {
  bool unwound = false;
  simulate(devices(2), [&] {
    mp::spawn(
        [&](int) {
          struct Last {
            bool& unwound;
            ~Last() { unwound = true; }
          } const last{unwound};
          mp::exit(0);
        },
        {}, {.nprocs = 2});
    EXPECT_TRUE(unwound);
    try {
      mp::spawn([](int rank) { mp::exit(rank == 1 ? 3 : 0); }, {}, {.nprocs = 2});
      ADD_FAILURE();
    } catch (const mp::ProcessExitedException& exited) {
      EXPECT_STREQ(exited.what(), "process 1 terminated with exit code 3");
      EXPECT_EQ(exited.error_index, 1);
      EXPECT_EQ(exited.exit_code, 3);
      EXPECT_EQ(exited.error_pid, 4);
    }
  });
}

TEST(Failure, AnExitAmongErrorsIsOneOfThem) {
  expect_failure(
      2,
      [](int rank) {
        if (rank == 0) mp::exit(7);
        throw ValueError("thrown");
      },
      [](const mp::SpawnException& failure) {
        EXPECT_THAT(ranks_of(failure), ElementsAre(0, 1));
        EXPECT_EQ(failure.errors[0].error, nullptr);
        EXPECT_THAT(failure.errors[0].message, HasSubstr("exit code 7"));
      });
}

TEST(Failure, ErrorsOfAnyTypeAreReported) {
  for (const int kind : {0, 1, 2}) {
    expect_failure(
        1,
        [kind](int) {
          if (kind == 0) throw std::runtime_error("of the standard library");
          if (kind == 1) throw 42;
          throw OutOfMemoryError("full", "here");
        },
        [kind](const mp::SpawnException& failure) {
          const std::vector<std::string> types{"std::runtime_error", "int", "OutOfMemoryError"};
          EXPECT_EQ(failure.errors[0].type, types[static_cast<std::size_t>(kind)]);
          if (kind == 2) {
            EXPECT_THAT(std::string(failure.what()), HasSubstr("full\n  at here"));
          }
        });
  }
}

TEST(Failure, AStackThatOverflowsIsTheErrorOfItsRank) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer keeps a call stack of its own, which overflows first";
  const LeaksExpected leaks;
  static const std::function<int(int)> recurse = [](int depth) {
    volatile char room[4096] = {};
    return depth == 0 ? room[0] : recurse(depth - 1) + room[1];
  };
  sim::Completion never;
  expect_failure(
      2,
      [&](int rank) {
        if (rank == 1) recurse(1'000'000);
        never.wait();
      },
      [](const mp::SpawnException& failure) {
        EXPECT_THAT(ranks_of(failure), ElementsAre(1));
        EXPECT_EQ(failure.errors[0].type, "StackOverflowError");
        EXPECT_THAT(failure.errors[0].message, HasSubstr("rank 1"));
      });
}

TEST(Failure, ARankThatWillNotEndIsAVictimAndNamed) {
  const LeaksExpected leaks;
  sim::Completion never;
  expect_failure(
      2,
      [&](int rank) {
        if (rank == 0) throw ValueError("the cause");
        for (;;) {
          try {
            never.wait();
          } catch (...) {  // NOLINT(bugprone-empty-catch): what must not be done
          }
        }
      },
      [](const mp::SpawnException& failure) {
        EXPECT_THAT(ranks_of(failure), ElementsAre(0));
        EXPECT_THAT(failure.victims, ElementsAre(1));
        EXPECT_THAT(failure.what(),
                    HasSubstr("rank 1 (waits for an unnamed object; it caught Cancelled again and again, "
                              "and was left behind)"));
      });
}

TEST(Failure, AnErrorInAKernelIsTheErrorOfTheRankThatLaunchedIt) {
  expect_failure(
      2,
      [](int rank) {
        torch::ahbm::set_device(rank);
        auto x = torch::ones({64}, one_pe()), y = torch::empty_like(x);
        torch::launch(
            "wrong",
            [](tl::In a, tl::Tensor b) {
              if (tl::load(a, {0}, {1}).numel() == 1) throw ValueError("in the kernel");
              tl::store(b, {0}, tl::load(a, {0}, {1}));
            },
            x, rank == 1 ? y : torch::empty_like(x));
        y.cpu();
      },
      [](const mp::SpawnException& failure) {
        EXPECT_EQ(failure.error_index, 0);
        EXPECT_THAT(std::string(failure.what()), HasSubstr("in the kernel"));
        EXPECT_THAT(failure.errors.front().where, HasSubstr("kernel wrong#0.0 on sip0.cube0.pe0"));
      });
}

TEST(Failure, NestedRanksOfVictimsAreUnwoundTooAndANestedFailureIsTheCauseOfItsParent) {
  sim::Completion never;
  int unwound = 0;
  struct Count {
    int& count;
    ~Count() { ++count; }
  };
  expect_failure(
      2,
      [&](int rank) {
        sleep(100);
        if (rank == 0) throw ValueError("the cause");
        mp::spawn(
            [&](int) {
              const Count count{unwound};
              never.wait();
            },
            {}, {.nprocs = 3});
      },
      [](const mp::SpawnException& failure) {
        EXPECT_THAT(failure.victims, ElementsAre(1));
        EXPECT_THAT(std::string(failure.what()),
                    HasSubstr("rank 1 (waits for the ranks of a spawn of 3 ranks, in torch::multiprocessing::spawn at "
                              "failure_test.cpp:"));
      });
  EXPECT_EQ(unwound, 3);
  expect_failure(
      2,
      [](int rank) {
        mp::spawn(
            [rank](int) {
              if (rank == 1) throw ValueError("deep");
            },
            {}, {.nprocs = 1});
      },
      [](const mp::SpawnException& failure) {
        EXPECT_THAT(ranks_of(failure), ElementsAre(1));
        EXPECT_EQ(failure.errors[0].type, "SpawnException");
        EXPECT_THAT(failure.errors[0].message, HasSubstr("ValueError at 0 ps: deep"));
      });
}

TEST(Failure, AnErrorOfTheMainProgramEndsTheRunWhateverItsRanksDo) {
  EXPECT_EQ(error_of([] {
              sim::Completion never;
              mp::spawn([&](int) { never.wait(); }, {}, {.nprocs = 2, .join = false});
              sleep(100);
              throw ValueError("of main");
            }),
            "ValueError: of main");
}

TEST(Failure, RanksThatWaitForEverAreNamedByTheDeadlockReport) {
  const std::string error = error_of([] {
    sim::Completion never;
    never.describe_as([] { return "a message"; });
    mp::spawn(
        [&](int rank) {
          if (rank > 0) never.wait();
        },
        {}, {.nprocs = 3});
  });
  EXPECT_THAT(error, AllOf(HasSubstr("DeadlockError"), HasSubstr(": ranks {1, 2} wait for a message, which needs its "),
                           HasSubstr("\n  ranks {1, 2} wait for a message\n"), Not(HasSubstr("rank 0")),
                           Not(HasSubstr("ranks {0"))));
}

TEST(Failure, JoinThrowsEachTimeItIsCalledAndAFailureCanBeCaught) {
  const auto result = simulate(devices(1), [] {
    const auto context = mp::spawn([](int) { throw ValueError("once"); }, {}, {.nprocs = 1, .join = false});
    EXPECT_THROW(context.join(), mp::SpawnException);
    EXPECT_THROW(context.join(0.0), mp::ProcessRaisedException);
    EXPECT_THROW(context.join(), mp::ProcessException);
  });
  EXPECT_EQ(result.status, RunStatus::ok);
}

TEST(Failure, NothingIsWrittenToMemoryOnceJoinHasThrown) {
  simulate(devices(2), [] {
    auto count = torch::zeros({1}, one_pe()), copied = torch::zeros({1 << 16}, one_pe());
    torch::ahbm::synchronize();
    EXPECT_THROW(mp::spawn(
                     [&](int rank) {
                       if (rank == 1) {
                         sleep(30'000);
                         throw ValueError("the cause");
                       }
                       torch::launch(
                           "counts",
                           [](tl::Tensor out) {
                             for (int i = 1; i <= 100'000; ++i)
                               tl::store(out, {0}, tl::full({1}, static_cast<float>(i), DType::f32));
                           },
                           count);
                       const torch::ahbm::StreamGuard other{torch::ahbm::Stream()};
                       for (int i = 1; i < 100; ++i) copied.fill_(i);
                     },
                     {}, {.nprocs = 2}),
                 mp::SpawnException);
    const float counted = count.item<float>(), filled = copied[77].item<float>();
    EXPECT_GT(counted, 0.0f);
    EXPECT_LT(counted, 100'000.0f);
    EXPECT_LT(filled, 99.0f);
    sleep(1'000'000);
    EXPECT_EQ(count.item<float>(), counted);
    EXPECT_EQ(copied[77].item<float>(), filled);
  });
}

TEST(Failure, ATimelineOfFailedRanksClosesWhatTheyHadOpen) {
  const std::string file = ::testing::TempDir() + "failed_ranks.pftrace";
  const auto end_of = [&](bool traced) {
    auto options = devices(2);
    if (traced) options.trace = file;
    Time end;
    simulate(options, [&] {
      for (int round = 0; round < 2; ++round) {
        EXPECT_THROW(mp::spawn(
                         [](int rank) {
                           torch::ahbm::set_device(rank);
                           auto x = torch::ones({64}, one_pe()), y = torch::empty_like(x);
                           torch::launch("busy", testing::busy, x, y, 50);
                           sleep(20'000);
                           if (rank == 0) throw ValueError("the cause");
                         },
                         {}, {.nprocs = 2}),
                     mp::SpawnException);
      }
      end = now();
    });
    return end;
  };
  EXPECT_EQ(end_of(true), end_of(false)) << "a timeline changes no time";
  EXPECT_GT(std::filesystem::file_size(file), 1000u);
}

TEST(Failure, TheTextIsTheSameInAHundredRuns) {
  std::string first;
  for (int run = 0; run < 100; ++run) {
    const std::string error = error_of([] {
      mp::spawn(
          [](int rank) {
            torch::ahbm::set_device(rank % 2);
            auto x = torch::ones({64}, one_pe()), y = torch::empty_like(x);
            torch::launch("busy", testing::busy, x, y, 3);
            if (rank == 2) throw ValueError("here");
            if (rank == 3) torch::ahbm::synchronize();
            y.cpu();
          },
          {}, {.nprocs = 4});
    });
    if (run == 0) first = error;
    ASSERT_EQ(error, first);
  }
  EXPECT_THAT(first, HasSubstr("-- Process 2 terminated with the following error:\nValueError"));
}

}  // namespace
}  // namespace kernbench
