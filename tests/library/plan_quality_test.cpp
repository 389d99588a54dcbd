// How good the plans of matrix products are, by simulation: against other tiles, and on machines that are unlike the
// shipped ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "support.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

/// C = A B of f16; B lies in one copy in each cube, cut by columns over its PEs, or by rows over all.
struct PlannedProduct {
  std::string topology;
  std::vector<std::string> overrides;
  std::int64_t m, n, k;
  bool replicated = true;
  bool by_columns = false;  // one copy, cut by columns over all PEs
  bool quick = false;       // a replay decides
};

struct PlannedTiles {
  std::int64_t m = 0, n = 0, k = 0;  // 0: chosen
};

RunResult run(const PlannedProduct& product, const PlannedTiles& tiles = {}) {
  SimulateOptions options;
  options.topology = product.topology;
  options.overrides = product.overrides;
  options.data = false;
  options.quick_plans = product.quick;
  return try_simulate(options, [&] {
    const auto half = torch::dtype(torch::kHalf).device("ahbm");
    const DPPolicy columns{.cube = Placement::replicate, .pe = Placement::column_wise};
    const auto a = torch::empty({product.m, product.k}, half);
    const DPPolicy all_columns{.cube = Placement::column_wise, .pe = Placement::column_wise};
    const DPPolicy once = product.by_columns ? all_columns : DPPolicy{};
    const auto b = torch::empty({product.k, product.n}, half.placement(product.replicated ? columns : once));
    torch::ahbm::matmul(a, b, {.exact_order = true, .tile_m = tiles.m, .tile_n = tiles.n, .tile_k = tiles.k});
    torch::ahbm::synchronize();
  });
}

/// Of the launch; infinite when the tiles do not fit.
double microseconds(const PlannedProduct& product, const PlannedTiles& tiles = {}) {
  const RunResult result = run(product, tiles);
  if (tiles.m > 0 && result.error && result.error->type == "OutOfMemoryError")
    return std::numeric_limits<double>::infinity();
  if (result.error) throw std::runtime_error(result.error->message);
  return static_cast<double>(result.launches.at(0).end.count() - result.launches[0].start.count()) * 1e-6;
}

std::string text_of(const PlannedProduct& product) {
  std::string text = product.topology + " " + std::to_string(product.m) + " x " + std::to_string(product.n) + " x " +
                     std::to_string(product.k);
  for (const auto& change : product.overrides) text += " " + change;
  return text;
}

TEST(PlanQuality, NoTilesOfASearchAreMuchBetterThanTheChosenOnes) {
  NOT_UNDER_SANITIZERS("long");
  const std::vector<PlannedProduct> products{
      {"tiny", {}, 512, 512, 512},
      {"tiny", {"cube.hbm.bandwidth=100GB/s"}, 16, 2048, 512},
      {"tiny", {"cube.hbm.latency=1us"}, 512, 512, 512, false},
      {"tiny", {"pe.tcm.capacity=256KiB", "pe.ipcq.capacity=64KiB"}, 256, 256, 1024},
      {"tiny", {"sip.cubes.mesh=[4, 2]", "pe.gemm.array=[128, 128]"}, 512, 512, 512, false},
      {"tiny", {"pe.clock=4GHz"}, 1024, 128, 128, false},
      {"ahbm-1sip", {"sip.cubes.mesh=[2, 1]", "cube.hbm.bandwidth=300GB/s"}, 64, 3072, 256},
      {"ahbm-1sip", {}, 8192, 64, 64},
  };
  for (std::size_t i = 0; i < products.size(); i += one_case_in(5, 1)) {
    const PlannedProduct& product = products[i];
    PlannedProduct with_tiles = product;
    with_tiles.quick = !takes_all_cases();
    const double chosen = microseconds(product);
    double best = std::numeric_limits<double>::infinity();
    for (const std::int64_t m : {64, 256})
      for (const std::int64_t n : {64, 256})
        for (const std::int64_t k : {32, 256}) {
          const bool other = (m == 64 || m < 2 * product.m) && (n == 64 || n < 2 * product.n);
          if (other && (k == 32 || k < 2 * product.k)) best = std::min(best, microseconds(with_tiles, {m, n, k}));
        }
    ASSERT_LT(best, std::numeric_limits<double>::infinity()) << text_of(product);
    EXPECT_LE(chosen, 1.15 * best) << text_of(product);
  }
}

