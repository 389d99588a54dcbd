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
    EXPECT_EQ(bench.log.operations[static_cast<std::size_t>(i)]->times.issued, expected);
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
  EXPECT_EQ(returned[8], all[0]->times.finished + ps(4001));
  EXPECT_EQ(returned[9], all[1]->times.finished + ps(4001));
  EXPECT_EQ(all[9]->times.issued, returned[9]);
}

TEST(CommandQueue, TheProgramGoesOnWhileCommandsWaitInTheQueue) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [&](ProgramScope& p) {
    p.gemm(kLong);
    p.gemm(kLong);
    const CommandRef load = p.load({leg(p.pe(), 0, 64)});
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
  EXPECT_EQ(all[2]->times.ready, all[0]->times.finished);
  EXPECT_EQ(all[2]->times.started, all[2]->times.ready);
  EXPECT_EQ(all[3]->times.ready, all[2]->times.finished);
  EXPECT_EQ(all[3]->times.started, all[3]->times.ready);
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
  EXPECT_EQ(all[2]->times.ready, all[2]->times.issued);
  EXPECT_GT(all[1]->times.started, all[2]->times.issued);
  EXPECT_GT(all[2]->times.started, all[1]->times.started);
}

TEST(CommandQueue, EveryIntervalIsOrderedAndTheEffectIsToldBeforeTheFinish) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    CommandRef last;
    for (int i = 0; i < 12; ++i) {
      std::vector<CommandRef> after;
      if (last) after.push_back(last);
      last = i % 3 == 0   ? p.load({leg(at(0, 0, 1), 0, 5000)}, after)
             : i % 3 == 1 ? p.vector({.elements = 100, .operand_bytes = Bytes(800)}, after)
                          : p.store({leg(p.pe(), 0, 5000)}, after);
    }
  });
  for (const CommandRef& operation : bench.log.operations) {
    EXPECT_LE(operation->times.issued, operation->times.ready);
    EXPECT_LE(operation->times.ready, operation->times.started);
    EXPECT_LT(operation->times.started, operation->times.effect);
    EXPECT_LE(operation->times.effect, operation->times.finished);
    EXPECT_TRUE(operation->done.is_set());
    const Told effect{operation->times.effect, "effect", operation->agent, operation->number};
    const Told finish{operation->times.finished, "finish", operation->agent, operation->number};
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
  EXPECT_FALSE(all[0]->times.placed_by.known() || all[0]->times.ready_by.known() || all[0]->times.started_by.known())
      << "it never waited";
  EXPECT_EQ(all[2]->times.ready_by.name, all[0]->command_name()) << "the longer load";
  EXPECT_TRUE(all[2]->times.ready_in_order) << "no operand of the command";
  EXPECT_FALSE(all[2]->times.started_by.known());
  EXPECT_EQ(all[3]->times.started_by.name, all[2]->command_name());
  EXPECT_FALSE(all[9]->times.placed_by.known());
  EXPECT_EQ(all[10]->times.placed_by.name, all[2]->command_name()) << "the queue has 8 places";
  EXPECT_EQ(all[10]->times.placed, all[2]->times.finished);
  EXPECT_EQ(all[10]->times.issued, all[10]->times.placed + ps(4001));
}

}  // namespace
}  // namespace kernbench::hardware
