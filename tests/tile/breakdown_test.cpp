#include "tile/explain/breakdown.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "hardware/command.h"

namespace kernbench::tile {
namespace {

using hardware::EngineKind;

Time ps(std::int64_t count) {
  return Time::picoseconds(count);
}

TEST(Breakdown, GemmComesBeforeVectorBeforeDma) {
  BusyIntervals intervals;
  intervals.add(EngineKind::dma, ps(10), ps(50));
  intervals.add(EngineKind::vector, ps(30), ps(70));
  intervals.add(EngineKind::gemm, ps(40), ps(60));
  const Breakdown result = intervals.tile(ps(0), ps(100));
  EXPECT_EQ(result.dma, ps(20));     // 10 … 30
  EXPECT_EQ(result.vector, ps(20));  // 30 … 40, 60 … 70
  EXPECT_EQ(result.gemm, ps(20));    // 40 … 60
  EXPECT_EQ(result.control, ps(40));
  EXPECT_EQ(result.total(), ps(100));
}

TEST(Breakdown, AgreesWithAPicosecondByPicosecondCountOnRandomIntervals) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    BusyIntervals intervals;
    std::vector<int> best(100, 3);
    const int count = static_cast<int>(random() % 12);
    for (int i = 0; i < count; ++i) {
      const int engine = static_cast<int>(random() % 3);
      const std::size_t start = random() % 100, end = start + random() % (100 - start);
      // EngineKind counts dma, gemm, vector; the order of precedence is gemm, vector, dma.
      const int rank = engine == 1 ? 0 : engine == 2 ? 1 : 2;
      for (std::size_t t = start; t < end; ++t) best[t] = std::min(best[t], rank);
      intervals.add(static_cast<EngineKind>(engine), ps(static_cast<std::int64_t>(start)),
                    ps(static_cast<std::int64_t>(end)));
    }
    const Breakdown result = intervals.tile(ps(0), ps(100));
    std::int64_t expected[4] = {};
    for (const int rank : best) ++expected[rank];
    EXPECT_EQ(result.gemm.count(), expected[0]);
    EXPECT_EQ(result.vector.count(), expected[1]);
    EXPECT_EQ(result.dma.count(), expected[2]);
    EXPECT_EQ(result.control.count(), expected[3]);
  }
}

}  // namespace
}  // namespace kernbench::tile
