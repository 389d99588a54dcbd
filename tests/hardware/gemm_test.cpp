// The law of the systolic GEMM engine, to the picosecond.
#include <gtest/gtest.h>

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
  EXPECT_EQ(systolic_cycles(array(64, 64), {1, 64, 64, 128, 1}), 2 * 64 + 64 + 128 - 2);
  EXPECT_EQ(systolic_cycles(array(8, 32), {1, 32, 8, 5, 1}), 2 * 32 + 8 + 5 - 2);
  EXPECT_EQ(systolic_cycles(array(8, 32), {1, 1, 1, 1, 1}), 2 * 32 + 8 + 1 - 2);
}

TEST(Systolic, FoldsFollowEachOtherWithoutAGap) {
  EXPECT_EQ(systolic_cycles(array(16, 8), {1, 8, 16, 100, 1}), 100 + 30);
  EXPECT_EQ(systolic_cycles(array(16, 8), {1, 9, 16, 100, 1}), 200 + 30);
  EXPECT_EQ(systolic_cycles(array(16, 8), {1, 9, 17, 100, 1}), 400 + 30);
  EXPECT_EQ(systolic_cycles(array(16, 8), {3, 9, 17, 100, 1}), 1200 + 30);
  EXPECT_EQ(systolic_cycles(array(16, 8), {3, 9, 17, 100, 4}), 4800 + 30);
}

TEST(Systolic, ACommandRunsFromAClockEdgeToAClockEdge) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.gemm({1, 20, 20, 33, 1}); });
  const Operation& dot = *bench.log.operations.front();
  const std::int64_t cycles = 3 * 2 * 33 + 2 * 8 + 16 - 2;
  const Clock clock(Frequency::megahertz(1499));
  EXPECT_EQ(dot.finished, clock.edge(clock.cycle_at_or_after(dot.started) + cycles));
  EXPECT_EQ(dot.effect, dot.finished);
  EXPECT_EQ(dot.ready, dot.issued);
  EXPECT_EQ(dot.started, dot.issued);
}

TEST(Systolic, CommandsRunOneAfterTheOtherInOrder) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    for (int i = 0; i < 3; ++i) p.gemm({1, 8, 16, 1000, 1});
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[1]->started, all[0]->finished);
  EXPECT_EQ(all[2]->started, all[1]->finished);
  EXPECT_LT(all[2]->issued, all[0]->finished);
}

}  // namespace
}  // namespace kernbench::hardware
