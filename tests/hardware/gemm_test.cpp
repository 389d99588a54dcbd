// The law of the systolic GEMM engine, to the picosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "bench.h"
#include "hardware/gemm/systolic.h"

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

TEST(Systolic, CommandsRunOneAfterTheOtherInOrder) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    for (int i = 0; i < 3; ++i) p.gemm({1, 8, 16, 1000});
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[1]->times.started, all[0]->times.finished);
  EXPECT_EQ(all[2]->times.started, all[1]->times.finished);
  EXPECT_LT(all[2]->times.issued, all[0]->times.finished);
}

}  // namespace
}  // namespace kernbench::hardware