TEST(PlanQuality, StepsStayLongWhereTheHbmIsSlow) {
  NOT_UNDER_SANITIZERS("long");
  if (!takes_all_cases()) GTEST_SKIP() << "ten seconds: make test-full";
  PlannedProduct slow{"ahbm-1sip", {"cube.hbm.bandwidth=100GB/s"}, 2048, 2048, 2048};
  slow.quick = true;
  EXPECT_LE(microseconds(slow), 1.02 * microseconds(slow, {0, 0, 256}));
  PlannedProduct flat{"ahbm-1sip", {}, 64, 12288, 256};
  flat.quick = true;
  EXPECT_LE(microseconds(flat), 1.15 * microseconds(flat, {0, 0, 64}));
}

// The plan was worse on the faster machine, by 1.67.
TEST(PlanQuality, AFasterClockIsNotSlowerOnATorusOfEightSips) {
  NOT_UNDER_SANITIZERS("times only");
  const std::vector<std::string> torus{"system.sips.count=8", "system.sips.topology=torus_2d", "sip.cubes.mesh=[4, 1]",
                                       "cube.hbm.bandwidth=400GB/s"};
  const PlannedProduct product{"ahbm-1sip", torus, 1024, 1024, 1024};
  PlannedProduct faster = product;
  faster.overrides.emplace_back("pe.clock=2GHz");
  EXPECT_LE(microseconds(faster), 1.02 * microseconds(product));
}

// The estimate counted the readers of a holder along one extent only, and of 192 rows over parts of 128 two whole
// holders: with more of a resource, short steps that all programs ask few holders for were chosen. Of default tensors
// these took 1.09, 1.08 and 1.06 times as long as on the smaller machine.
TEST(PlanQuality, MoreOfAResourceIsNotSlowerWhereAllProgramsAskTheSameHolders) {
  NOT_UNDER_SANITIZERS("long");
  const std::vector<std::string> slow{"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[2, 2]", "cube.hbm.bandwidth=200GB/s"};
  const std::vector<std::string> row{"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[4, 1]", "pe.gemm.array=[128, 128]",
                                     "cube.hbm.bandwidth=600GB/s"};
  const std::vector<std::pair<PlannedProduct, std::string>> more{
      {{"tiny", {"sip.cubes.mesh=[2, 2]"}, 512, 512, 512, false}, "pe.clock=2GHz"},
      {{"ahbm-1sip", slow, 512, 512, 512, false}, "pe.gemm.array=[64, 128]"},
      {{"ahbm-1sip", row, 512, 512, 512, false}, "cube.noc.link.bandwidth=256GB/s"},
  };
  std::size_t turn = 0;
  for (const auto& [product, change] : more) {
    if (turn++ % one_case_in(2, 1) != 0) continue;
    PlannedProduct better = product;
    better.overrides.push_back(change);
    EXPECT_LE(microseconds(better), 1.02 * microseconds(product)) << text_of(better);
  }
}

// Which plans were measured depended on replays of the machine: the best one of the slower machine dropped out. These
// took 1.045, 1.042 and 1.021 times as long.
TEST(PlanQuality, WhatLiesBesideTheShortestPlanIsMeasuredWhereThatIsCheap) {
  NOT_UNDER_SANITIZERS("long");
  const std::vector<std::string> small{"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[2, 2]", "cube.hbm.bandwidth=600GB/s"};
  const std::vector<std::string> slow{"sip.cubes.mesh=[2, 2]", "cube.noc.link.latency=10ns", "cube.hbm.latency=200ns"};
  const std::vector<std::pair<PlannedProduct, std::string>> more{
      {{"tiny", {"sip.cubes.mesh=[2, 2]"}, 64, 1024, 256}, "cube.noc.link.bandwidth=256GB/s"},
      {{"tiny", slow, 64, 1024, 256}, "cube.noc.link.bandwidth=256GB/s"},
      {{"ahbm-1sip", small, 512, 512, 512}, "cube.hbm.latency=45ns"},
  };
  for (const auto& [product, change] : more) {
    PlannedProduct better = product;
    better.overrides.push_back(change);
    EXPECT_LE(microseconds(better), 1.02 * microseconds(product)) << text_of(better);
  }
}

