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

/// A command of an engine.
struct Command {
  EngineKind engine;
  std::int64_t begin, end;
};

TEST(Breakdown, AgreesWithAPicosecondByPicosecondCountOnRandomIntervals) {
  std::mt19937 random(3);
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1));
  };
  const std::vector<EngineKind> precedence{EngineKind::gemm, EngineKind::vector, EngineKind::dma, EngineKind::ipcq};
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::size_t> best(100, precedence.size());
    std::vector<Command> commands;
    for (std::int64_t i = draw(0, 12); i > 0; --i) {
      const auto rank = static_cast<std::size_t>(draw(0, 3));
      const std::int64_t begin = draw(0, 99);
      commands.push_back({precedence[rank], begin, draw(begin, 99)});
      for (std::int64_t t = begin; t < commands.back().end; ++t) {
        std::size_t& at = best[static_cast<std::size_t>(t)];
        at = std::min(at, rank);
      }
    }
    BusyTime busy(ps(0));
    for (std::int64_t now = 0; now < 100; ++now) {
      for (const Command& one : commands)
        if (one.begin == now) busy.begin(one.engine, ps(now));
      for (const Command& one : commands)
        if (one.end == now) busy.end(one.engine, ps(now));
    }
    const Breakdown result = busy.until(ps(100));
    std::int64_t expected[5] = {};
    for (const std::size_t rank : best) ++expected[rank];
    ASSERT_EQ(result.gemm.count(), expected[0]) << "round " << round;
    ASSERT_EQ(result.vector.count(), expected[1]) << "round " << round;
    ASSERT_EQ(result.dma.count(), expected[2]) << "round " << round;
    ASSERT_EQ(result.messages.count(), expected[3]) << "round " << round;
    ASSERT_EQ(result.control.count(), expected[4]) << "round " << round;
  }
}

}  // namespace
}  // namespace kernbench::tile
