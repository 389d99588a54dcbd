// The built-in benches: right numbers, the same in every mode, never slower on a faster machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "built_in_bench.h"
#include "programs.h"
#include "report/sections/table.h"
#include "report/text/utf8.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/test_files.h"
#include "tests/support/source_tree.h"

namespace kernbench {
namespace {

/// How a bench is run here: small.
struct Case {
  std::string bench;
  std::map<std::string, std::string> parameters;
  int sips = 1;
  bool takes_dtype = true;
  double largest_error = 0;
  bool checks = true;             // it has checks
  bool same_without_data = true;  // it does nothing more for its checks
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"vector_add", {{"n", "20000"}, {"block", "1024"}}},
      {"gemm", {{"M", "96"}, {"N", "80"}, {"K", "112"}, {"tile_m", "32"}, {"tile_n", "32"}, {"tile_k", "48"}}},
      {"gemm_single_pe", {{"M", "64"}, {"N", "64"}, {"K", "64"}, {"tile_m", "32"}, {"tile_n", "32"}, {"tile_k", "32"}}},
      {"softmax", {{"rows", "40"}, {"columns", "96"}}, 1, true, 0.05},
      {"layer_norm", {{"rows", "40"}, {"columns", "96"}}, 1, true, 0.05},
      {"attention",
       {{"heads", "4"}, {"kv_heads", "2"}, {"length", "40"}, {"size", "24"}, {"causal", "true"}},
       1,
       true,
       0.05},
      {"memory_sweep", {{"largest", "256"}, {"bytes", "2048"}}, 1, false, 0, false},
      {"roofline", {{"tile", "32"}, {"depth", "64"}, {"sweep", "1"}, {"steps", "2"}}},
      {"copy_bandwidth", {{"largest", "1024"}, {"factor", "4"}}, 2, false},
      {"va_offset_verify", {{"rows", "5"}, {"columns", "7"}}, 1, false},
      {"gpt3_qkv", {{"hidden", "32"}, {"tokens", "24"}, {"placement", "column_wise"}}},
      {"gpt3_weights",
       {{"layers", "1"}, {"hidden", "48"}, {"vocabulary", "101"}, {"positions", "20"}},
       1,
       false,
       0,
       false},
      {"ccl_allreduce", {{"size", "2400"}, {"iterations", "1"}}, 3, true, 0, true, false},
      {"ccl_collective", {{"size", "2400"}, {"iterations", "1"}}, 3, true, 0, true, false},
      {"p2p_bandwidth", {{"largest", "16384"}}, 2, false},
      {"scaled_add_ddp", {{"n", "3000"}, {"block", "512"}}, 2, false},
      {"tp_mlp", {{"tokens", "16"}, {"hidden", "32"}, {"ffn", "64"}}, 2, true, 0.05},
      {"tp_block", {{"tokens", "16"}, {"hidden", "32"}, {"heads", "4"}, {"ffn", "64"}}, 2, true, 0.05},
      {"gpt", {{"tokens", "9"}, {"new_tokens", "1"}, {"layers", "1"}}, 2, true, 0.05, true, false},
      {"moe", {{"tokens", "12"}, {"hidden", "32"}, {"ffn", "24"}, {"experts", "4"}}, 2, true, 0.05, true, false}};
  return all;
}

RunResult run(const Case& what, SimulateOptions options, cli::ParameterTexts parameters = {}) {
  options.topology = "tiny";
  options.overrides.push_back("system.sips.count=" + std::to_string(what.sips));
  options.quick_plans = what.bench != "gemm";  // one bench stands for those with products
  parameters.insert(what.parameters.begin(), what.parameters.end());
  return run_built_in(what.bench, parameters, options);
}

TEST(Benches, AreAllHere) {
  for (const auto& bench : cli::built_in_benches()) {
    EXPECT_TRUE(std::ranges::any_of(cases(), [&](const Case& what) { return what.bench == bench.name; })) << bench.name;
  }
}

