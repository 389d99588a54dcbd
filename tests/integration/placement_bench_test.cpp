// What copies and placements cost: the figures of the benches copy_bandwidth, va_offset_verify and gpt3_qkv.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/bench_registry.h"
#include "programs.h"

namespace kernbench {
namespace {

RunResult run(const std::string& name, const cli::RunOptions& options) {
  for (const auto& bench : cli::built_in_benches()) {
    if (bench.name != name) continue;
    RunResult result = cli::execute(bench, options);
    if (result.error) ADD_FAILURE() << result.error->type << ": " << result.error->message;
    return result;
  }
  throw std::logic_error("no bench " + name);
}

cli::RunOptions on_tiny(std::map<std::string, std::string> parameters = {}, std::vector<std::string> overrides = {}) {
  cli::RunOptions options;
  options.topology = "tiny";
  options.parameters = std::move(parameters);
  options.overrides = std::move(overrides);
  return options;
}

double metric(const RunResult& result, const std::string& name) {
  const auto entry = result.metrics.find(name);
  if (entry == result.metrics.end()) {
    ADD_FAILURE() << "no metric " << name;
    return 0;
  }
  return entry->second.value;
}

void expect_all_checks_pass(const RunResult& result, std::size_t count) {
  EXPECT_EQ(result.checks.size(), count);
  for (const auto& check : result.checks) {
    EXPECT_EQ(check.status, CheckStatus::passed) << check.name;
    EXPECT_EQ(check.max_abs_error, 0) << check.name;
  }
}

TEST(PlacementBenches, AreTheSameInEveryMode) {
  const std::vector<std::pair<std::string, std::map<std::string, std::string>>> cases{
      {"copy_bandwidth", {{"largest", "65536"}}},
      {"va_offset_verify", {}},
      {"gpt3_qkv", {{"hidden", "64"}, {"tokens", "48"}}}};
  for (const auto& [name, parameters] : cases) {
    const cli::RunOptions base = on_tiny(parameters, {"sip.cubes.mesh=[2, 1]"});
    cli::RunOptions exact = base, dataless = base, threads = base;
    exact.exact_events = true;
    dataless.data = false;
    threads.threads = 3;
    const RunResult expected = run(name, base);
    for (const auto& options : {exact, dataless, threads}) {
      const RunResult result = run(name, options);
      EXPECT_EQ(result.times_fingerprint, expected.times_fingerprint) << name;
      if (options.data) {
        EXPECT_EQ(result.values_fingerprint, expected.values_fingerprint) << name;
      }
    }
  }
}

// ---- copy_bandwidth ------------------------------------------------------------------------------------------------

// A copy of one chunk: host.launch_overhead, the doorbell, messages of 600.5 ns to and from the host and of 10.25 ns to
// and from the slice, the latencies of the way, and the slowest stage: a channel of 300 GB/s / 8.
TEST(PlacementBenches, CopiesOfOneChunkTakeTheTimeOfTheLaw) {
  const RunResult result = run("copy_bandwidth", on_tiny({{"largest", "1024"}}));
  expect_all_checks_pass(result, 5);
  for (const int bytes : {64, 128, 256, 512, 1024}) {
    const double channel = std::ceil(bytes * 8 / 0.3);
    const double to_host = 2'000'000 + 1 + 600'500 + 10'250 + 700'000 + channel, to_device = to_host + 600'500;
    const std::string at = std::to_string(bytes) + " B";
    EXPECT_NEAR(metric(result, "host to device, " + at), bytes * 1e3 / to_device, 1e-9) << at;
    EXPECT_NEAR(metric(result, "device to host, " + at), bytes * 1e3 / to_host, 1e-9) << at;
  }
}

TEST(PlacementBenches, CopiesGrowWithTheirSizeUpToTheHostLink) {
  for (const char* place : {"one_pe", "device"}) {
    auto options = on_tiny({{"factor", "4"}, {"place", place}});
    options.data = false;
    const RunResult result = run("copy_bandwidth", options);
    for (const char* direction : {"host to device, ", "device to host, "}) {
      double last = 0;
      for (std::int64_t bytes = 64; bytes <= std::int64_t{64} << 20; bytes *= 4) {
        const double rate = metric(result, direction + std::to_string(bytes) + " B");
        EXPECT_GT(rate, last) << place << " " << direction << bytes;
        last = rate;
      }
      EXPECT_LT(last, 64) << place << " " << direction;
      EXPECT_GT(last, 64 * 0.99) << place << " " << direction;
    }
  }
}

TEST(PlacementBenches, CopiesWithinADeviceAreBoundByItsSlicesAndScaleWithItsPes) {
  auto options = on_tiny({{"smallest", "16777216"}, {"largest", "16777216"}});
  options.data = false;
  const auto within = [&](const char* place) {
    options.parameters["place"] = place;
    return metric(run("copy_bandwidth", options), "within the device, 16777216 B");
  };
  // Each byte is read and written by the one slice of 150 GB/s.
  const double one = within("one_pe"), all = within("device");
  EXPECT_LT(one, 75);
  EXPECT_GT(one, 0.75 * 75);
  EXPECT_GT(all, 1.9 * one);
}

TEST(PlacementBenches, CopiesOfAGibibyteRunWithoutData) {
  if (testing::kSanitized) GTEST_SKIP() << "long; runs in plain builds";
  auto options = on_tiny({{"smallest", "1073741824"}, {"largest", "1073741824"}});
  options.data = false;
  const RunResult result = run("copy_bandwidth", options);
  EXPECT_NEAR(metric(result, "host to device, 1073741824 B"), 64, 0.064);
}

// ---- va_offset_verify ----------------------------------------------------------------------------------------------

TEST(PlacementBenches, EveryPeReadsItsSliceThroughAnOffsetUnderEveryPolicy) {
  const std::vector<std::vector<std::string>> machines{
      {}, {"sip.cubes.mesh=[2, 2]"}, {"sip.cubes.mesh=[3, 2]", "cube.pes.mesh=[3, 2]", "cube.hbm.channels=24"}};
  for (const auto& overrides : machines) {
    for (const auto& [rows, columns] : {std::pair{"37", "29"}, std::pair{"1", "1"}, std::pair{"2", "300"}}) {
      SCOPED_TRACE(std::string(rows) + " x " + columns);
      expect_all_checks_pass(run("va_offset_verify", on_tiny({{"rows", rows}, {"columns", columns}}, overrides)), 25);
    }
  }
  expect_all_checks_pass(run("va_offset_verify", on_tiny({{"cubes", "3"}, {"pes", "1"}}, {"sip.cubes.mesh=[2, 2]"})),
                         25);
}

// ---- gpt3_qkv ------------------------------------------------------------------------------------------------------

constexpr const char* kLayouts[] = {"row_wise", "column_wise", "replicate_row_wise", "replicate_column_wise",
                                    "replicate"};

struct Cost {
  double ns;
  std::int64_t noc_bytes, hbm_bytes;
};

/// What one product takes and moves: of a run with two products less one with one, so that the uploads drop out.
Cost cost_of(cli::RunOptions options, const char* layout) {
  options.data = false;
  options.parameters["placement"] = layout;
  Cost cost{.ns = 0, .noc_bytes = 0, .hbm_bytes = 0};
  for (const std::int64_t sign : {-1, 1}) {
    options.parameters["repeat"] = sign > 0 ? "2" : "1";
    const RunResult result = run("gpt3_qkv", options);
    if (sign < 0) cost.ns = metric(result, std::string("time, ") + layout);
    for (const auto& resource : result.resources)
      if (resource.name.find(".router.") != std::string::npos) cost.noc_bytes += sign * resource.bytes.count();
    for (const auto& launch : result.launches) cost.hbm_bytes += sign * launch.hbm_bytes.count();
  }
  return cost;
}

TEST(PlacementBenches, QkvIsRightUnderEveryPlacementInEveryDtypeAndOrder) {
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    for (const char* order : {"exact", "any"}) {
      const auto options =
          on_tiny({{"hidden", "96"}, {"tokens", "70"}, {"dtype", dtype}, {"order", order}}, {"sip.cubes.mesh=[2, 1]"});
      expect_all_checks_pass(run("gpt3_qkv", options), std::size(kLayouts));
    }
  }
}

TEST(PlacementBenches, QkvOnTinyIsFastestWhereLeastMovesAndSlowestWhereMost) {
  const auto options = on_tiny({{"hidden", "512"}, {"tokens", "512"}}, {"sip.cubes.mesh=[2, 2]"});
  std::vector<Cost> costs;
  for (const char* layout : kLayouts) costs.push_back(cost_of(options, layout));
  const auto [fastest, slowest] = std::ranges::minmax(costs, {}, &Cost::ns);
  const auto [least, most] = std::ranges::minmax(costs, {}, &Cost::noc_bytes);
  EXPECT_EQ(fastest.noc_bytes, least.noc_bytes);
  EXPECT_EQ(slowest.noc_bytes, most.noc_bytes);
}

TEST(PlacementBenches, QkvOnAhbm1SipIsFasterTheLessMoves) {
  if (testing::kSanitized) GTEST_SKIP() << "long; runs in plain builds";
  cli::RunOptions options;
  options.topology = "ahbm-1sip";
  options.parameters = {{"hidden", "512"}};
  std::vector<Cost> costs;
  for (const char* layout : kLayouts) {
    costs.push_back(cost_of(options, layout));
    const Cost& cost = costs.back();
    RecordProperty(layout, std::to_string(cost.ns) + " ns, NoC " + std::to_string(cost.noc_bytes) + " B, HBM " +
                               std::to_string(cost.hbm_bytes) + " B");
    // All operands and the result pass the HBM once at least.
    EXPECT_GE(cost.hbm_bytes, 2 * (512 * 512 + 512 * 1536 + 512 * 1536)) << layout;
  }
  for (const Cost& a : costs)
    for (const Cost& b : costs)
      if (a.noc_bytes < b.noc_bytes) {
        EXPECT_LT(a.ns, b.ns) << a.noc_bytes << " B against " << b.noc_bytes;
      }
  EXPECT_NE(costs.front().noc_bytes, costs.back().noc_bytes);
}

}  // namespace
}  // namespace kernbench
