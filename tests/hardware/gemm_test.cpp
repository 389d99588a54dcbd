// The law of the systolic GEMM engine, to the picosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench.h"
#include "hardware/gemm/systolic.h"
#include "sim/errors.h"

namespace kernbench::hardware {
namespace {

topology::GemmSpec array(std::int32_t columns, std::int32_t rows) {
  topology::GemmSpec spec;
  spec.array = {columns, rows};
  return spec;
}

TEST(Systolic, OneFoldIsTheOutputStationaryFormulaOfScaleSim) {
  // 2 S_R + S_C + T - 2
  EXPECT_EQ(systolic_cycles(array(64, 64), {1, 64, 64, 128}), 2 * 64 + 64 + 128 - 2);
  EXPECT_EQ(systolic_cycles(array(8, 32), {1, 32, 8, 5}), 2 * 32 + 8 + 5 - 2);
}

TEST(Systolic, AFoldThatDoesNotFillTheArrayFillsAndDrainsItsPart) {
  EXPECT_EQ(systolic_cycles(array(8, 32), {1, 1, 1, 1}), 1 + 2 * 1 + 1 - 2);
  EXPECT_EQ(systolic_cycles(array(64, 64), {1, 8, 64, 100}), 100 + 2 * 8 + 64 - 2);
  EXPECT_EQ(systolic_cycles(array(64, 64), {1, 64, 8, 100}), 100 + 2 * 64 + 8 - 2);
  EXPECT_EQ(systolic_cycles(array(64, 64), {3, 8, 100, 100}), 6 * 100 + 2 * 8 + 64 - 2);
  EXPECT_EQ(scale_sim_cycles(array(64, 64), {1, 8, 64, 100}), 100 + 2 * 64 + 64 - 2);
}

TEST(Systolic, ALargerArrayIsNotSlowerWhereTheProductDoesNotReachIt) {
  for (const std::int64_t m : {1, 7, 8, 16}) {
    for (const std::int64_t n : {1, 31, 32}) {
      const GemmWork work{2, m, n, 100};
      EXPECT_EQ(systolic_cycles(array(32, 16), work), systolic_cycles(array(64, 16), work));
      EXPECT_EQ(systolic_cycles(array(32, 16), work), systolic_cycles(array(32, 32), work));
    }
  }
}

/// Products of several extents that are computed in folds of at most so many rows and columns.
std::vector<GemmWork> products_in_folds_of(std::int64_t rows, std::int64_t columns) {
  std::vector<GemmWork> all;
  for (const std::int64_t m : {1, 4, 8, 9, 40})
    for (const std::int64_t n : {1, 16, 33})
      for (const std::int64_t k : {1, 20, 100}) all.push_back({2, m, n, k, topology::GemmOperand::f16, rows, columns});
  return all;
}

GemmWork whole(const GemmWork& work) {
  return {work.batch, work.m, work.n, work.k, work.operand};
}

TEST(Systolic, SmallerFoldsAreThoseOfASmallerArray) {
  for (const bool adds_to : {false, true}) {
    for (const auto& [rows, columns] : {std::pair{8, 0}, std::pair{0, 12}, std::pair{8, 12}}) {
      const auto small = array(columns > 0 ? columns : 16, rows > 0 ? rows : 32);
      for (const GemmWork& work : products_in_folds_of(rows, columns)) {
        EXPECT_EQ(systolic_cycles(array(16, 32), work), systolic_cycles(small, whole(work)));
        EXPECT_EQ(follow_cycles(array(16, 32), work, work, adds_to),
                  follow_cycles(small, whole(work), whole(work), adds_to));
      }
    }
  }
}

TEST(Systolic, NoFoldIsLargerThanTheArray) {
  for (const GemmWork& work : products_in_folds_of(32, 17))
    EXPECT_EQ(systolic_cycles(array(16, 8), work), systolic_cycles(array(16, 8), whole(work)));
}

TEST(ScaleSim, FillsTheWholeArrayWhateverTheFoldsThatAreAskedFor) {
  for (const GemmWork& work : products_in_folds_of(4, 5))
    EXPECT_EQ(scale_sim_cycles(array(16, 8), work), scale_sim_cycles(array(16, 8), whole(work)));
}

TEST(Systolic, SumsOfFoldsOfAnotherShapeAreAllBack) {
  const auto product = [](std::int64_t m, std::int64_t n, std::int64_t rows, std::int64_t columns) {
    return GemmWork{1, m, n, 20, topology::GemmOperand::f16, rows, columns};
  };
  const auto next = [](const GemmWork& work, const GemmWork& behind) {
    return follow_cycles(array(16, 8), work, behind, true);
  };
  EXPECT_EQ(next(product(8, 16, 0, 0), product(8, 16, 4, 0)), 20 + 2 * 8 + 16 - 2);
  EXPECT_EQ(next(product(8, 16, 4, 0), product(8, 16, 0, 0)), 2 * 20 + 2 * 4 + 16 - 2);
  EXPECT_EQ(next(product(16, 16, 7, 0), product(16, 16, 6, 0)), 3 * 20 + 2 * 7 + 16 - 2);
  EXPECT_EQ(next(product(8, 16, 0, 9), product(8, 16, 0, 8)), 2 * 20 + 2 * 8 + 9 - 2);
  // As large as the product, or the array.
  EXPECT_EQ(next(product(4, 16, 4, 0), product(4, 16, 6, 100)), 20);
  EXPECT_EQ(next(product(8, 5, 8, 5), product(8, 5, 100, 6)), 20);
}

TEST(Systolic, FoldsFollowEachOtherWithoutAGap) {
  EXPECT_EQ(systolic_cycles(array(16, 8), {1, 8, 16, 100}), 100 + 30);
  EXPECT_EQ(systolic_cycles(array(16, 8), {1, 9, 16, 100}), 200 + 30);
  EXPECT_EQ(systolic_cycles(array(16, 8), {1, 9, 17, 100}), 400 + 30);
  EXPECT_EQ(systolic_cycles(array(16, 8), {3, 9, 17, 100}), 1200 + 30);
}

TEST(Systolic, StepsPassAtTheRateOfTheOperandType) {
  using topology::GemmOperand;
  topology::GemmSpec spec = array(16, 8);
  const auto cycles = [&](GemmOperand operand, std::int64_t k) {
    return systolic_cycles(spec, {3, 9, 17, k, operand});
  };
  EXPECT_EQ(cycles(GemmOperand::f16, 101), 12 * 101 + 30);
  EXPECT_EQ(cycles(GemmOperand::bf16, 101), 12 * 101 + 30);
  EXPECT_EQ(cycles(GemmOperand::f8, 101), 12 * 51 + 30);  // two steps a cycle, the odd one alone
  EXPECT_EQ(cycles(GemmOperand::i8, 100), 12 * 50 + 30);
  EXPECT_EQ(cycles(GemmOperand::f32, 101), 12 * 404 + 30);
  EXPECT_EQ(cycles(GemmOperand::i32, 101), 12 * 404 + 30);
  spec.rate[GemmOperand::f32] = {2, 3};
  EXPECT_EQ(cycles(GemmOperand::f32, 101), 12 * 152 + 30);
}

TEST(Systolic, LostCyclesStretchTheStepsAndNotTheEdges) {
  topology::GemmSpec spec = array(16, 8);
  spec.efficiency = topology::Efficiency::millionths(950'000);
  EXPECT_EQ(systolic_cycles(spec, {3, 9, 17, 100}), 1264 + 30);  // 1200 / 0.95 = 1263.2
  EXPECT_EQ(scale_sim_cycles(spec, {3, 9, 17, 100}), 1264 + 12 * 30);
  EXPECT_EQ(systolic_cycles(spec, {1, 8, 16, 19}), 20 + 30);
}

TEST(ScaleSim, EachFoldIsFilledAndDrained) {
  EXPECT_EQ(scale_sim_cycles(array(64, 64), {1, 64, 64, 128}), 2 * 64 + 64 + 128 - 2);
  EXPECT_EQ(scale_sim_cycles(array(16, 8), {3, 9, 17, 100}), 12 * (100 + 2 * 8 + 16 - 2));
  EXPECT_EQ(scale_sim_cycles(array(16, 8), {3, 9, 17, 100, topology::GemmOperand::i8}), 12 * (50 + 2 * 8 + 16 - 2));
}

TEST(ScaleSim, DiffersFromSystolicByFillAndDrainOfAllFoldsButThePartOfOne) {
  for (std::int64_t m = 1; m < 40; m += 3) {
    for (std::int64_t n = 1; n < 60; n += 7) {
      const GemmWork work{2, m, n, 33};
      const std::int64_t folds = 2 * ((m + 7) / 8) * ((n + 15) / 16);
      const std::int64_t of_one = 2 * std::min<std::int64_t>(8, m) + std::min<std::int64_t>(16, n) - 2;
      EXPECT_EQ(scale_sim_cycles(array(16, 8), work) - systolic_cycles(array(16, 8), work), folds * 30 - of_one);
    }
  }
}

TEST(ScaleSim, IsChosenByName) {
  topology::Topology machine = tiny();
  machine.pe.gemm.model = "scale_sim_os";
  Bench bench(machine);
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.gemm({1, 20, 20, 33}); });
  const Command& dot = *bench.log.operations.front();
  const Clock clock(Frequency::megahertz(1499));
  EXPECT_EQ(dot.times.finished, clock.edge(clock.cycle_at_or_after(dot.times.started) + 3 * 2 * (33 + 2 * 8 + 16 - 2)));
}

TEST(Systolic, ACommandRunsFromAClockEdgeToAClockEdge) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.gemm({1, 20, 20, 33}); });
  const Command& dot = *bench.log.operations.front();
  const std::int64_t cycles = 3 * 2 * 33 + 2 * 8 + 16 - 2;
  const Clock clock(Frequency::megahertz(1499));
  EXPECT_EQ(dot.times.finished, clock.edge(clock.cycle_at_or_after(dot.times.started) + cycles));
  EXPECT_EQ(dot.times.effect, dot.times.finished);
  EXPECT_EQ(dot.times.ready, dot.times.issued);
  EXPECT_EQ(dot.times.started, dot.times.issued);
}