/// A screen: the user's file may be anything, the built-in benches fit, on a small machine and on the largest shipped.
void expect_one_screen(const RunResult& result, const std::string& what) {
  ASSERT_FALSE(result.error) << what << ": " << result.error->message;
  std::istringstream table(report::to_table(result, {.kind = report::TableKind::brief, .cuts = true}));
  std::size_t lines = 0;
  for (std::string line; std::getline(table, line); ++lines) {
    EXPECT_LE(report::display_width(line), 80u) << what << ": " << line;
  }
  EXPECT_LE(lines, 40u) << what;
  EXPECT_TRUE(result.region) << what << " marks what it measures";
}

TEST(Benches, HaveAReportOfOneScreen) {
  for (const std::string topology : {"tiny", "ahbm-2sip"}) {
    if (kSanitized && topology != "tiny") continue;
    for (const auto& what : cases()) {
      SimulateOptions options;
      options.topology = topology;
      options.data = false;
      options.quick_plans = true;
      auto parameters = what.parameters;
      if (what.bench.starts_with("ccl_")) parameters["ranks"] = "2";
      options.overrides = {"system.sips.count=2"};
      expect_one_screen(run_built_in(what.bench, parameters, options), what.bench + " on " + topology);
    }
  }
}

TEST(Benches, HaveAReportOfOneScreenOnSixteenSips) {
  NOT_UNDER_SANITIZERS("long");
  const std::map<std::string, std::map<std::string, std::string>> shared{
      {"ccl_allreduce", {{"ranks", "16"}}},
      {"ccl_collective", {{"ranks", "16"}}},
      {"tp_block", {{"heads", "16"}, {"hidden", "64"}}},
      {"gpt", {{"tp", "8"}, {"pp", "2"}, {"layers", "2"}}},
      {"moe", {{"experts", "16"}, {"tokens", "32"}}},
  };
  for (const auto& what : cases()) {
    SimulateOptions options;
    options.topology = "tiny";
    options.data = false;
    options.quick_plans = true;
    options.overrides = {"system.sips.count=16"};
    auto parameters = what.parameters;
    if (const auto more = shared.find(what.bench); more != shared.end()) {
      for (const auto& [name, value] : more->second) parameters[name] = value;
    }
    expect_one_screen(run_built_in(what.bench, parameters, options), what.bench + " on 16 SIPs");
  }
}

/// As `kernbench run NAME` runs them, with the sizes that they have without parameters, and with as many ranks as SIPs;
/// 8 heads and 8 experts do not divide into 16.
TEST(Benches, HaveAReportOfOneScreenAtFullSizeOnSixteenSipsOfAShippedMachine) {
  if (!takes_all_cases()) GTEST_SKIP() << "minutes: make test-full";
  for (const auto& bench : cli::built_in_benches()) {
    SimulateOptions options;
    options.topology = "ahbm-2sip";
    options.data = false;
    options.overrides = {"system.sips.count=16"};
    cli::ParameterTexts parameters;
    if (bench.name == "gpt") parameters = {{"tp", "8"}, {"pp", "2"}};
    if (bench.name == "moe") parameters = {{"experts", "16"}, {"tokens", "32"}};  // all of them take minutes
    expect_one_screen(run_built_in(bench.name, parameters, options), bench.name + " on 16 SIPs of ahbm-2sip");
  }
}

TEST(Benches, HaveAReportOfOneScreenOnManySips) {
  struct Run {
    const char* bench;
    const char* topology;
    int sips;
  };
  for (const Run& one :
       {Run{"ccl_allreduce", "tiny", 64}, {"tp_mlp", "tiny", 64}, {"ccl_allreduce", "ahbm-2sip", 16}}) {
    const std::string topology = one.topology;
    if (topology != "tiny" && !takes_all_cases()) continue;
    if (kSanitized && one.bench != std::string("tp_mlp")) continue;
    SimulateOptions options;
    options.topology = topology;
    options.data = false;
    options.quick_plans = true;
    options.overrides = {"system.sips.count=" + std::to_string(kSanitized ? one.sips / 8 : one.sips)};
    cli::ParameterTexts parameters;
    if (std::string(one.bench) == "ccl_allreduce") parameters = {{"size", "65536"}, {"iterations", "1"}};
    expect_one_screen(run_built_in(one.bench, parameters, options), one.bench + (" on many of " + topology));
  }
}

