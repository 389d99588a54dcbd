// What copies and placements cost: the figures of the benches copy_bandwidth, va_offset_verify and gpt3_qkv.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "benches/va_offset.h"
#include "built_in_bench.h"
#include "programs.h"
#include "runtime/context.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "topology/network.h"

namespace kernbench::placement_bench_test {
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

BenchOptions on_tiny(std::map<std::string, std::string> parameters = {}, std::vector<std::string> overrides = {}) {
  BenchOptions options;
  options.topology = "tiny";
  options.given = std::move(parameters);
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
      {"copy_bandwidth", {{"largest", "65536"}, {"place", "far_pe"}}},
      {"va_offset_verify", {}},
      {"gpt3_qkv", {{"hidden", "64"}, {"tokens", "48"}}},
      {"gpt3_weights", {{"layers", "2"}, {"hidden", "48"}, {"vocabulary", "101"}, {"positions", "20"}}}};
  std::size_t turn = 0;
  for (const auto& [name, parameters] : cases) {
    const BenchOptions base = on_tiny(parameters, {"sip.cubes.mesh=[2, 1]"});
    BenchOptions exact = base, dataless = base, threads = base;
    exact.exact_events = true;
    dataless.data = false;
    threads.threads = 3;
    const RunResult expected = run(name, base);
    for (const auto& options : {exact, dataless, threads}) {
      if (turn++ % one_case_in(1, 4) != 0) continue;
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
  NOT_UNDER_SANITIZERS("long");
  for (const char* place : {"near_pe", "far_pe", "device"}) {
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
    options.given["place"] = place;
    return metric(run("copy_bandwidth", options), "within the device, 16777216 B");
  };
  // Each byte is read and written by the one slice of 150 GB/s.
  const double one = within("near_pe"), all = within("device");
  EXPECT_LT(one, 75);
  EXPECT_GT(one, 0.75 * 75);
  EXPECT_GT(all, 1.9 * one);
}

TEST(PlacementBenches, CopiesOfAGibibyteRunWithoutData) {
  NOT_UNDER_SANITIZERS("long");
  auto options = on_tiny({{"smallest", "1073741824"}, {"largest", "1073741824"}});
  options.data = false;
  const RunResult result = run("copy_bandwidth", options);
  EXPECT_NEAR(metric(result, "host to device, 1073741824 B"), 64, 0.064);
}

TEST(PlacementBenches, CopiesBetweenDevicesGrowUpToTheNarrowestLinkOfTheirWay) {
  NOT_UNDER_SANITIZERS("times only");
  for (const char* place : {"near_pe", "far_pe", "device"}) {
    auto options = on_tiny({{"factor", "16"}, {"smallest", "256"}, {"largest", "16777216"}, {"place", place}},
                           {"system.sips.count=3"});
    options.data = false;
    const RunResult result = run("copy_bandwidth", options);
    double last = 0;
    for (std::int64_t bytes = 256; bytes <= 16777216; bytes *= 16) {
      const double rate = metric(result, "device to device, " + std::to_string(bytes) + " B");
      EXPECT_GT(rate, last) << place << bytes;
      last = rate;
    }
    // Of one slice its link to the router, of both the link between the SIPs.
    const double narrowest = std::string(place) == "device" ? 200 : 128;
    EXPECT_LT(last, narrowest) << place;
    EXPECT_GT(last, narrowest * 0.9) << place;
  }
}

TEST(PlacementBenches, CopiesBetweenDevicesArriveAsTheyWere) {
  for (const char* place : {"near_pe", "far_pe", "device"}) {
    for (const char* peer : {"1", "2"}) {
      const auto options = on_tiny({{"largest", "4096"}, {"place", place}, {"peer", peer}},
                                   {"system.sips.count=3", "sip.cubes.mesh=[2, 1]"});
      expect_all_checks_pass(run("copy_bandwidth", options), 14);
    }
  }
}

// Of copies of one chunk: what differs is the way between the IO chiplet and the slice, there and back.
TEST(PlacementBenches, SmallCopiesOfTheFarSliceTakeLongerByTheLatencyOfItsWay) {
  const std::vector<std::string> machine{"system.sips.count=2", "sip.cubes.mesh=[2, 2]"};
  Time farther;
  simulate({.topology = "tiny", .overrides = machine}, [&] {
    using topology::Endpoint;
    const topology::Network network(runtime::current_context("test").simulation.topology());
    const auto there_and_back = [&](PeCoordinate at) {
      const auto io = Endpoint::io_cpu(at.sip), slice = Endpoint::hbm_slice(at);
      return network.latency(network.route(io, slice)) + network.latency(network.route(slice, io));
    };
    farther = there_and_back({SipId{0}, CubeId{3}, PeId{1}}) - there_and_back({SipId{0}, CubeId{0}, PeId{0}});
  });
  ASSERT_GT(farther, Time::zero());
  std::map<std::string, double> ps;
  for (const char* place : {"near_pe", "far_pe"}) {
    const RunResult result = run("copy_bandwidth", on_tiny({{"largest", "1024"}, {"place", place}}, machine));
    for (const std::string way : {"host to device, ", "device to host, ", "device to device, "}) {
      for (const int bytes : {64, 256, 1024}) {
        const std::string name = way + std::to_string(bytes) + " B";
        const double took = bytes * 1e3 / metric(result, name);
        if (std::string(place) == "near_pe") {
          ps[name] = took;
        } else {
          // From device to device it is once on each side.
          const double sides = way == "device to device, " ? 2 : 1;
          EXPECT_NEAR(took - ps[name], sides * static_cast<double>(farther.count()), 1e-2) << name;
        }
      }
    }
  }
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

// ---- gpt3_weights --------------------------------------------------------------------------------------------------

// At GPT-3's own size: tests/cli/footprint_test.cpp. With data the marks at the ends of the shards are looked at.
TEST(PlacementBenches, WeightsAreAllocatedAddressedAndGivenBackUnderEveryPlacement) {
  const std::vector<std::vector<std::string>> machines{
      {}, {"sip.cubes.mesh=[2, 2]"}, {"sip.cubes.mesh=[3, 1]", "cube.pes.mesh=[3, 1]", "cube.hbm.channels=24"}};
  std::size_t turn = 0;
  for (const auto& overrides : machines) {
    for (const char* placement : {"row_wise", "column_wise", "tiled_row_major", "tiled_column_major"}) {
      for (const std::int64_t hidden : {1, 5, 48}) {
        if (turn++ % one_case_in(1, 4) != 0) continue;
        SCOPED_TRACE(std::string(placement) + ", hidden " + std::to_string(hidden));
        const RunResult result = run("gpt3_weights", on_tiny({{"layers", "3"},
                                                              {"hidden", std::to_string(hidden)},
                                                              {"vocabulary", "101"},
                                                              {"positions", "20"},
                                                              {"placement", placement}},
                                                             overrides));
        const std::int64_t layer = hidden * 3 * hidden + hidden * hidden + 2 * hidden * 4 * hidden +  // matrices
                                   3 * hidden + hidden + 4 * hidden + hidden +                        // their biases
                                   4 * hidden;                                                        // norms
        const std::int64_t parameters = 3 * layer + 121 * hidden + 2 * hidden;
        EXPECT_EQ(metric(result, "parameters"), static_cast<double>(parameters));
        EXPECT_EQ(metric(result, "bytes requested"), static_cast<double>(2 * parameters));
        EXPECT_EQ(metric(result, "tensors"), 3 * 12 + 4);
        EXPECT_GE(metric(result, "shards"), 3 * 12 + 4);
        EXPECT_GE(metric(result, "bytes allocated"), 4096 * metric(result, "shards"));
        EXPECT_EQ(metric(result, "bytes left"), 0);
        EXPECT_EQ(result.launches.size(), 1 + 1 + 2 * (3 * 3 + 1));  // a fill, one that counts PEs, two for each group
      }
    }
  }
}

TEST(PlacementBenches, EveryPeReadsItsSliceOnALargeMachine) {
  NOT_UNDER_SANITIZERS("long");
  for (const auto& [rows, columns] : {std::pair{"37", "29"}, std::pair{"150", "3"}}) {
    BenchOptions options;
    options.topology = "ahbm-1sip";
    options.given = {{"rows", rows}, {"columns", columns}};
    expect_all_checks_pass(run("va_offset_verify", options), 25);
  }
}

std::vector<DPPolicy> all_policies() {
  std::vector<DPPolicy> policies;
  for (const auto& [cube, cube_name] : benches::kPlacements)
    for (const auto& [pe, pe_name] : benches::kPlacements) policies.push_back({.cube = cube, .pe = pe});
  return policies;
}

/// The boxes of a tensor on each PE of `tiny` with 2 x 2 cubes, as a comparable text.
std::string boxes_of(const DPPolicy& policy, std::int64_t rows, std::int64_t columns) {
  std::string text;
  for (const auto& shard : resolve_dp_policy(policy, std::vector{rows, columns}, 4, 2, 4, SipId{0})) {
    text += std::to_string(shard.cube.value) + "." + std::to_string(shard.pe.value) + ":";
    for (const auto& list : {shard.offset, shard.shape})
      for (const auto number : list) text += " " + std::to_string(number);
    text += "\n";
  }
  return text;
}

// Mapped as another policy says, or to other bytes in one PE: the bench must see both.
TEST(PlacementBenches, AMappingToAnotherPeIsFound) {
  constexpr std::int64_t kRows = 7, kColumns = 11;
  const auto policies = all_policies();
  std::size_t found = 0;
  simulate(testing::tiny({"sip.cubes.mesh=[2, 2]"}), [&] {
    const auto host = torch::arange(kRows * kColumns, torch::kInt).view({kRows, kColumns});
    std::size_t turn = 0;
    for (const DPPolicy& mapped : policies) {
      const auto x = host.to(torch::dtype(torch::kInt).device("ahbm").placement(mapped));
      for (const DPPolicy& meant : policies) {
        if (turn++ % one_case_in(1, 5) != 0) continue;
        const bool same = boxes_of(mapped, kRows, kColumns) == boxes_of(meant, kRows, kColumns);
        EXPECT_EQ(benches::verify_own_slices("mapping", x, host, meant, {.cubes = 4, .pes = 2}), same)
            << boxes_of(mapped, kRows, kColumns) << "instead of\n"
            << boxes_of(meant, kRows, kColumns);
        found += same ? 0 : 1;
      }
    }
  });
  EXPECT_GT(found, kSanitized ? 40u : 400u);
}

/// Lets the PE read, for its first element, the bytes of another one: as if an address were translated wrongly.
void misread(tl::Tensor x) {
  if (x.local_shard_count() == 0) return;
  const auto box = x.local_shard(0);
  const std::int64_t mine = box.offset[0] * x.size(1) + box.offset[1];
  tl::store(x.data_ptr() + mine, tl::load(x.data_ptr() + (mine + 1) % x.numel()));
}

TEST(PlacementBenches, AnAddressThatLeadsToOtherBytesIsFoundOnEveryPe) {
  constexpr std::int64_t kRows = 7, kColumns = 11;
  std::size_t found = 0;
  simulate(testing::tiny({"sip.cubes.mesh=[2, 2]"}), [&] {
    const auto host = torch::arange(kRows * kColumns, torch::kInt).view({kRows, kColumns});
    for (const DPPolicy& policy : all_policies()) {
      for (const auto& shard : resolve_dp_policy(policy, std::vector{kRows, kColumns}, 4, 2, 4, SipId{0})) {
        const auto x = host.to(torch::dtype(torch::kInt).device("ahbm").placement(policy));
        EXPECT_TRUE(benches::verify_own_slices("as it is", x, host, policy, {.cubes = 4, .pes = 2}));
        torch::launch({.pes = {{shard.cube, shard.pe}}}, "misread", misread, x);
        EXPECT_FALSE(benches::verify_own_slices("misread", x, host, policy, {.cubes = 4, .pes = 2}));
        ++found;
      }
    }
  });
  EXPECT_GT(found, 150u);
}

// ---- gpt3_qkv ------------------------------------------------------------------------------------------------------

constexpr const char* kLayouts[] = {"row_wise", "column_wise", "replicate_row_wise", "replicate_column_wise",
                                    "replicate"};

struct Cost {
  double ns;
  std::int64_t noc_bytes, hbm_bytes;
};

/// What one product takes and moves: of a run with two products less one with one, so that the uploads drop out.
Cost cost_of(BenchOptions options, const char* layout) {
  options.data = false;
  options.given["placement"] = layout;
  Cost cost{.ns = 0, .noc_bytes = 0, .hbm_bytes = 0};
  for (const std::int64_t sign : {-1, 1}) {
    options.given["repeat"] = sign > 0 ? "2" : "1";
    const RunResult result = run("gpt3_qkv", options);
    if (sign < 0) cost.ns = metric(result, std::string("time, ") + layout);
    for (const auto& resource : result.resources)
      if (resource.name.find(".router.") != std::string::npos) cost.noc_bytes += sign * resource.bytes.count();
    for (const auto& launch : result.launches) cost.hbm_bytes += sign * launch.hbm_bytes.count();
  }
  return cost;
}

TEST(PlacementBenches, QkvIsRightUnderEveryPlacementInEveryDtypeAndOrder) {
  for (const std::string dtype : {"f16", "bf16", "f32"}) {
    for (const std::string order : {"exact", "any"}) {
      if (kSanitized && (dtype == "f16") != (order == "exact")) continue;
      auto options =
          on_tiny({{"hidden", "96"}, {"tokens", "70"}, {"dtype", dtype}, {"order", order}}, {"sip.cubes.mesh=[2, 1]"});
      options.quick_plans = true;
      expect_all_checks_pass(run("gpt3_qkv", options), std::size(kLayouts));
    }
  }
}

TEST(PlacementBenches, QkvOnTinyIsWithinSevenPercentOfTheFastestWhereLeastMovesAndOfTheSlowestWhereMost) {
  NOT_UNDER_SANITIZERS("long");
  auto options = on_tiny({{"hidden", "512"}, {"tokens", "512"}}, {"sip.cubes.mesh=[2, 2]"});
  options.quick_plans = !takes_all_cases();
  std::vector<Cost> costs;
  for (const char* layout : kLayouts) costs.push_back(cost_of(options, layout));
  const auto [fastest, slowest] = std::ranges::minmax(costs, {}, &Cost::ns);
  const auto [least, most] = std::ranges::minmax(costs, {}, &Cost::noc_bytes);
  EXPECT_LE(static_cast<double>(least.ns), 1.07 * static_cast<double>(fastest.ns));
  EXPECT_LE(static_cast<double>(slowest.ns), 1.07 * static_cast<double>(most.ns));
}

}  // namespace
}  // namespace kernbench::placement_bench_test