/// The end of so many cycles from an edge.
Time cycles_after(Time edge, std::int64_t cycles) {
  const Clock clock(Frequency::megahertz(1499));
  return clock.edge(clock.cycle_at_or_after(edge) + cycles);
}

TEST(Systolic, OperandsOfACommandEnterBehindThoseOfTheOneBefore) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    for (int i = 0; i < 3; ++i) p.gemm({1, 9, 16, 1000});
  });
  const auto& all = bench.log.operations;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i]->times.finished, cycles_after(all[i]->times.started, 2 * 1000 + 2 * 8 + 16 - 2));
    EXPECT_EQ(all[i]->times.effect, all[i]->times.finished);
    if (i == 0) continue;
    EXPECT_EQ(all[i]->times.started, cycles_after(all[i - 1]->times.started, 2 * 1000));
    EXPECT_EQ(all[i]->times.started_by.name, all[i - 1]->command_name());
  }
  EXPECT_LT(all[2]->times.issued, all[0]->times.finished);
}

TEST(Systolic, TheTimesOfTheEngineAreCountedOnce) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    for (int i = 0; i < 3; ++i) p.gemm({1, 8, 16, 1000});
  });
  const auto& all = bench.log.operations;
  const CommandQueue* const queue = all[0]->queue;
  EXPECT_EQ(queue->busy_now(), all[2]->times.finished - all[0]->times.started);
  EXPECT_EQ(all[0]->times.own, all[0]->times.finished - all[0]->times.started);
  EXPECT_EQ(all[1]->times.own, all[1]->times.finished - all[0]->times.finished);
  EXPECT_EQ(all[0]->times.own + all[1]->times.own + all[2]->times.own, queue->busy_now());
}