TEST(Benches, TrainALanguageModelWithDataAndWithout) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=2"};
  options.quick_plans = true;
  const cli::ParameterTexts parameters{{"model", source_tree::path("tests/models/references/llama_tied")},
                                       {"tokens", "8"},
                                       {"dtype", "f32"},
                                       {"train", "2"}};
  const RunResult result = run_built_in("gpt", parameters, options);
  ASSERT_FALSE(result.error) << result.error->message;
  ASSERT_EQ(result.checks.size(), 1u);
  EXPECT_EQ(result.checks[0].status, CheckStatus::passed);
  double parts = 0;
  for (const char* const part : {"forward of a step", "backward of a step", "optimizer of a step"})
    parts += result.metrics.at(part).value;
  EXPECT_NEAR(parts, result.metrics.at("time of a step").value, 1e-6 * parts);
  EXPECT_LT(result.metrics.at("loss of the last step").value, result.metrics.at("loss of the first step").value);
  options.data = false;
  const RunResult without = run_built_in("gpt", parameters, options);
  ASSERT_FALSE(without.error) << without.error->message;
  EXPECT_TRUE(without.checks.empty());
  EXPECT_FALSE(without.metrics.contains("loss of the first step"));
  EXPECT_GT(without.metrics.at("time of a step").value, 0);
  EXPECT_THAT(without.warnings, ::testing::Contains(::testing::StartsWith("gather: its indices are not known")));
}

/// The upload and the check are not what a bench is about.
/// A Llama of eight small layers, without weights, on so many devices of `tiny`.
RunResult run_small_llama(int devices, cli::ParameterTexts parameters, bool data = false) {
  const std::string config = test_files::folder() + "small_llama.json";
  std::ofstream(config) << R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 96,
    "rms_norm_eps": 1e-5})";
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=" + std::to_string(devices)};
  options.data = data;
  options.quick_plans = true;
  if (!parameters.contains("model")) parameters["model"] = config;
  return run_built_in("gpt", parameters, options);
}

TEST(Benches, EstimateTheLayersOfALanguageModelThatAreLeftOut) {
  NOT_UNDER_SANITIZERS("how well times are estimated");
  for (const int devices : {1, 2, 4}) {
    if (devices == 1 && !takes_all_cases()) continue;
    SCOPED_TRACE(devices);
    cli::ParameterTexts parameters{{"tokens", "64"}, {"new_tokens", "3"}};
    const RunResult whole = run_small_llama(devices, parameters);
    ASSERT_FALSE(whole.error) << whole.error->message;
    parameters["sample_layers"] = "8";
    const RunResult all = run_small_llama(devices, parameters);
    EXPECT_EQ(all.times_fingerprint, whole.times_fingerprint) << "nothing is left out";
    EXPECT_FALSE(all.metrics.contains("layers simulated"));

    parameters["sample_layers"] = "4";
    const RunResult sampled = run_small_llama(devices, parameters);
    EXPECT_EQ(sampled.metrics.at("layers simulated").value, 4);
    EXPECT_EQ(sampled.metrics.at("layers estimated from these").value, 4);
    EXPECT_LT(sampled.events, whole.events);
    const double spread = sampled.metrics.at("spread of the layers simulated").value / 100;
    EXPECT_LE(spread, 0.05);
    for (const char* const time : {"time to the first token", "time of a token after it"}) {
      const double expected = whole.metrics.at(time).value;
      EXPECT_NEAR(sampled.metrics.at(time).value, expected, std::max(spread, 0.01) * expected) << time;
    }
    // The layers simulated are the first ones and the last; those of the whole model take the estimate's share.
    std::set<std::string> ranges;
    for (const RangeResult& range : sampled.ranges) ranges.insert(range.name);
    for (const int layer : {0, 1, 2, 7}) EXPECT_TRUE(ranges.contains("prefill/layer " + std::to_string(layer)));
    for (const int layer : {3, 4, 5, 6}) EXPECT_FALSE(ranges.contains("prefill/layer " + std::to_string(layer)));
  }
}

