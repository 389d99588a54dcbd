// Textbook pipelines: with two buffers a loop of load and compute takes the maximum of the two, with one their sum.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "logged_run.h"

namespace kernbench {
namespace {

using testing::LoggedOperation;
using testing::operations_of;

constexpr std::int64_t kTiles = 20, kElements = 4096;
const Time kCycle = Time::nanoseconds(1), kIssue = Time::nanoseconds(4);

struct Pipeline {
  Time load, compute;  // of one tile, alone
  Time total;          // from the first load's start to the end of the last command
};

/// `buffers` tiles to load into; exp takes `exp_cycles` for each group of lanes.
Pipeline run(int buffers, int exp_cycles) {
  // Room for the tiles being loaded and for one result; with two buffers for one more of each, because a program that
  // waits for room issues nothing else meanwhile. One queue with one descriptor at a time; whole nanoseconds.
  const auto operations = operations_of(
      {"pe.tcm.capacity=" + std::to_string((buffers == 1 ? 2 : 5) * 16) + "KiB", "pe.dma.queues=1",
       "pe.dma.outstanding=1", "cube.hbm.bandwidth=512GB/s", "pe.vector.cycles.exp=" + std::to_string(exp_cycles)},
      [&] {
        auto x = torch::zeros({kTiles * kElements}, testing::on_one_pe(DType::f32));
        torch::launch(
            "pipeline",
            [](tl::In in, bool ahead) {
              if (!ahead) {
                for (std::int64_t i = 0; i < kTiles; ++i) tl::exp(tl::load(in, {i * kElements}, {kElements}));
                return;
              }
              tl::Tile next = tl::load(in, {0}, {kElements});
              for (std::int64_t i = 1; i <= kTiles; ++i) {
                const tl::Tile current = std::exchange(next, {});
                if (i < kTiles) next = tl::load(in, {i * kElements}, {kElements});
                tl::exp(current);
              }
            },
            x, buffers > 1);
        torch::ahbm::synchronize();
      });
  Pipeline result{Time::max(), Time::max(), {}};
  Time begin = Time::max(), end;
  for (const LoggedOperation& operation : operations) {
    if (operation.program.find("pipeline") == std::string::npos) continue;
    Time& shortest = operation.kind == "load" ? result.load : result.compute;
    shortest = std::min(shortest, operation.finished - operation.started);
    begin = std::min(begin, operation.started);
    end = std::max(end, operation.finished);
  }
  result.total = end - begin;
  return result;
}

TEST(Pipeline, WithTwoBuffersAndSlowComputeTakesTheComputeAndOneLoad) {
  const Pipeline pipeline = run(2, 64);
  ASSERT_GT(pipeline.compute, pipeline.load + kIssue);
  const Time expected = pipeline.load + pipeline.compute * kTiles;
  EXPECT_GE(pipeline.total, expected);
  EXPECT_LE(pipeline.total, expected + kCycle);
}

TEST(Pipeline, WithTwoBuffersAndSlowLoadsTakesTheLoadsAndOneCompute) {
  const Pipeline pipeline = run(2, 1);
  ASSERT_GT(pipeline.load, pipeline.compute);
  const Time expected = pipeline.load * kTiles + pipeline.compute;
  EXPECT_GE(pipeline.total, expected);
  EXPECT_LE(pipeline.total, expected + kCycle);
}

TEST(Pipeline, WithOneBufferTakesTheSum) {
  for (const int cycles : {1, 64}) {
    const Pipeline pipeline = run(1, cycles);
    // A load is issued when the tile before it has been let go.
    const Time expected = (pipeline.load + pipeline.compute) * kTiles + kIssue * (kTiles - 1);
    EXPECT_GE(pipeline.total, expected);
    EXPECT_LE(pipeline.total, expected + kCycle * kTiles);
  }
}

}  // namespace
}  // namespace kernbench
