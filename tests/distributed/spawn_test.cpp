// torch::multiprocessing::spawn: who is called with what, who waits for whom, and what becomes of ranks nobody joins.
#include "distributed/ranks/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::devices;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::now;
using testing::one_pe;
using testing::sleep;
namespace mp = torch::multiprocessing;

TEST(Spawn, CallsTheFunctionOncePerRankWithRankAndArguments) {
  std::vector<std::string> calls;
  simulate(devices(2), [&] {
    mp::spawn([&](int rank, int a, const std::string& b) { calls.push_back(std::to_string(rank * a) + b); },
              std::tuple{10, std::string("x")}, {.nprocs = 3});
  });
  EXPECT_THAT(calls, ElementsAre("0x", "10x", "20x"));
}

TEST(Spawn, EachRankGetsItsOwnCopyOfFunctionAndArguments) {
  std::vector<int> seen;
  simulate(devices(1), [&] {
    mp::spawn(
        [&seen, own = 0](int, std::vector<int>& values) mutable {
          values.push_back(++own);
          sleep(100);
          seen.push_back(static_cast<int>(values.size()) * 10 + values.back());
        },
        std::tuple{std::vector<int>{7}}, {.nprocs = 3});
  });
  EXPECT_THAT(seen, ElementsAre(21, 21, 21));
}

TEST(Spawn, NoRanksReturnAtOnceAndANegativeNumberIsAnError) {
  simulate(devices(1), [&] {
    const auto context = mp::spawn([](int) { FAIL(); }, {}, {.nprocs = 0});
    EXPECT_TRUE(context.join());
    EXPECT_THAT(context.pids(), ElementsAre());
    EXPECT_EQ(now(), Time::zero());
  });
  EXPECT_THAT(error_of([] { mp::spawn([](int) {}, {}, {.nprocs = -1}); }),
              HasSubstr("ValueError: torch::multiprocessing::spawn: nprocs is -1"));
}

TEST(Spawn, ReturnsWhenTheLastRankHasEnded) {
  simulate(devices(1), [&] {
    mp::start_processes([](int rank) { sleep(1000 - 300 * rank); }, {}, {.nprocs = 3});
    EXPECT_EQ(now(), Time::nanoseconds(1000));
  });
}

TEST(Spawn, WithoutJoinItReturnsAContextWhoseJoinMayBeRepeated) {
  simulate(devices(1), [&] {
    const auto context = mp::spawn([](int rank) { sleep(1000 + 1000 * rank); }, {}, {.nprocs = 2, .join = false});
    EXPECT_EQ(now(), Time::zero());
    EXPECT_THAT(context.pids(), ElementsAre(1, 2));
    // PyTorch's join returns when one more rank has ended.
    EXPECT_FALSE(context.join(500e-9));
    EXPECT_EQ(now(), Time::nanoseconds(1000)) << "the first ends within 2 us, the least that one waits";
    EXPECT_TRUE(context.join());
    EXPECT_EQ(now(), Time::nanoseconds(2000));
    EXPECT_TRUE(context.join());
    EXPECT_TRUE(context.join(0.0));
    EXPECT_EQ(now(), Time::nanoseconds(2000)) << "waiting for what is over costs nothing";
  });
}