TEST(Benches, CommunicateBesideTheirProductsWithTheSameChecks) {
  std::size_t turn = 0;
  for (const char* const sequence : {"no", "yes"}) {
    for (const char* const bench : {"tp_mlp", "tp_block", "gpt"}) {
      if (turn++ % one_case_in(1, 2) != 0) continue;
      SCOPED_TRACE(std::string(bench) + ", sequence_parallel=" + sequence);
      const auto of = std::ranges::find_if(cases(), [&](const Case& what) { return what.bench == bench; });
      SimulateOptions options;
      options.topology = "tiny";
      options.overrides = {"system.sips.count=4"};
      options.quick_plans = true;
      cli::ParameterTexts parameters{{"overlap", "yes"}, {"sequence_parallel", sequence}};
      parameters.insert(of->parameters.begin(), of->parameters.end());
      const RunResult result = run_built_in(bench, parameters, options);
      ASSERT_FALSE(result.error) << result.error->message;
      EXPECT_FALSE(result.checks.empty());
      for (const CheckResult& check : result.checks) EXPECT_EQ(check.status, CheckStatus::passed) << check.name;
    }
  }
}

TEST(Benches, CutTheLayersOfALanguageModelOverStages) {
  const cli::ParameterTexts parameters{{"tokens", "32"}, {"new_tokens", "2"}, {"pp", "2"}};
  for (const int devices : {2, 4}) {
    if (kSanitized && devices == 4) continue;
    SCOPED_TRACE(devices);
    const RunResult result = run_small_llama(devices, parameters);
    ASSERT_FALSE(result.error) << result.error->message;
    std::map<std::string, std::uint64_t> times;
    for (const RangeResult& range : result.ranges) times[range.name] += range.count;
    const auto of_a_stage = static_cast<std::uint64_t>(devices / 2);
    for (int layer = 0; layer < 8; ++layer) {
      EXPECT_EQ(times["prefill/layer " + std::to_string(layer)], of_a_stage);
      EXPECT_EQ(times["decode/layer " + std::to_string(layer)], 2 * of_a_stage);
    }
    EXPECT_EQ(times["prefill/embedding"], of_a_stage) << "on the first stage";
    EXPECT_EQ(times["prefill/receive"], of_a_stage) << "on the second one";
    EXPECT_EQ(times["prefill/head"], of_a_stage);
    const auto metric = [&](const std::string& name) { return result.metrics.at(name).value; };
    EXPECT_EQ(metric("memory of a device"),
              std::max(metric("memory of a device of stage 0"), metric("memory of a device of stage 1")));
    EXPECT_GT(metric("memory of a device of stage 1"), 0);
    std::int64_t total = 0;
    simulate({.topology = "tiny"}, [&] { total = torch::ahbm::get_memory_info().second; });
    const double share = metric("memory of a device") * (1 << 20) / static_cast<double>(total) * 100;
    EXPECT_NEAR(metric("memory of a device, of its capacity"), share, 1e-9 * share);
  }
}

TEST(Benches, FillTheStagesOfALanguageModelWithMicroBatches) {
  NOT_UNDER_SANITIZERS("long");
  cli::ParameterTexts parameters{{"tokens", "256"}, {"new_tokens", "0"}, {"batch", "8"}, {"pp", "4"}};
  const auto first_token = [&](const std::string& micro_batches) {
    parameters["micro_batches"] = micro_batches;
    return run_small_llama(4, parameters).metrics.at("time to the first token").value;
  };
  // Four stages of one micro-batch after the other, or seven steps of a quarter of it: at best 7/16 of the time.
  const double together = first_token("1"), in_four = first_token("4");
  EXPECT_LT(in_four, 0.75 * together);
  EXPECT_GT(in_four, 0.42 * together);
}

TEST(Benches, RefuseStagesThatCannotBe) {
  const auto error = [](int devices, cli::ParameterTexts parameters) {
    const RunResult result = run_small_llama(devices, std::move(parameters));
    return result.error ? result.error->message : "no error";
  };
  EXPECT_EQ(error(4, {{"pp", "3"}}), "pp: 4 devices are no multiple of 3 stages; give tp, the devices of a stage");
  EXPECT_EQ(error(2, {{"tp", "2"}, {"pp", "2"}}),
            "tp (2) times pp (2) is more than the 2 devices; add some with --set system.sips.count=4");
  EXPECT_THAT(error(3, {{"pp", "3"}, {"tokens", "4"}}),
              ::testing::HasSubstr("must be divisible by pipeline stages (3)"));
  EXPECT_EQ(error(2, {{"pp", "2"}, {"sample_layers", "3"}}),
            "sample_layers: the stages of a pipeline wait for each other");
  EXPECT_EQ(error(4, {{"tp", "2"}, {"tokens", "4"}, {"new_tokens", "0"}}), "no error") << "two devices do nothing";
}

