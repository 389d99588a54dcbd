// What the bench gpt refuses before a rank starts, what it warns of, and what its metrics count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "kernbench/nn/safetensors.h"
#include "support/test_files.h"
#include "tests/integration/built_in_bench.h"
#include "tests/support/source_tree.h"

namespace kernbench::gpt_runs_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

RunResult run_gpt(int devices, const cli::ParameterTexts& parameters, bool data = false) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=" + std::to_string(devices)};
  options.data = data;
  options.quick_plans = true;
  return run_built_in("gpt", parameters, options);
}

std::string reference(const std::string& name) {
  return source_tree::path("tests/models/references/" + name);
}

struct Refusal {
  int devices;
  cli::ParameterTexts parameters;
  std::string message;
  bool data = false;
};

// The program leaves with 2 for a ConfigurationError: nothing was simulated.
TEST(GptRuns, ThatCannotBeAreConfigurationErrors) {
  const std::vector<Refusal> all{
      {1, {{"tp", "3"}}, "tp (3) times pp (1) is more than the 1 devices"},
      {1, {{"pp", "2"}}, "pp: 1 devices are no multiple of 2 stages"},
      {3,
       {},
       "num_attention_heads (16) must be divisible by TP world size (3); give -p tp=2, which leaves 1 of 3 "
       "devices idle"},
      {16, {}, "num_key_value_heads (8) must be divisible by TP world size (16); give -p tp=8 -p pp=2"},
      {16,
       {{"train", "1"}},
       "num_key_value_heads (8) must be divisible by TP world size (16); give -p tp=8, which leaves 8 of 16 "
       "devices idle",
       true},
      {1, {{"train", "1"}, {"new_tokens", "2"}}, "new_tokens: a step of training decodes none", true},
      {3,
       {{"pp", "3"}},
       "num_hidden_layers (2) must be divisible by pipeline stages (3); give -p tp=1 -p pp=2, which leaves 1 of 3 "
       "devices idle"},
      {8,
       {{"tp", "3"}},
       "num_attention_heads (16) must be divisible by TP world size (3); give -p tp=2, which leaves 6 of 8 devices "
       "idle"},
      {9,
       {{"pp", "3"}},
       "num_attention_heads (16) must be divisible by TP world size (3); give -p tp=2 -p pp=2, which leaves 5 of 9 "
       "devices idle"},
      {1, {{"sample_layers", "2"}}, "sample_layers (2) must be 0 or at least 3"},
      {1, {{"sample_layers", "3"}}, "sample_layers: values need every layer", true},
      {1, {{"batch", "4"}, {"micro_batches", "3"}}, "batch (4) must be divisible by micro_batches (3)"},
      {1, {{"train", "1"}, {"tokens", "1"}}, "tokens: a loss takes at least 2 tokens", true},
      {2, {{"train", "1"}, {"pp", "2"}}, "pp: a step of training has one stage", true},
      {1, {{"train", "1"}, {"model", "tiny-moe"}}, "train: gradients of a mixture of experts", true},
      {1, {{"train", "1"}, {"batch", "2"}, {"micro_batches", "2"}}, "micro_batches: a step of training", true},
      {1, {{"tokens", "2048"}}, "tokens and new_tokens together (2052) are more than the model's 2048 positions"},
      {1, {{"expert_parallel", "yes"}}, "expert_parallel: tiny is no mixture of experts"},
      {1, {{"routing", "zipf:1"}}, "routing: tiny is no mixture of experts"},
      {1, {{"capacity", "1"}}, "capacity: tiny is no mixture of experts"},
      {1, {{"layers", "3"}}, "layers (3) is more than the 2 layers of tiny"},
      {1, {{"model", ""}}, "model: it cannot be read"}};
  for (const Refusal& each : all) {
    const RunResult result = run_gpt(each.devices, each.parameters, each.data);
    ASSERT_TRUE(result.error) << each.message;
    EXPECT_EQ(result.error->type, "ConfigurationError") << each.message;
    EXPECT_THAT(result.error->message, HasSubstr(each.message));
    EXPECT_EQ(result.error->where, "");
    EXPECT_EQ(result.simulated_time, Time::zero()) << each.message;
  }
}