// The estimate took links for shared by a constant: these took 57.0, and 12.7 us, the grids found now 42.3 and 9.6.
TEST(PlanQuality, GridsAreChosenByWhatMeetsOnSlicesAndLinks) {
  NOT_UNDER_SANITIZERS("long");
  PlannedProduct square{"ahbm-1sip", {}, 2048, 2048, 1024, false}, flat{"ahbm-1sip", {"pe.clock=4GHz"}, 64, 12288, 256};
  square.quick = flat.quick = true;
  EXPECT_LE(microseconds(flat), 11);
  if (takes_all_cases()) {
    EXPECT_LE(microseconds(square), 46);
  }
}

// Its steps asked one holder of B after the other: 11.7 us.
TEST(PlanQuality, StepsAskAllHoldersOfAnOperandThatAllProgramsRead) {
  const PlannedProduct slow{
      "ahbm-1sip", {"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[2, 2]", "cube.hbm.bandwidth=200GB/s"}, 64, 1024, 256,
      false};
  EXPECT_LE(microseconds(slow), 10);
}

// A grid whose programs all read over one link of the mesh took 1.4 times as long, 9.3 us.
TEST(PlanQuality, TheBusiestLinkOfTheMeshCounts) {
  NOT_UNDER_SANITIZERS("long");
  PlannedProduct qkv{"ahbm-1sip", {}, 512, 768, 256, false};
  qkv.quick = true;
  const double rows = microseconds(qkv);
  qkv.by_columns = true;
  EXPECT_LE(microseconds(qkv), 1.1 * rows);
}

// Short first steps, whose rows of B lie in few cubes, took 2.6 times as long: 69 us.
TEST(PlanQuality, FirstStepsAskMoreThanFewCubesForB) {
  NOT_UNDER_SANITIZERS("long");
  if (!takes_all_cases()) GTEST_SKIP() << "ten seconds: make test-full";
  PlannedProduct wide{"ahbm-1sip", {}, 512, 3072, 1024, false};
  wide.quick = true;
  EXPECT_LE(microseconds(wide), 36);
}

/// Rows of weights [out, in] of 28 KiB: tall tiles have more pages in each step than the TLB has entries, and walk the
/// page table again for every step of k.
TEST(PlanQuality, NoStepHasMorePagesThanTheTlbHolds) {
  NOT_UNDER_SANITIZERS("times only");
  SimulateOptions options;
  options.data = false;
  options.quick_plans = true;
  const RunResult result = simulate(options, [] {
    const auto half = torch::dtype(torch::kHalf).device("ahbm");
    torch::linear(torch::empty({1, 14336}, half), torch::empty({4096, 14336}, half));
    torch::ahbm::synchronize();
  });
  const LaunchResult& product = result.launches.back();
  const double bytes_at_peak_us = 4096 * 14336 * 2.0 / 300e9 * 1e6;
  EXPECT_LT((product.end - product.start).in_seconds() * 1e6, 1.3 * bytes_at_peak_us);
}

TEST(PlanQuality, TilesCountTheTcmsAlignment) {
  NOT_UNDER_SANITIZERS("long");
  for (const char* topology : {"tiny", "ahbm-1sip"}) {
    if (topology != std::string("tiny") && !takes_all_cases()) continue;
    const RunResult coarse = run({topology, {"pe.tcm.alignment=256KiB"}, 512, 512, 512});
    EXPECT_FALSE(coarse.error) << coarse.error->message;
    // Four tiles of 1 MiB: the whole TCM, which is one program's when the PE runs one at a time.
    const RunResult alone = run({topology, {"pe.tcm.alignment=1MiB", "pe.contexts=1"}, 512, 512, 512});
    EXPECT_FALSE(alone.error) << alone.error->message;
    const RunResult none = run({topology, {"pe.tcm.alignment=1MiB"}, 512, 512, 512});
    ASSERT_TRUE(none.error);
    EXPECT_EQ(none.error->type, "OutOfMemoryError");
    for (const char* part : {"no tile fits into 2 MiB of the TCM", "need 4 MiB", "pe.tcm.alignment of 1 MiB"})
      EXPECT_NE(none.error->message.find(part), std::string::npos) << none.error->message;
  }
}

TEST(PlanQuality, ASmallTcmHasAPlanToo) {
  for (const char* capacity : {"64KiB", "16KiB", "4KiB"}) {
    PlannedProduct product{
        "tiny", {std::string("pe.tcm.capacity=") + capacity, "pe.ipcq.capacity=1KiB"}, 128, 128, 128};
    product.quick = kSanitized;
    const RunResult result = run(product);
    EXPECT_FALSE(result.error) << capacity << ": " << result.error->message;
  }
}

}  // namespace
}  // namespace kernbench