TEST(Benches, LeaveOutNoLayersWhereThatMeansNothing) {
  const auto error = [](const cli::ParameterTexts& parameters, bool data = false) {
    const RunResult result = run_small_llama(1, parameters, data);
    return result.error ? result.error->message : "no error";
  };
  EXPECT_EQ(error({{"sample_layers", "2"}}),
            "sample_layers (2) must be 0 or at least 3: the first layer, one between, and the last");
  EXPECT_EQ(error({{"sample_layers", "3"}}, true), "sample_layers: values need every layer: run it with --no-data");
  EXPECT_EQ(error({{"sample_layers", "3"}, {"model", "tiny-moe"}}),
            "sample_layers: the experts that are chosen differ from layer to layer");
  EXPECT_EQ(error({{"sample_layers", "9"}}),
            "sample_layers (9) is more than the 8 layers that the run has; leave it away for all");
  EXPECT_EQ(error({{"sample_layers", "8"}}), "no error") << "all of them";
}

TEST(Benches, ReportTheirOwnKernelsOnly) {
  SimulateOptions options;
  options.topology = "tiny";
  options.data = false;
  const RunResult result = run_built_in("gemm", {{"M", "256"}, {"N", "256"}, {"K", "256"}}, options);
  ASSERT_TRUE(result.region);
  Time launches;
  for (const LaunchResult& launch : result.launches) {
    EXPECT_TRUE(launch.in_region) << launch.name;
    launches += launch.end - launch.start;
  }
  EXPECT_EQ(result.region->time, launches);
  for (const ResourceResult& resource : result.resources) {
    if (resource.name.ends_with(".gemm")) {
      EXPECT_GT(resource.utilisation, 0.3) << resource.name;
    }
    if (resource.name.starts_with("host.")) {
      EXPECT_LT(resource.utilisation, 0.01) << resource.name;
    }
  }
}

TEST(Benches, AttainNoMoreThanThePeaksOfWhatTheyUse) {
  for (const auto& what : cases()) {
    SimulateOptions options;
    options.data = false;
    const RunResult result = run(what, options);
    for (const LaunchResult& launch : result.launches) {
      EXPECT_LE(launch.bound, launch.end - launch.start) << what.bench << " " << launch.name;
      for (const EngineResult& engine : launch.engines) {
        EXPECT_LE(engine.attained, engine.used_peak * (1 + 1e-9)) << what.bench << " " << launch.name << engine.engine;
        EXPECT_LE(engine.used_peak, engine.device_peak * (1 + 1e-9)) << what.bench << " " << launch.name;
      }
    }
  }
}

void expect_all_is_well(const Case& what, const RunResult& result) {
  EXPECT_EQ(result.status, RunStatus::ok) << (result.error ? result.error->type + ": " + result.error->message : "");
  EXPECT_EQ(!result.checks.empty(), what.checks);
  for (const auto& check : result.checks) {
    EXPECT_EQ(check.status, CheckStatus::passed) << check.name;
    EXPECT_LE(check.max_abs_error, what.largest_error) << check.name;
  }
}

TEST(Benches, PassTheirChecksInEveryDtypeWithoutRaces) {
  SimulateOptions options;
  options.detect_races = true;
  std::size_t turn = 0;
  for (const auto& what : cases()) {
    ++turn;
    for (const char* dtype : {"f16", "bf16", "f32"}) {
      if (what.takes_dtype && turn++ % one_case_in(1, 3) != 0) continue;
      SCOPED_TRACE(what.bench + " " + dtype);
      cli::ParameterTexts parameters;
      if (what.takes_dtype) parameters["dtype"] = dtype;
      expect_all_is_well(what, run(what, options, parameters));
      if (!what.takes_dtype) break;
    }
  }
}