TEST(GptRuns, OfOneLayerAloneNameTheSizeThatTheDevicesDoNotDivide) {
  const auto error = [](const std::string& bench, const cli::ParameterTexts& parameters) -> std::string {
    SimulateOptions options;
    options.topology = "tiny";
    options.overrides = {"system.sips.count=4"};
    options.data = false;
    const RunResult result = run_built_in(bench, parameters, options);
    EXPECT_EQ(result.simulated_time, Time::zero());
    return result.error ? result.error->type + ": " + result.error->message : "no error";
  };
  for (const char* const bench : {"tp_mlp", "tp_block"}) {
    EXPECT_THAT(
        error(bench, {{"ffn", "30"}}),
        HasSubstr("ConfigurationError: ffn (30) must be divisible by the number of devices (4); give -p ffn=32, "
                  "or fewer devices (--set system.sips.count="));
    EXPECT_EQ(error(bench, {{"tokens", "30"}, {"sequence_parallel", "yes"}}),
              "ConfigurationError: tokens (30) must be divisible by the number of devices (4); give -p tokens=32, "
              "-p sequence_parallel=no, or fewer devices (--set system.sips.count=2)");
  }
  EXPECT_EQ(error("moe", {{"experts", "6"}, {"tokens", "30"}}),
            "ConfigurationError: experts (6) must be divisible by the number of devices (4); give -p experts=8 -p "
            "tokens=32, -p expert_parallel=no, or fewer devices (--set system.sips.count=3)");
}

TEST(GptRuns, OfOneLayerUseTheDevicesThatDivideTheSizesWhereNoneIsGiven) {
  const auto warnings = [](const std::string& bench, int devices, cli::ParameterTexts parameters) {
    SimulateOptions options;
    options.topology = "tiny";
    options.overrides = {"system.sips.count=" + std::to_string(devices)};
    options.data = false;
    options.quick_plans = true;
    parameters.insert({"hidden", "32"});
    const RunResult result = run_built_in(bench, parameters, options);
    EXPECT_FALSE(result.error) << result.error->message;
    return result.warnings;
  };
  EXPECT_THAT(
      warnings("moe", 3, {}),
      Contains("1 of 3 SIPs idles: experts (8) is not divisible by 3; give -p experts=9 -p tokens=513 to use all"));
  EXPECT_THAT(warnings("tp_block", 3, {}),
              Contains("1 of 3 SIPs idles: heads (16) is not divisible by 3; give -p heads=18 -p hidden=36 -p ffn=4098 "
                       "to use all"));
  EXPECT_THAT(warnings("tp_mlp", 5, {}),
              Contains("1 of 5 SIPs idles: ffn (4096) is not divisible by 5; give -p ffn=4100 to use all"));
  EXPECT_THAT(warnings("tp_mlp", 4, {}), ::testing::Not(Contains(HasSubstr("idle"))));
  const auto none_idle = ::testing::Not(Contains(HasSubstr("idle")));
  EXPECT_THAT(warnings("moe", 3, {{"experts", "9"}, {"tokens", "513"}}), none_idle);
  EXPECT_THAT(warnings("tp_block", 3, {{"heads", "18"}, {"hidden", "36"}, {"ffn", "4098"}}), none_idle);
  EXPECT_THAT(warnings("tp_mlp", 5, {{"ffn", "4100"}}), none_idle);
}

/// Another refusal of the cut that a refusal recommends would be of no help.
TEST(GptRuns, AreCutAsARefusalRecommends) {
  const auto runs = [](int devices, cli::ParameterTexts parameters) {
    parameters.insert({{"tokens", "4"}, {"new_tokens", "0"}});
    const RunResult result = run_gpt(devices, parameters);
    return result.error ? result.error->message : "";
  };
  EXPECT_EQ(runs(3, {{"tp", "1"}, {"pp", "2"}}), "");
  EXPECT_EQ(runs(3, {{"tp", "2"}}), "");
  EXPECT_EQ(runs(9, {{"tp", "2"}, {"pp", "2"}}), "");
}

TEST(GptRuns, ThatLeaveDevicesIdleSaySo) {
  const auto warnings = [](int devices) {
    return run_gpt(devices, {{"tp", "2"}, {"tokens", "4"}, {"new_tokens", "0"}}).warnings;
  };
  EXPECT_THAT(warnings(4), Contains("2 of 4 SIPs idle: tp times pp takes 2").Times(1));
  EXPECT_THAT(warnings(2), ::testing::Not(Contains(HasSubstr("idle"))));
}

TEST(GptRuns, OfOneDeviceSayThatOthersIdle) {
  const auto warnings = [](int devices) {
    SimulateOptions options;
    options.topology = "tiny";
    options.overrides = {"system.sips.count=" + std::to_string(devices)};
    options.data = false;
    return run_built_in("vector_add", {{"n", "4096"}}, options).warnings;
  };
  EXPECT_THAT(warnings(4), Contains("3 of 4 SIPs idle: vector_add runs on one").Times(1));
  EXPECT_THAT(warnings(1), IsEmpty());
}