TEST(Systolic, ACommandThatIsReadyLateStartsThen) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    p.gemm({1, 8, 16, 10});
    p.gemm({1, 8, 16, 10}, {p.load({leg(p.pe(), 0, 30'000)})});
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[2]->times.started, all[1]->times.finished);
  EXPECT_GT(all[2]->times.started, all[0]->times.finished);
  EXPECT_FALSE(all[2]->times.started_by.known());
}

TEST(Systolic, ResultsLeaveInTheOrderOfTheCommands) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    p.gemm({1, 8, 16, 1000});
    p.gemm({1, 1, 1, 4});  // 1 cycle of skew and drain after those of 30
    p.gemm({1, 1, 1, 40});
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[1]->times.started, cycles_after(all[0]->times.started, 1000));
  EXPECT_EQ(all[1]->times.finished, all[0]->times.finished);
  EXPECT_EQ(all[2]->times.started, cycles_after(all[1]->times.started, 4));
  EXPECT_EQ(all[2]->times.finished, cycles_after(all[2]->times.started, 40 + 1));
  std::vector<std::uint64_t> finished;
  for (const Told& told : bench.log.told)
    if (told.what == "finish") finished.push_back(told.number);
  EXPECT_EQ(finished, (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(Systolic, SumsOfASingleFoldAreAddedToWhereTheyAre) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    CommandRef sums = p.gemm({1, 8, 16, 1000});
    for (const std::int64_t k : {1000, 70}) sums = p.accumulate({1, 8, 16, k}, sums);
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[1]->times.started, cycles_after(all[0]->times.started, 1000));
  EXPECT_EQ(all[2]->times.started, cycles_after(all[1]->times.started, 1000));
  EXPECT_EQ(all[2]->times.finished, cycles_after(all[2]->times.started, 70 + 2 * 8 + 16 - 2));
  EXPECT_EQ(all[1]->times.ready, all[1]->times.issued);
}

// A product whose sums are an operand of the next one, and not what it adds to, ends first.
TEST(Systolic, ResultsThatAreOperandsHaveLeftTheArray) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.gemm({1, 8, 16, 1000}, {p.gemm({1, 8, 16, 1000})}); });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[1]->times.started, all[0]->times.finished);
}