TEST(Benches, NormalOperandsStayWithinTheRoundingBound) {
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    const RunResult result = run(cases()[1], {}, {{"dtype", dtype}, {"values", "normal"}});
    EXPECT_EQ(result.status, RunStatus::ok) << dtype;
  }
}

/// Nothing is known from other runs.
class NoPlans final : public PlanStore {
 public:
  std::optional<std::string> find(std::string_view) override { return std::nullopt; }
  void keep(std::string_view, std::string_view) override {}
};

// In the slow tests ten runs with each number of threads: what comes out otherwise in one run of ten is missed by one
// bench in 24. Elsewhere one, and under sanitizers of every third bench.
TEST(Benches, AreTheSameInThirtyRunsWithAnyNumberOfThreads) {
  NoPlans none;
  std::size_t turn = 0;
  for (const auto& what : cases()) {
    if (turn++ % one_case_in(1, 3) != 0) continue;
    SimulateOptions options;
    options.threads = 1;
    const RunResult first = run(what, options);
    for (int i = 0; i < number_of_cases(30, 3, 1); ++i) {
      options.threads = 1 << (i % 3);
      options.plans = i < 2 ? &none : nullptr;  // in the others, those of other tests
      const RunResult again = run(what, options);
      ASSERT_EQ(again.times_fingerprint, first.times_fingerprint);
      ASSERT_EQ(again.values_fingerprint, first.values_fingerprint);
    }
    options.data = !what.same_without_data;
    EXPECT_EQ(run(what, options).times_fingerprint, first.times_fingerprint);
    options.exact_events = true;
    EXPECT_EQ(run(what, options).times_fingerprint, first.times_fingerprint);
  }
}

TEST(Benches, TheBreakdownOfALaunchAddsUpToItsTime) {
  for (const auto& what : cases()) {
    const RunResult result = run(what, {});
    ASSERT_FALSE(result.launches.empty());
    for (const auto& launch : result.launches) {
      Time sum;
      for (const auto& [category, time] : launch.breakdown) {
        EXPECT_GE(time, Time::zero()) << category;
        sum += time;
      }
      EXPECT_EQ(sum, launch.end - launch.start);
    }
  }
}

TEST(Benches, DoublingAnyBandwidthIsNeverMoreThanOnePercentSlower) {
  NOT_UNDER_SANITIZERS("long");
  const std::vector<std::pair<std::string, std::string>> resources{
      {"host.link.bandwidth", "128GB/s"},     {"sip.cubes.link.bandwidth", "512GB/s"},
      {"cube.noc.link.bandwidth", "256GB/s"}, {"cube.hbm.bandwidth", "2.4TB/s"},
      {"pe.tcm.bandwidth", "1024GB/s"},       {"pe.clock", "2GHz"}};
  std::size_t turn = 0;
  for (const auto& what : cases()) {
    for (const std::string mesh : {"[1, 1]", "[2, 2]"}) {
      // Products are planned anew for each machine, which takes most of this.
      if (mesh == "[1, 1]" && (what.bench == "gpt" || what.bench == "moe" || what.bench == "tp_block")) continue;
      if (turn++ % one_case_in(2, 1) != 0) continue;
      SimulateOptions options;
      options.data = false;
      options.overrides = {"sip.cubes.mesh=" + mesh};
      const RunResult base = run(what, options);
      ASSERT_EQ(base.status, RunStatus::ok) << (base.error ? base.error->message : "");
      for (const auto& [path, value] : resources) {
        auto faster = options;
        faster.overrides.push_back(path + "=" + value);
        const RunResult result = run(what, faster);
        ASSERT_EQ(result.status, RunStatus::ok) << (result.error ? result.error->message : "");
        const double ratio = result.simulated_time.in_seconds() / base.simulated_time.in_seconds();
        EXPECT_LE(ratio, 1.01) << what.bench << " " << mesh << " " << path;
        if (ratio > 1) std::cout << what.bench << " " << mesh << " " << path << " slower by " << ratio << "\n";
      }
    }
  }
}

}  // namespace
}  // namespace kernbench