TEST(GptRuns, ThatFindNoMemoryNameTheWeightsThatAreThere) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"cube.hbm.capacity=2MiB"};
  options.data = false;
  const RunResult result = run_built_in("gpt", {}, options);
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->message, AllOf(HasSubstr("OutOfMemoryError"), HasSubstr("out of HBM on")));
  EXPECT_THAT(result.error->message, HasSubstr("\"model.embed_tokens.weight\""));
}

TEST(GptRuns, ThatShareNoTokensSaySo) {
  const auto warnings = [](const std::string& tokens) {
    return run_gpt(2, {{"tokens", tokens}, {"new_tokens", "0"}, {"sequence_parallel", "yes"}}).warnings;
  };
  const auto not_shared = HasSubstr(
      "sequence_parallel=yes: the prompt's tokens (7) are not divisible by the devices of a "
      "stage (2)");
  EXPECT_THAT(warnings("7"), Contains(not_shared).Times(1));
  EXPECT_THAT(warnings("8"), ::testing::Not(Contains(HasSubstr("sequence_parallel"))));
}

/// A copy of a reference model whose file has further tensors.
class Checkpoint {
 public:
  Checkpoint(const std::string& model, const std::vector<std::string>& more)
      : folder_(fs::path(test_files::folder()) / "gpt_runs") {
    fs::create_directories(folder_);
    fs::copy_file(reference(model) + "/config.json", folder_ / "config.json", fs::copy_options::overwrite_existing);
    simulate({.topology = "tiny"}, [&] {
      auto tensors = safetensors::load_file(reference(model) + "/model.safetensors");
      for (const std::string& name : more) tensors.insert(name, torch::ones({2}));
      safetensors::save_file(tensors, folder_ / "model.safetensors");
    });
  }
  ~Checkpoint() { fs::remove_all(folder_); }
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  std::vector<std::string> warnings(int devices, cli::ParameterTexts parameters = {}) const {
    parameters.merge(cli::ParameterTexts{{"model", folder_}, {"tokens", "4"}, {"new_tokens", "0"}});
    const RunResult result = run_gpt(devices, parameters);
    EXPECT_FALSE(result.error) << result.error->message;
    return result.warnings;
  }

 private:
  fs::path folder_;
};

TEST(GptRuns, NameTensorsOfTheFilesThatTheModelDoesNotUse) {
  const std::string attention = "model.layers.0.self_attn.";
  const Checkpoint biases("llama", {attention + "q_proj.bias", attention + "k_proj.bias", attention + "v_proj.bias",
                                    attention + "o_proj.bias", "model.layers.7.mlp.up_proj.weight"});
  for (const cli::ParameterTexts& cut : {cli::ParameterTexts{}, {{"pp", "2"}}, {{"layers", "1"}}}) {
    const auto warnings = biases.warnings(2, cut);
    EXPECT_THAT(warnings, Contains(AllOf(HasSubstr("does not use 5 of the tensors in the files: model.layers."),
                                         HasSubstr(", …; does config.json lack a key?")))
                              .Times(1));
  }
}

TEST(GptRuns, SayNothingOfTensorsThatNoModelUses) {
  const auto unused = Contains(HasSubstr("does not use"));
  const Checkpoint llama("llama_tied", {"lm_head.weight", "model.layers.0.self_attn.rotary_emb.inv_freq"});
  EXPECT_THAT(llama.warnings(2), ::testing::Not(unused));
  const Checkpoint gpt2("gpt2", {"h.0.attn.bias", "transformer.h.1.attn.masked_bias"});
  EXPECT_THAT(gpt2.warnings(1), ::testing::Not(unused));
  for (const char* const model : {"mixtral", "mixtral_fused"}) {
    const RunResult result =
        run_gpt(2, {{"model", reference(model)}, {"tokens", "4"}, {"new_tokens", "0"}, {"expert_parallel", "yes"}});
    EXPECT_THAT(result.warnings, ::testing::Not(unused)) << model;
  }
}