// What another command has computed in between has taken their place.
TEST(Systolic, SumsOfAnEarlierCommandThanTheOneBeforeHaveLeftTheArray) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    const CommandRef sums = p.gemm({1, 8, 16, 1000});
    p.gemm({1, 8, 16, 1});
    p.accumulate({1, 8, 16, 1000}, sums);
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[2]->times.ready, all[0]->times.finished);
  EXPECT_EQ(all[2]->times.started, all[0]->times.finished);
}

// Every fold of both commands, one by one.
TEST(Systolic, SumsOfSeveralFoldsAreBackWhenTheyAreAddedTo) {
  const topology::GemmSpec spec = array(16, 8);
  const auto least = [](std::int64_t folds, std::int64_t steps, std::int64_t next, std::int64_t edge) {
    std::int64_t start = folds * steps;
    for (std::int64_t fold = 0; fold < folds && folds > 1; ++fold)
      start = std::max(start, (fold + 1) * steps + edge - fold * next);
    return start;
  };
  for (const std::int64_t batch : {1, 2, 3}) {
    for (const std::int64_t m : {1, 8, 9, 40}) {
      for (const std::int64_t n : {1, 16, 17, 70}) {
        for (const std::int64_t k : {1, 5, 30, 100}) {
          for (const std::int64_t next : {1, 7, 30, 200}) {
            const GemmWork work{batch, m, n, k}, behind{batch, m, n, next};
            const std::int64_t folds = batch * ((m + 7) / 8) * ((n + 15) / 16);
            EXPECT_EQ(follow_cycles(spec, work, behind, true), least(folds, k, next, edge_cycles(spec, m, n)));
            EXPECT_EQ(follow_cycles(spec, work, behind, false), folds * k);
          }
        }
      }
    }
  }
}

TEST(Systolic, LostCyclesStretchWhatGoesBeforeTheNextCommand) {
  topology::GemmSpec spec = array(16, 8);
  spec.efficiency = topology::Efficiency::millionths(950'000);
  const GemmWork work{3, 9, 17, 100}, small{1, 9, 16, 10};
  EXPECT_EQ(follow_cycles(spec, work, work, true), 1264);
  EXPECT_EQ(follow_cycles(spec, small, small, true), 11 + 30);
  EXPECT_EQ(follow_cycles(spec, small, {1, 9, 16, 2}, true), 22 + 30 - 3);
}

TEST(Systolic, SumsOfSeveralFoldsComeBackToThePicosecond) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    CommandRef sums = p.gemm({1, 16, 16, 10});
    sums = p.accumulate({1, 16, 16, 10}, sums);
    p.accumulate({1, 16, 16, 3}, sums);
  });
  const auto& all = bench.log.operations;
  // Issued one by one: what starts late shows the law only where the operands wait.
  EXPECT_EQ(all[1]->times.started, std::max(all[1]->times.issued, cycles_after(all[0]->times.started, 10 + 30)));
  EXPECT_EQ(all[2]->times.started, std::max(all[2]->times.issued, cycles_after(all[1]->times.started, 20 + 30 - 3)));
  EXPECT_GT(all[2]->times.started, all[2]->times.issued);
}

TEST(ScaleSim, CommandsRunOneAfterTheOtherInOrder) {
  topology::Topology machine = tiny();
  machine.pe.gemm.model = "scale_sim_os";
  Bench bench(machine);
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    const CommandRef sums = p.gemm({1, 8, 16, 1000});
    p.accumulate({1, 8, 16, 1000}, sums);
    p.gemm({1, 8, 16, 1000});
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[1]->times.started, all[0]->times.finished);
  EXPECT_EQ(all[2]->times.started, all[1]->times.finished);
  EXPECT_LT(all[2]->times.issued, all[0]->times.finished);
}

TEST(Gemm, ACommandThatWouldEndAfterTheLatestTimeIsRefused) {
  topology::Topology machine = tiny();
  machine.pe.clock = Frequency::hertz(1);
  Bench bench(machine);
  try {
    bench.run(at(0, 0, 0), [](ProgramScope& p) {
      for (int i = 0; i < 5; ++i) p.gemm({1, 8, 8, 1'500'000});
    });
    FAIL() << "no error";
  } catch (const sim::TimeLimitError& error) {
    expect_mentions(error.what(), "the latest that can be simulated: dot#");
    expect_mentions(error.what(), "on sip0.cube0.pe0.gemm would end then");
  }
}

}  // namespace
}  // namespace kernbench::hardware
