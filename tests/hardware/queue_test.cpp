// Command queues: milestones, dependencies and back-pressure.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench.h"
#include "sim/fiber.h"

namespace kernbench::hardware {
namespace {

constexpr GemmWork kLong{1, 8, 16, 100'000};

TEST(CommandQueue, SubmitCostsTheIssueTimeAndTheOperationIsIssuedThen) {
  Bench bench(tiny());
  std::vector<Time> returned;
  const LaunchTimes times = bench.run(at(0, 0, 0), [&](ProgramScope& p) {
    for (int i = 0; i < 3; ++i) {
      p.load({leg(p.pe(), 0, 64)});
      returned.push_back(bench.scheduler.now());
    }
  });
  for (int i = 0; i < 3; ++i) {
    const Time expected = times.first_program + (i + 1) * ps(4001);
    EXPECT_EQ(returned[static_cast<std::size_t>(i)], expected);
    EXPECT_EQ(bench.log.operations[static_cast<std::size_t>(i)]->issued, expected);
  }
}

TEST(CommandQueue, ASubmitWaitsWhileTheQueueIsFull) {
  Bench bench(tiny());
  std::vector<Time> returned;
  bench.run(at(0, 0, 0), [&](ProgramScope& p) {
    for (int i = 0; i < 10; ++i) {
      p.gemm(kLong);
      returned.push_back(bench.scheduler.now());
    }
  });
  const auto& all = bench.log.operations;
  for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(returned[i], returned[i - 1] + ps(4001));
  EXPECT_EQ(returned[8], all[0]->finished + ps(4001));
  EXPECT_EQ(returned[9], all[1]->finished + ps(4001));
  EXPECT_EQ(all[9]->issued, returned[9]);
}

TEST(CommandQueue, TheProgramGoesOnWhileCommandsWaitInTheQueue) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [&](ProgramScope& p) {
    p.gemm(kLong);
    p.gemm(kLong);
    const OperationRef load = p.load({leg(p.pe(), 0, 64)});
    load->done.wait();
    EXPECT_LT(bench.scheduler.now(), Time::microseconds(2) + ns(700));
  });
}

TEST(CommandQueue, AnOperationIsReadyWhenItsLastDependencyHasFinished) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    const auto a = p.load({leg(p.pe(), 0, 30'000)});
    const auto b = p.load({leg(p.pe(), 0, 3000)});
    const auto c = p.gemm({1, 8, 16, 10}, {a, b});
    p.store({leg(p.pe(), 0, 100)}, {c});
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[2]->ready, all[0]->finished);
  EXPECT_EQ(all[2]->started, all[2]->ready);
  EXPECT_EQ(all[3]->ready, all[2]->finished);
  EXPECT_EQ(all[3]->started, all[3]->ready);
  EXPECT_TRUE(all[2]->dependencies.empty());
}

TEST(CommandQueue, AnOperationBehindAHeadThatWaitsForOperandsStaysInOrder) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    const auto a = p.load({leg(p.pe(), 0, 30'000)});
    p.gemm({1, 8, 16, 10}, {a});
    p.gemm({1, 8, 16, 10});
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[2]->ready, all[2]->issued);
  EXPECT_EQ(all[2]->started, all[1]->finished);
}

TEST(CommandQueue, EveryIntervalIsOrderedAndTheEffectIsToldBeforeTheFinish) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    OperationRef last;
    for (int i = 0; i < 12; ++i) {
      std::vector<OperationRef> after;
      if (last) after.push_back(last);
      last = i % 3 == 0   ? p.load({leg(at(0, 0, 1), 0, 5000)}, after)
             : i % 3 == 1 ? p.vector({.elements = 100, .operand_bytes = Bytes(800)}, after)
                          : p.store({leg(p.pe(), 0, 5000)}, after);
    }
  });
  for (const OperationRef& operation : bench.log.operations) {
    EXPECT_LE(operation->issued, operation->ready);
    EXPECT_LE(operation->ready, operation->started);
    EXPECT_LT(operation->started, operation->effect);
    EXPECT_LE(operation->effect, operation->finished);
    EXPECT_TRUE(operation->done.is_set());
    const Told effect{operation->effect, "effect", operation->agent, operation->number};
    const Told finish{operation->finished, "finish", operation->agent, operation->number};
    const auto& told = bench.log.told;
    const auto first = std::ranges::find(told, effect), second = std::ranges::find(told, finish);
    ASSERT_NE(first, told.end());
    ASSERT_NE(second, told.end());
    EXPECT_LT(first, second);
  }
}

TEST(CommandQueue, EveryWaitNamesTheOperationThatEndedIt) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    const auto a = p.load({leg(p.pe(), 0, 30'000)});
    const auto b = p.load({leg(p.pe(), 0, 3000)});
    p.gemm(kLong, {a, b});
    for (int i = 0; i < 9; ++i) p.gemm(kLong);
  });
  const auto& all = bench.log.operations;
  EXPECT_FALSE(all[0]->placed_by.known() || all[0]->ready_by.known() || all[0]->started_by.known())
      << "it never waited";
  EXPECT_EQ(all[2]->ready_by, all[0]->operation_name()) << "the longer load";
  EXPECT_TRUE(all[2]->ready_in_order) << "no operand of the command";
  EXPECT_FALSE(all[2]->started_by.known());
  EXPECT_EQ(all[3]->started_by, all[2]->operation_name());
  EXPECT_FALSE(all[9]->placed_by.known());
  EXPECT_EQ(all[10]->placed_by, all[2]->operation_name()) << "the queue has 8 places";
  EXPECT_EQ(all[10]->placed, all[2]->finished);
  EXPECT_EQ(all[10]->issued, all[10]->placed + ps(4001));
}

}  // namespace
}  // namespace kernbench::hardware