// Random weights in their place would be scores of another model.
TEST(GptRuns, WithWeightsInFilesThatCannotBeReadNameTheFile) {
  const fs::path folder = fs::path(test_files::folder()) / "gpt_other_files";
  fs::create_directories(folder);
  fs::copy_file(reference("llama") + "/config.json", folder / "config.json", fs::copy_options::overwrite_existing);
  const auto run = [&](bool data) {
    return run_gpt(1, {{"model", folder}, {"tokens", "4"}, {"new_tokens", "0"}}, data);
  };
  EXPECT_FALSE(run(true).error) << "a configuration alone is a model of random weights";
  for (const char* const name : {"pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "consolidated.00.pth",
                                 "llama.gguf", "model-00001-of-00002.safetensors"}) {
    std::ofstream(folder / name) << "weights";
    const RunResult result = run(true);
    ASSERT_TRUE(result.error) << name;
    EXPECT_EQ(result.error->type, "ConfigurationError") << name;
    EXPECT_THAT(result.error->message,
                HasSubstr((folder / name).string() + ": weights are read from model.safetensors"));
    EXPECT_FALSE(run(false).error) << name << ": without data nobody reads weights";
    fs::remove(folder / name);
  }
  fs::remove_all(folder);
}

double metric(const RunResult& result, const std::string& name) {
  EXPECT_TRUE(result.metrics.contains(name)) << name;
  return result.metrics.contains(name) ? result.metrics.at(name).value : 0;
}

TEST(GptRuns, OfAMixtureCountNoProductsOfChoicesThatWereDropped) {
  // benches/gpt/config.h: tiny-moe
  constexpr double kTokens = 32, kHidden = 256, kInner = 256, kLayers = 2, kWords = 1024, kExperts = 8, kChosen = 2;
  constexpr double kAttention = kHidden * 16 * (2 * 16 + 2 * 8), kExpert = 3 * kHidden * kInner;
  for (const char* const capacity : {"0", "0.5"}) {
    SCOPED_TRACE(capacity);
    const RunResult result =
        run_gpt(2, {{"model", "tiny-moe"}, {"tokens", "32"}, {"new_tokens", "1"}, {"capacity", capacity}});
    ASSERT_FALSE(result.error) << result.error->message;
    const bool drops = capacity != std::string("0");
    const double dropped = drops ? metric(result, "dropped choices") / 100 : 0;
    EXPECT_EQ(dropped >= 0.5, drops) << "an expert takes half an even share";
    const double of_token = kLayers * (kAttention + kHidden * kExperts + (1 - dropped) * kChosen * kExpert);
    const double flops = 2 * kTokens * of_token + 2 * kHidden * kWords;
    const double counted =
        metric(result, "products of the prefill, each device") * 2 * metric(result, "time to the first token") * 1e6;
    EXPECT_NEAR(counted, flops, 1e-9 * flops);
  }
}

TEST(GptRuns, OfExpertsAloneCountNoProductsOfChoicesThatWereDropped) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=2"};
  options.data = false;
  options.quick_plans = true;
  const RunResult result = run_built_in(
      "moe", {{"tokens", "32"}, {"hidden", "64"}, {"ffn", "32"}, {"experts", "4"}, {"capacity", "0.5"}}, options);
  ASSERT_FALSE(result.error) << result.error->message;
  const double kept = 1 - metric(result, "dropped choices") / 100;
  EXPECT_LE(kept, 0.5);
  const double flops = kept * 2 * 32 * 2 * (3 * 64 * 32);
  const double counted = metric(result, "products of the experts, each device") * 2 * metric(result, "time") * 1e6;
  EXPECT_NEAR(counted, flops, 1e-9 * flops);
}

TEST(GptRuns, OfThreeLayersOfManySayHowTheseDiffer) {
  const std::string config = ::testing::TempDir() + "kernbench_five_layers_of_many.json";
  std::ofstream(config) << R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "vocab_size": 64,
    "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 4})";
  const RunResult result =
      run_gpt(1, {{"model", config}, {"tokens", "16"}, {"new_tokens", "0"}, {"sample_layers", "3"}});
  ASSERT_FALSE(result.error) << result.error->message;
  // The first layer has no sum in its first norm, and the one between has.
  EXPECT_GT(metric(result, "spread of the layers simulated"), 0);
}

TEST(GptRuns, OfGpt2TakeHeadsOfAnOddSize) {
  const std::string config = ::testing::TempDir() + "kernbench_odd_heads.json";
  std::ofstream(config) << R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 48, "n_head": 16, "vocab_size": 50,
                               "n_positions": 16})";
  const RunResult result =
      run_gpt(2, {{"model", config}, {"tokens", "5"}, {"new_tokens", "2"}, {"dtype", "f32"}}, /*data=*/true);
  ASSERT_FALSE(result.error) << result.error->message;
  EXPECT_EQ(result.checks.size(), 3u);
  for (const CheckResult& check : result.checks) EXPECT_EQ(check.status, CheckStatus::passed) << check.name;
}

}  // namespace
}  // namespace kernbench::gpt_runs_test