TEST(Spawn, JoinWithATimeoutComesBackInTimeAndGoesOnWithoutTheRanksNoticing) {
  simulate(devices(1), [&] {
    const auto context = mp::spawn([](int) { sleep(50'000); }, {}, {.nprocs = 2, .join = false});
    EXPECT_FALSE(context.join(10e-6));
    EXPECT_EQ(now(), Time::nanoseconds(10'000));
    int asked = 0;
    while (!context.join(0)) ++asked;
    EXPECT_EQ(asked, 21) << "asking in vain costs 2 us; then each rank's end is told once";
    EXPECT_EQ(now(), Time::nanoseconds(50'000));
  });
}

TEST(Spawn, PollingForRanksThatWaitForEverIsALivelock) {
  auto options = devices(1);
  EXPECT_THAT(error_of(
                  [] {
                    sim::Completion never;
                    const auto context = mp::spawn([&](int) { never.wait(); }, {}, {.nprocs = 1, .join = false});
                    while (!context.join(0)) {
                    }
                  },
                  options),
              HasSubstr("LivelockError"));
}

TEST(Spawn, RanksThatNobodyJoinsRunToTheirEndBeforeTheSimulationIsOver) {
  bool ended = false;
  const auto result = simulate(devices(1), [&] {
    mp::spawn(
        [&](int) {
          sleep(5000);
          ended = true;
        },
        {}, {.nprocs = 1, .join = false});
  });
  EXPECT_TRUE(ended);
  EXPECT_EQ(result.simulated_time, Time::nanoseconds(5000));
}

TEST(Spawn, TheFailureOfRanksThatNobodyJoinsEndsTheRun) {
  EXPECT_THAT(error_of([] {
                mp::spawn([](int) { throw ValueError("lost"); }, {}, {.nprocs = 1, .join = false});
                sleep(1000);
              }),
              AllOf(HasSubstr("SpawnException"), HasSubstr("ValueError at 0 ps: lost")));
}

TEST(Spawn, DaemonicRanksAreUnwoundWhenTheirParentEnds) {
  std::vector<std::string> events;
  const auto result = simulate(devices(1), [&] {
    mp::spawn(
        [&](int) {
          struct Last {
            std::vector<std::string>& events;
            ~Last() { events.emplace_back("unwound"); }
          } const last{events};
          sim::Completion never;
          never.wait();
          events.emplace_back("not reached");
        },
        {}, {.nprocs = 2, .join = false, .daemon = true});
    sleep(3000);
    events.emplace_back("main ends");
  });
  EXPECT_THAT(events, ElementsAre("main ends", "unwound", "unwound"));
  EXPECT_EQ(result.simulated_time, Time::nanoseconds(3000) + hardware::kDoorbell);
  EXPECT_THAT(error_of([] {
                mp::spawn([](int) { mp::spawn([](int) {}, {}, {.nprocs = 1}); }, {}, {.nprocs = 1, .daemon = true});
              }),
              HasSubstr("daemonic processes are not allowed to have children"));
}

TEST(Spawn, NestsToAnyDepthWithoutAnyOrderUndefined) {
  std::vector<std::string> calls;
  simulate(devices(2), [&] {
    mp::spawn(
        [&](int outer) {
          mp::spawn(
              [&, outer](int middle) {
                mp::spawn(
                    [&, outer, middle](int inner) {
                      auto x = torch::full({16}, static_cast<float>(inner), one_pe());
                      auto y = torch::empty_like(x);
                      torch::launch("busy", testing::busy, x, y, 1);
                      y.cpu();
                      calls.push_back(std::to_string(outer) + std::to_string(middle) + std::to_string(inner));
                    },
                    {}, {.nprocs = 2});
              },
              {}, {.nprocs = 2});
        },
        {}, {.nprocs = 2});
    EXPECT_EQ(testing::ambiguous_orders(), 0u);
  });
  std::ranges::sort(calls);
  EXPECT_THAT(calls, ElementsAre("000", "001", "010", "011", "100", "101", "110", "111"));
}

TEST(Spawn, ARankEndsWhenWhatItHasSpawnedHasEnded) {
  simulate(devices(1), [&] {
    mp::spawn([](int) { mp::spawn([](int) { sleep(4000); }, {}, {.nprocs = 1, .join = false}); }, {}, {.nprocs = 1});
    EXPECT_EQ(now(), Time::nanoseconds(4000));
  });
}

TEST(Spawn, AnotherStartMethodWarnsAndSpawnsAllTheSame) {
  std::vector<std::string> warnings;
  auto options = devices(1);
  options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
  int ranks = 0;
  simulate(options, [&] { mp::spawn([&](int) { ++ranks; }, {}, {.nprocs = 2, .start_method = "fork"}); });
  EXPECT_EQ(ranks, 2);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("This method only supports start_method=spawn (got: fork)")));
}

TEST(Spawn, AHundredRanksOnOneDeviceAreAllServed) {
  int sum = 0;
  simulate(devices(1), [&] {
    mp::spawn(
        [&](int rank) {
          auto x = torch::full({16}, static_cast<float>(rank), one_pe());
          sum += static_cast<int>((x + x)[3].item<float>());
        },
        {}, {.nprocs = 100});
    EXPECT_EQ(testing::ambiguous_orders(), 0u);
  });
  EXPECT_EQ(sum, 99 * 100);
}

TEST(Spawn, OutsideOfASimulationAndInAKernelItIsAnError) {
  EXPECT_THROW(mp::spawn([](int) {}), ProgramError);
  EXPECT_THAT(error_of([] {
                auto x = torch::empty({16}, one_pe());
                torch::launch("spawns", [](tl::Tensor) { mp::spawn([](int) {}); }, x);
              }),
              HasSubstr("was called inside a kernel"));
  EXPECT_THAT(error_of([] { mp::exit(0); }), HasSubstr("was called by the main program"));
}

// ---- the order of starting ---------------------------------------------------------------------------------------

/// What a program with launches, reads, streams and names on each rank leaves behind.
struct Trace {
  std::vector<std::string> lines;
  std::string times, values;
  bool operator==(const Trace&) const = default;
};

Trace run_in_order(const std::vector<int>& order) {
  Trace trace;
  const auto result = simulate(devices(2), [&] {
    const auto worker = [&](int rank) {
      torch::ahbm::set_device(rank % 2);
      torch::manual_seed(static_cast<std::uint64_t>(rank));
      auto x = torch::randn({64}, one_pe());
      auto y = torch::empty_like(x);
      for (int i = 0; i < 3; ++i) torch::launch("busy", testing::busy, x, y, 1 + (rank + i) % 3);
      trace.lines.push_back(std::to_string(rank) + " " + std::to_string(now().count()) + " " +
                            std::to_string(y[5].item<float>()) + " " + std::to_string(now().count()));
    };
    const auto spawn = distributed::Spawn::start(worker, {.nprocs = static_cast<int>(order.size())}, order);
    while (!spawn->join(std::nullopt)) {
    }
    EXPECT_EQ(testing::ambiguous_orders(), 0u);
  });
  for (const auto& launch : result.launches) trace.lines.push_back(launch.name);
  trace.times = std::to_string(result.times_fingerprint);
  trace.values = std::to_string(result.values_fingerprint);
  return trace;
}

TEST(Spawn, NoOrderOfStartingTheRanksChangesAnything) {
  std::vector<int> order(5);
  std::iota(order.begin(), order.end(), 0);
  const Trace expected = run_in_order(order);
  EXPECT_THAT(expected.lines, ::testing::Contains("busy#4.2"));
  int tried = 0;
  while (std::ranges::next_permutation(order).found && tried++ < (kSanitized ? 3 : 40))
    EXPECT_EQ(run_in_order(order), expected);
  EXPECT_EQ(run_in_order({4, 3, 2, 1, 0}), expected);
}

// ---- kernels that nobody waits for -------------------------------------------------------------------------------

TEST(Spawn, NoKernelIsOrphanedByWaitsOrReturnsOfOtherRanks) {
  // Rank 0 waits for its first launch only, rank 1 returns without a wait, rank 2 waits for all.
  const auto result = simulate(devices(3), [&] {
    mp::spawn(
        [](int rank) {
          torch::ahbm::set_device(rank);
          auto x = torch::ones({64}, one_pe()), y = torch::empty_like(x), z = torch::empty_like(x);
          torch::launch("first", testing::busy, x, y, 1 + rank);
          torch::launch("second", testing::busy, x, z, 5);
          if (rank == 0) y.cpu();
          if (rank == 2) torch::ahbm::synchronize();
        },
        {}, {.nprocs = 3});
  });
  std::vector<std::string> names;
  for (const auto& launch : result.launches) names.push_back(launch.name);
  std::ranges::sort(names);
  for (const char* name : {"first#0.0", "first#1.0", "first#2.0", "second#0.0", "second#1.0", "second#2.0"}) {
    EXPECT_THAT(names, ::testing::Contains(name));
  }
}

}  // namespace
}  // namespace kernbench
