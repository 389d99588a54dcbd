// The law of the simd vector engine, to the picosecond.
#include <gtest/gtest.h>

#include "bench.h"
#include "hardware/vector/simd.h"

namespace kernbench::hardware {
namespace {

CommandRef run_on_tiny(const VectorWork& work) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [&](ProgramScope& p) { p.vector(work); });
  return bench.log.operations.front();
}

using topology::VectorOperation;

topology::VectorSpec lanes(std::int32_t count) {
  topology::VectorSpec spec;
  spec.lanes = count;
  spec.startup_cycles = 8;
  return spec;
}

TEST(Simd, CyclesAreStartupAndGroups) {
  EXPECT_EQ(simd_cycles(lanes(128), {.elements = 1}), 9);
  EXPECT_EQ(simd_cycles(lanes(128), {.elements = 128}), 9);
  EXPECT_EQ(simd_cycles(lanes(128), {.elements = 129}), 10);
  EXPECT_EQ(simd_cycles(lanes(128), {.elements = 4096, .operation = VectorOperation::exp}), 8 + 32 * 4);
  topology::VectorSpec idle = lanes(128);
  idle.startup_cycles = 0;
  EXPECT_EQ(simd_cycles(idle, {.elements = 0}), 1) << "a command takes time";
}

TEST(Simd, EveryOperationCostsItsOwnCycles) {
  topology::VectorSpec spec = lanes(32);
  for (const topology::VectorOperationInfo& info : topology::kVectorOperations) {
    EXPECT_EQ(simd_cycles(spec, {.elements = 100, .operation = info.operation}), 8 + 4 * info.cycles) << info.key;
    spec.cycles[info.operation] = 77;
    EXPECT_EQ(simd_cycles(spec, {.elements = 100, .operation = info.operation}), 8 + 4 * 77) << info.key;
    spec.cycles[info.operation] = 1;
  }
}

TEST(Simd, AReductionEndsWithTheLevelsOfATreeOverItsLanes) {
  topology::VectorSpec spec = lanes(128);
  const auto cycles = [&](std::int64_t elements, std::int64_t reduced) {
    return simd_cycles(spec, {.elements = elements, .operation = VectorOperation::reduce, .reduced = reduced});
  };
  EXPECT_EQ(cycles(4096, 1), 8 + 32);
  EXPECT_EQ(cycles(4096, 2), 8 + 32 + 1);
  EXPECT_EQ(cycles(4096, 65), 8 + 32 + 7);
  EXPECT_EQ(cycles(4096, 4096), 8 + 32 + 7) << "at most a group of lanes is left for the tree";
  spec.cycles[VectorOperation::reduce_level] = 3;
  EXPECT_EQ(cycles(4096, 65), 8 + 32 + 21);
}

TEST(Simd, NarrowElementsShareALaneWhereLanesDivide) {
  topology::VectorSpec spec = lanes(128);
  const auto cycles = [&](std::int64_t bytes, std::int64_t reduced = 1) {
    return simd_cycles(spec, {.elements = 4000, .item_bytes = bytes, .reduced = reduced}) - 8;
  };
  EXPECT_EQ(cycles(4), 32);
  EXPECT_EQ(cycles(2), 32);
  EXPECT_EQ(cycles(1), 32);
  EXPECT_EQ(cycles(8), 63) << "a 64-bit element takes two lanes";
  spec.narrowest = Bytes(2);
  EXPECT_EQ(cycles(4), 32);
  EXPECT_EQ(cycles(2), 16);
  EXPECT_EQ(cycles(1), 16);
  EXPECT_EQ(cycles(2, 4000), 16 + 8) << "256 elements of 2 B side by side";
  spec.narrowest = Bytes(1);
  EXPECT_EQ(cycles(1), 8);
  EXPECT_EQ(cycles(8), 63);
}

TEST(Simd, ACommandRunsFromAClockEdgeToAClockEdge) {
  const CommandRef add = run_on_tiny({1000, VectorOperation::argreduce, 4, 32, Bytes(12000)});
  const Clock clock(Frequency::megahertz(1499));
  EXPECT_EQ(add->times.finished, clock.edge(clock.cycle_at_or_after(add->times.started) + 8 + 32 * 2 + 5));
  EXPECT_EQ(add->times.effect, add->times.finished);
}

TEST(Simd, OperandsAreNotFasterThanTheTcm) {
  const CommandRef add = run_on_tiny({.elements = 32, .operand_bytes = Bytes(60000)});
  const Clock clock(Frequency::megahertz(1499));
  const Time begin = clock.edge(clock.cycle_at_or_after(add->times.started));
  const Time operands = transfer_time(Bytes(60000), Bandwidth::gigabytes_per_second(509));
  EXPECT_EQ(add->times.finished, clock.edge(clock.cycle_at_or_after(begin + operands)));
}

}  // namespace
}  // namespace kernbench::hardware
