#include "tile/explain/breakdown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace kernbench::tile {
namespace {

using hardware::EngineKind;

Time ps(std::int64_t count) {
  return Time::picoseconds(count);
}

TEST(Breakdown, GemmComesBeforeVectorBeforeDma) {
  BusyTime busy(ps(0));
  busy.begin(EngineKind::dma, ps(10));
  busy.begin(EngineKind::vector, ps(30));
  busy.begin(EngineKind::gemm, ps(40));
  busy.end(EngineKind::dma, ps(50));
  busy.end(EngineKind::gemm, ps(60));
  busy.end(EngineKind::vector, ps(70));
  const Breakdown result = busy.until(ps(100));
  EXPECT_EQ(result.dma, ps(20));     // 10 … 30
  EXPECT_EQ(result.vector, ps(20));  // 30 … 40, 60 … 70
  EXPECT_EQ(result.gemm, ps(20));    // 40 … 60
  EXPECT_EQ(result.control, ps(40));
  EXPECT_EQ(result.total(), ps(100));
}

/// A command: given to its engine, busy from `since` on (queues only know that in the end), over at `end`.
struct Command {
  EngineKind engine;
  std::int64_t given, since, end;
};

TEST(Breakdown, AgreesWithAPicosecondByPicosecondCountOnRandomIntervals) {
  std::mt19937 random(3);
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1));
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<int> best(100, 3);
    std::vector<Command> commands;
    for (std::int64_t i = draw(0, 12); i > 0; --i) {
      Command one{static_cast<EngineKind>(draw(0, 3)), draw(0, 99), 0, 0};
      one.since = one.engine == EngineKind::ipcq ? draw(one.given, 99) : one.given;
      one.end = draw(one.since, 99);
      // EngineKind counts dma, gemm, vector, ipcq; the order of precedence is gemm, vector, dma and ipcq.
      const int rank = one.engine == EngineKind::gemm ? 0 : one.engine == EngineKind::vector ? 1 : 2;
      for (std::int64_t t = one.since; t < one.end; ++t) {
        int& at = best[static_cast<std::size_t>(t)];
        at = std::min(at, rank);
      }
      commands.push_back(one);
    }
    BusyTime busy(ps(0));
    for (std::int64_t now = 0; now < 100; ++now) {
      for (const Command& one : commands) {
        if (one.given == now && one.engine == EngineKind::ipcq) busy.begin_queue(ps(now));
        if (one.given == now && one.engine != EngineKind::ipcq) busy.begin(one.engine, ps(now));
      }
      for (const Command& one : commands) {
        if (one.end == now && one.engine == EngineKind::ipcq) busy.end_queue(ps(one.since), ps(now));
        if (one.end == now && one.engine != EngineKind::ipcq) busy.end(one.engine, ps(now));
      }
    }
    const Breakdown result = busy.until(ps(100));
    std::int64_t expected[4] = {};
    for (const int rank : best) ++expected[rank];
    ASSERT_EQ(result.gemm.count(), expected[0]) << "round " << round;
    ASSERT_EQ(result.vector.count(), expected[1]) << "round " << round;
    ASSERT_EQ(result.dma.count(), expected[2]) << "round " << round;
    ASSERT_EQ(result.control.count(), expected[3]) << "round " << round;
  }
}

}  // namespace
}  // namespace kernbench::tile
