// What the library and one PE attain of the machine's limits: the figures of the benches gemm, roofline and
// memory_sweep.
#include <gtest/gtest.h>

#include <cmath>

#include "built_in_bench.h"
#include "programs.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

/// Of a run of a built-in bench.
struct BenchOptions : SimulateOptions {
  cli::ParameterTexts given;
};

RunResult run(const std::string& name, const BenchOptions& options) {
  RunResult result = run_built_in(name, options.given, options);
  if (result.error) ADD_FAILURE() << result.error->type << ": " << result.error->message;
  return result;
}

double share_of_peak(const RunResult& result) {
  double ns = 0, flops = 0;
  for (const auto& launch : result.launches) {
    ns += (launch.end - launch.start).in_seconds() * 1e9;
    flops += launch.flops;
  }
  return flops / (result.peak_flops * ns * 1e-9);
}

TEST(LibraryBenches, GemmOf4096AttainsMoreThan85PercentOfTheRoofline) {
  NOT_UNDER_SANITIZERS("long");
  // 4096^3 of f16 on 128 PEs of 64 x 64 at 1 GHz: 131.07 us at the peak, from the command to the completion at the
  // host.
  for (const auto& [placement, order] : {std::pair{"columns", "exact"}, std::pair{"cube_rows", "any"}}) {
    if (order == std::string("any") && !takes_all_cases()) continue;
    BenchOptions options;
    options.topology = "ahbm-1sip";
    options.data = false;
    options.given = {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}, {"b", placement}, {"order", order}};
    const RunResult result = run("gemm", options);
    EXPECT_GE(share_of_peak(result), 0.85) << placement;
    RecordProperty(placement, std::to_string(share_of_peak(result)));
  }
}

TEST(LibraryBenches, GemmIsRightInEveryTypeTransposedPlacedAndOrdered) {
  std::size_t number = 0;
  for (const char* dtype : {"f16", "bf16", "f32", "f8e4m3", "f8e5m2", "i8", "u8", "i32"}) {
    for (const char* placement : {"columns", "cube_rows", "rows"}) {
      const bool in_turn = number % 3 == number / 3 % 3;  // each type once, by placements in turn
      ++number;
      if (kSanitized && !in_turn) continue;
      BenchOptions options;
      options.topology = "tiny";
      options.overrides = {"sip.cubes.mesh=[2, 2]"};
      options.quick_plans = true;
      options.given = {{"M", "70"},
                       {"N", "65"},
                       {"K", "130"},
                       {"dtype", dtype},
                       {"b", placement},
                       {"transpose_b", "true"},
                       {"transpose_a", placement == std::string("rows") ? "true" : "false"},
                       {"order", placement == std::string("columns") ? "exact" : "any"}};
      const RunResult result = run("gemm", options);
      ASSERT_EQ(result.checks.size(), 1u);
      EXPECT_EQ(result.checks[0].status, CheckStatus::passed) << dtype << " " << placement;
      EXPECT_EQ(result.checks[0].max_abs_error, 0) << dtype << " " << placement;
    }
  }
}

double metric(const RunResult& result, const std::string& name) {
  const auto entry = result.metrics.find(name);
  if (entry == result.metrics.end()) {
    ADD_FAILURE() << "no metric " << name;
    return 0;
  }
  return entry->second.value;
}

TEST(LibraryBenches, RooflineReachesBothOfItsLinesAndCrossesWhereTheyCross) {
  BenchOptions options;
  options.topology = "tiny";
  options.given = {{"steps", "64"}};
  options.data = false;
  const RunResult result = run("roofline", options);
  // tiny: 64 x 64 at 1 GHz, 2 FLOP each; one slice: 150 GB/s of HBM.
  const double peak = 2 * 64 * 64, bandwidth = 150;
  double crossing = 0;
  for (int power = -4; power <= 4; ++power) {
    const std::string at = " at 2^" + std::to_string(power) + " products for each load";
    const double intensity = metric(result, "intensity" + at), attained = metric(result, "attained" + at);
    EXPECT_LE(attained, 1.01 * std::min(peak, intensity * bandwidth)) << at;
    if (intensity * bandwidth < peak / 2) {
      EXPECT_NEAR(attained, intensity * bandwidth, 0.02 * attained) << at;
    } else if (intensity * bandwidth > peak) {
      EXPECT_NEAR(attained, peak, 0.001 * attained) << at;
    }
    if (crossing == 0 && attained > 0.95 * peak) crossing = intensity;
  }
  EXPECT_NEAR(metric(result, "attained at most"), peak, 0.001 * peak);
  EXPECT_NEAR(metric(result, "bandwidth at most"), bandwidth, 0.01 * bandwidth);
  const double ridge = peak / bandwidth;
  EXPECT_LE(std::abs(std::log2(crossing / ridge)), 1) << crossing << " against " << ridge;
}

TEST(LibraryBenches, RooflineChecksItsProducts) {
  BenchOptions options;
  options.topology = "tiny";
  options.given = {{"tile", "64"}, {"depth", "64"}, {"sweep", "2"}, {"steps", "4"}};
  const RunResult result = run("roofline", options);
  ASSERT_EQ(result.checks.size(), 5u);
  for (const auto& check : result.checks) EXPECT_EQ(check.status, CheckStatus::passed) << check.name;
}

// Loads have a response buffer each; stores under way share one queue for each stage, where the first chunk blocks
// those behind it: with four channels chosen by address they reach 0.6 of the bandwidth or more, and not in order of
// size.
TEST(LibraryBenches, MemorySweepGrowsWithTheBlockUpToTheNarrowestPart) {
  NOT_UNDER_SANITIZERS("long");
  BenchOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  options.overrides = {"cube.noc.link.bandwidth=128GB/s", "sip.cubes.link.bandwidth=256GB/s"};
  for (const char* access : {"load", "store"}) {
    if (access == std::string("store") && !takes_all_cases()) continue;
    options.given = {{"access", access}};
    const RunResult result = run("memory_sweep", options);
    // A slice has 0.92 * 1.2 TB/s / 8. For the others a NoC link has 128 GB/s, and the edge to the next cube in the
    // column four lanes of 64, of which 15/16 are payload.
    for (const auto& [place, limit] :
         {std::pair{"own slice", 138.0}, std::pair{"same cube", 128.0}, std::pair{"other cube", 60.0}}) {
      double last = 0;
      for (int bytes = 64; bytes <= 262144; bytes *= 2) {
        const double rate = metric(result, std::string(place) + ", " + std::to_string(bytes) + " B");
        EXPECT_LE(rate, limit * 1.01) << access << " " << place << " " << bytes;
        if (access == std::string("load")) {
          EXPECT_GE(rate, last * 0.99) << place << " " << bytes;
        } else if (bytes >= 4096) {
          EXPECT_GE(rate, limit * 0.55) << place << " " << bytes;
        }
        last = rate;
      }
      EXPECT_GE(last, (access == std::string("load") ? 0.97 : 0.55) * limit) << access << " " << place;
    }
  }
}

}  // namespace
}  // namespace kernbench
