// The terms of a decoded token's time that the bench gpt reports, each against a reckoning of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "distributed/algorithm_description.h"
#include "distributed/algorithms/algorithm.h"
#include "kernbench/error.h"
#include "kernbench/laws.h"
#include "tests/integration/built_in_bench.h"
#include "tests/support/sanitizers.h"
#include "tests/support/source_tree.h"
#include "topology/load.h"

namespace kernbench {
namespace {

constexpr double kTokens = 16, kNew = 3, kBatch = 2;
// benches/gpt/config.h: tiny
constexpr double kHidden = 256, kInner = 512, kLayers = 2, kHeads = 16, kKvHeads = 8, kSize = 16, kWords = 1024;

SimulateOptions machine_of(int sips) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=" + std::to_string(sips), "system.sips.topology=fully_connected"};
  options.data = false;
  options.quick_plans = true;
  return options;
}

RunResult decoded(int sips, cli::ParameterTexts parameters = {}) {
  parameters.merge(cli::ParameterTexts{{"tokens", "16"}, {"new_tokens", "3"}, {"batch", "2"}});
  RunResult result = run_built_in("gpt", parameters, machine_of(sips));
  EXPECT_FALSE(result.error.has_value());
  return result;
}

double metric(const RunResult& result, const std::string& name) {
  const auto found = result.metrics.find(name);
  if (found == result.metrics.end()) ADD_FAILURE() << "no metric " << name;
  return found == result.metrics.end() ? 0 : found->second.value;
}

/// Of one device, for a token of each prompt: weights of products and norms, which each micro-batch reads, and the keys
/// and values of the tokens that a new one sees, in the mean.
double bytes_read(int ranks, int micro_batches) {
  const double layer = kHidden * kSize * (2 * kHeads + 2 * kKvHeads) + 3 * kHidden * kInner;
  const double weights = (kLayers * layer + kHidden * kWords) / ranks + (2 * kLayers + 1) * kHidden;
  const double seen = (kTokens + 1 + kTokens + kNew) / 2;
  return 2 * (micro_batches * weights + kBatch * kLayers * seen * 2 * kKvHeads / ranks * kSize);
}

/// By what `kernbench describe --algorithm` says of each algorithm.
double least_cost_us(int ranks, Bytes bytes) {
  const SimulateOptions options = machine_of(ranks);
  const auto machine = topology::load_topology(source_tree::path("topologies/tiny.yaml"), options.overrides);
  std::vector<double> costs;
  for (const auto& algorithm : distributed::shipped_algorithms()->all()) {
    if (algorithm.operation != distributed::CollectiveOperation::all_reduce) continue;
    try {
      const auto described = distributed::describe_algorithm(
          {.name = std::string(algorithm.name), .operation = "", .ranks = ranks, .bytes = bytes}, {}, machine);
      if (described.cost_ns) costs.push_back(*described.cost_ns);
    } catch (const ConfigurationError&) {  // it cannot run on the group
    }
  }
  EXPECT_GE(costs.size(), 2u);
  return *std::ranges::min_element(costs) * 1e-3;
}

double launch_turn_us(int ranks) {
  Time turn;
  simulate(machine_of(ranks), [&] { turn = torch::ahbm::launch_turn(); });
  return turn.in_seconds() * 1e6;
}

std::int64_t launches_in(const RunResult& result, const std::string& range, const std::string& kernel) {
  return std::ranges::count_if(result.launches, [&](const LaunchResult& launch) {
    return launch.range.starts_with(range) && launch.kernel.find(kernel) != std::string::npos;
  });
}

TEST(TokenTerms, AreThoseOfTheTokensAfterThePrompt) {
  NOT_UNDER_SANITIZERS("metrics of times");
  for (const auto& [ranks, micro_batches] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks, micro-batches: " + std::to_string(micro_batches));
    const RunResult result = decoded(ranks, {{"micro_batches", std::to_string(micro_batches)}});
    const double bytes = metric(result, "token: bytes that a device reads") * 1e6;
    EXPECT_NEAR(bytes, bytes_read(ranks, micro_batches), 1e-6 * bytes);
    const double bytes_us = metric(result, "token: bytes over HBM bandwidth");
    EXPECT_NEAR(bytes_us, bytes / static_cast<double>(result.peak_hbm_bandwidth.count()) * 1e6, 1e-9 * bytes_us);

    const double reductions = metric(result, "token: all-reduces");
    EXPECT_EQ(reductions * kNew * ranks, static_cast<double>(launches_in(result, "decode", "allreduce")));
    EXPECT_EQ(reductions, ranks == 1 ? 0 : micro_batches * (2 * kLayers + 1));
    const double reductions_us = metric(result, "token: all-reduces by their cost");
    if (ranks == 1) {
      EXPECT_EQ(reductions_us, 0);
    } else {
      const double rows = kBatch / micro_batches;
      const double each = least_cost_us(ranks, Bytes(static_cast<std::int64_t>(2 * rows * kHidden)));
      EXPECT_NEAR(reductions_us, reductions * each, 1e-9 * reductions_us);
    }

    const double kernels = metric(result, "token: kernels");
    EXPECT_EQ(kernels * kNew * ranks, static_cast<double>(launches_in(result, "decode", "")));
    const double kernels_us = metric(result, "token: kernels by the queue's law");
    EXPECT_NEAR(kernels_us, kernels * launch_turn_us(ranks), 1e-9 * kernels_us);

    const double sum = bytes_us + reductions_us + kernels_us, measured = metric(result, "time of a token after it");
    EXPECT_NEAR(metric(result, "token: sum of these"), sum, 1e-9 * sum);
    EXPECT_NEAR(metric(result, "token: time over that of the bytes"), measured / bytes_us, 1e-9 * measured / bytes_us);
    EXPECT_NEAR(metric(result, "token: time over the sum"), measured / sum, 1e-9 * measured / sum);
    EXPECT_GT(measured, sum) << "the terms are the least";
    for (const char* us : {"token: bytes over HBM bandwidth", "token: all-reduces by their cost",
                           "token: kernels by the queue's law", "token: sum of these"})
      EXPECT_EQ(result.metrics.at(us).unit, "us");
    EXPECT_EQ(result.metrics.at("token: bytes that a device reads").unit, "MB");
  }
}

TEST(TokenTerms, AreThoseOfAllLayersAlsoWhereSomeAreEstimated) {
  NOT_UNDER_SANITIZERS("long");
  const std::string config = ::testing::TempDir() + "five_layers.json";
  std::ofstream(config) << R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "vocab_size": 64,
    "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 4})";
  for (const char* const micro_batches : {"1", "2"}) {
    SCOPED_TRACE(micro_batches);
    const cli::ParameterTexts parameters{{"model", config}, {"micro_batches", micro_batches}};
    cli::ParameterTexts sampled = parameters;
    sampled["sample_layers"] = "3";
    const RunResult all = decoded(2, parameters), some = decoded(2, sampled);
    EXPECT_EQ(metric(some, "layers estimated from these"), 2);
    for (const char* term : {"token: kernels", "token: all-reduces", "token: bytes that a device reads"})
      EXPECT_EQ(metric(all, term), metric(some, term)) << term;
    // The passes of all micro-batches of the prompt are the prompt's.
    for (const char* time : {"time to the first token", "time of a token after it"})
      EXPECT_NEAR(metric(some, time), metric(all, time), 0.05 * metric(all, time)) << time;
  }
}

TEST(TokenTerms, AreNotOfAPipelineOrAMixture) {
  NOT_UNDER_SANITIZERS("long");
  for (const RunResult& result :
       {decoded(2, {{"pp", "2"}}), decoded(1, {{"model", "tiny-moe"}}), decoded(1, {{"new_tokens", "0"}})}) {
    EXPECT_TRUE(
        std::ranges::none_of(result.metrics, [](const auto& each) { return each.first.starts_with("token:"); }));
  }
}

}  // namespace
}  // namespace kernbench
