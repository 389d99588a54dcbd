// The law of the simd vector engine, to the picosecond.
#include <gtest/gtest.h>

#include "bench.h"
#include "hardware/vector/simd.h"

namespace kernbench::hardware {
namespace {

OperationRef run_on_tiny(const VectorWork& work) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [&](ProgramScope& p) { p.vector(work); });
  return bench.log.operations.front();
}

TEST(Simd, CyclesAreStartupGroupsAndReductionLevels) {
  topology::VectorSpec spec;
  spec.lanes = 128;
  spec.startup_cycles = 8;
  EXPECT_EQ(simd_cycles(spec, {1, 1, 0, Bytes(0)}), 9);
  EXPECT_EQ(simd_cycles(spec, {128, 1, 0, Bytes(0)}), 9);
  EXPECT_EQ(simd_cycles(spec, {129, 1, 0, Bytes(0)}), 10);
  EXPECT_EQ(simd_cycles(spec, {4096, 4, 7, Bytes(0)}), 8 + 32 * 4 + 7);
}

TEST(Simd, ACommandRunsFromAClockEdgeToAClockEdge) {
  const OperationRef add = run_on_tiny({1000, 2, 5, Bytes(12000)});
  const Clock clock(Frequency::megahertz(1499));
  EXPECT_EQ(add->finished, clock.edge(clock.cycle_at_or_after(add->started) + 8 + 32 * 2 + 5));
  EXPECT_EQ(add->effect, add->finished);
}

TEST(Simd, OperandsAreNotFasterThanTheTcm) {
  const OperationRef add = run_on_tiny({32, 1, 0, Bytes(60000)});
  const Clock clock(Frequency::megahertz(1499));
  const Time begin = clock.edge(clock.cycle_at_or_after(add->started));
  const Time operands = transfer_time(Bytes(60000), Bandwidth::gigabytes_per_second(509));
  EXPECT_EQ(add->finished, clock.edge(clock.cycle_at_or_after(begin + operands)));
}

}  // namespace
}  // namespace kernbench::hardware
