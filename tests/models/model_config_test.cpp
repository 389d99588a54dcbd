// What a config.json says of a model, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "benches/gpt/config.h"
#include "benches/gpt/weights.h"
#include "kernbench/simulate.h"
#include "tests/support/source_tree.h"

namespace benches::gpt {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_config(text, "x/config.json");
  } catch (const kernbench::ConfigurationError& error) {
    EXPECT_EQ(error.where(), "") << "the program prints it in front of the message, which names the file";
    return error.what();
  }
  return "it was accepted";
}

/// A small Llama's configuration with this in front.
std::string with(const std::string& more) {
  return "{" + more + R"("model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 8,
                         "intermediate_size": 96, "vocab_size": 100, "rms_norm_eps": 1e-5})";
}

TEST(ModelConfigs, OfBothVersionsOfTransformersSayTheSame) {
  for (const char* const name : {"gpt2", "llama", "llama_tied", "mixtral"}) {
    const std::string folder = kernbench::source_tree::path(std::string("tests/models/references/") + name);
    const ModelConfig a = read_config(folder), b = read_config(folder + "/config-transformers5.json");
    EXPECT_EQ(a.folder, folder);
    EXPECT_EQ(b.folder, folder);
    EXPECT_EQ(std::tie(a.layers, a.hidden, a.heads, a.kv_heads, a.head_size, a.inner, a.words, a.positions, a.eps,
                       a.rotary.theta, a.tied, a.experts, a.chosen_experts),
              std::tie(b.layers, b.hidden, b.heads, b.kv_heads, b.head_size, b.inner, b.words, b.positions, b.eps,
                       b.rotary.theta, b.tied, b.experts, b.chosen_experts))
        << name;
  }
}

TEST(ModelConfigs, ReadTheStretchingOfPositions) {
  const ModelConfig llama3 = parse_config(
      with(R"("rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
              "original_max_position_embeddings": 8192}, "head_dim": 16, )"),
      "x");
  EXPECT_EQ(llama3.rotary.scaling.factor, 8);
  EXPECT_EQ(llama3.rotary.scaling.low_freq_factor, 1);
  EXPECT_EQ(llama3.rotary.scaling.original_max_position_embeddings, 8192);
  EXPECT_EQ(llama3.head_size, 16);
  const ModelConfig linear =
      parse_config(with(R"("rope_parameters": {"rope_type": "linear", "factor": 2, "rope_theta": 5000}, )"), "x");
  EXPECT_EQ(linear.rotary.theta, 5000);
  EXPECT_EQ(linear.rotary.scaling.factor, 2);
  EXPECT_EQ(linear.rotary.scaling.high_freq_factor, 0);
  EXPECT_THAT(refusal(with(R"("rope_scaling": {"type": "yarn", "factor": 2}, )")),
              HasSubstr("x/config.json, rope_scaling: rope_type \"yarn\" is not supported"));
}

TEST(ModelConfigs, OfMixturesAreChecked) {
  const auto mixtral = [](const std::string& more) {
    std::string text = with(more);
    return text.replace(text.find("llama"), 5, "mixtral");
  };
  const ModelConfig config = parse_config(mixtral(R"("num_experts_per_tok": 3, )"), "x");
  EXPECT_TRUE(config.is_mixture());
  EXPECT_EQ(config.experts, 8);
  EXPECT_EQ(config.chosen_experts, 3);
  EXPECT_EQ(config.rotary.theta, 1e6);
  EXPECT_EQ(refusal(mixtral(R"("num_local_experts": 2, "num_experts_per_tok": 3, )")),
            "x/config.json: num_experts_per_tok (3) must be at most num_local_experts (2)");
  EXPECT_THAT(refusal(mixtral(R"("sliding_window": 16, )")), HasSubstr("sliding_window must be null"));
  for (const std::string key : {"attention_bias", "mlp_bias"}) {
    EXPECT_EQ(refusal(mixtral("\"" + key + "\": true, ")),
              "x/config.json: " + key + " must be false: a Mixtral has no biases; take the key out of the file");
    EXPECT_EQ(refusal(mixtral("\"" + key + "\": false, ")), "it was accepted");
  }
  EXPECT_EQ(refusal(mixtral(R"("sliding_window": null, "partial_rotary_factor": 1.0, )")), "it was accepted");
}

TEST(ModelConfigs, OfPublishedModelsHaveTheirParameters) {
  // Published: 8.03 and 70.6 billion, embedding and output matrix included; 124 million, tied.
  const auto all = [](const char* name) {
    const ModelConfig config = read_config(name);
    return static_cast<double>(config.product_parameters() +
                               (config.tied ? config.positions * config.hidden : config.hidden * config.words));
  };
  EXPECT_NEAR(all("llama-3-8b"), 8.03e9, 0.01e9);
  EXPECT_NEAR(all("llama-3-70b"), 70.6e9, 0.1e9);
  EXPECT_NEAR(all("gpt2"), 124e6, 1e6);
  // Published: 46.7 billion, of which a token uses 12.9.
  const ModelConfig mixtral = read_config("mixtral-8x7b");
  const auto embedding = static_cast<double>(mixtral.hidden * mixtral.words);
  EXPECT_NEAR(static_cast<double>(mixtral.stored_parameters()) + embedding, 46.7e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(mixtral.product_parameters()) + embedding, 12.9e9, 0.05e9);
  EXPECT_EQ(read_config("tiny-moe").experts, 8);
  EXPECT_EQ(read_config("tiny").layers, 2);
}

TEST(ModelConfigs, ThatCannotBeAreRefused) {
  EXPECT_EQ(refusal("{"), "x/config.json: this is no JSON object");
  EXPECT_EQ(refusal("{}"), "x/config.json: model_type \"\" is not supported; there are gpt2, llama and mixtral");
  EXPECT_EQ(refusal(R"({"model_type": "gpt_neox"})"),
            "x/config.json: model_type \"gpt_neox\" is not supported; there are gpt2, llama and mixtral");
  EXPECT_EQ(refusal(R"({"model_type": "llama"})"),
            "x/config.json: num_hidden_layers must be a whole number above 0, and is missing");
  EXPECT_EQ(refusal(R"({"model_type": "gpt2", "n_layer": -1})"),
            "x/config.json: n_layer must be a whole number above 0, not -1");
  EXPECT_EQ(refusal(with("")), "it was accepted");
  EXPECT_EQ(refusal(with(R"("hidden_act": "gelu", )")), "x/config.json: hidden_act must be silu");
  EXPECT_EQ(refusal(with(R"("rope_theta": "x", )")), "x/config.json: rope_theta must be a number, not \"x\"");
  EXPECT_EQ(refusal(with(R"("rope_scaling": 3, )")), "x/config.json: rope_scaling must be an object, not 3");
  EXPECT_EQ(refusal(with(R"("tie_word_embeddings": 1, )")),
            "x/config.json: tie_word_embeddings must be true or false, not 1");
  EXPECT_EQ(refusal(with(R"("num_key_value_heads": 3, )")),
            "x/config.json: num_attention_heads must be divisible by num_key_value_heads");
  EXPECT_EQ(refusal(with(R"("head_dim": 5, )")), "x/config.json: the size of a head must be even");
  EXPECT_EQ(refusal(R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": 9, "n_positions": 4,
                        "scale_attn_by_inverse_layer_idx": true})"),
            "x/config.json: scores are divided by the root of a head's size: scale_attn_weights must be true and "
            "scale_attn_by_inverse_layer_idx false");
  EXPECT_THROW(read_config("/no/such/model"), kernbench::ConfigurationError);
}

// A key that changes the model and that nobody reads would yield another model's scores.
TEST(ModelConfigs, OfModelsThatAreComputedOtherwiseAreRefused) {
  EXPECT_EQ(refusal(with(R"("quantization_config": {"quant_method": "gptq", "bits": 4}, )")),
            "x/config.json: quantization_config (quant_method \"gptq\") must be null: quantized weights are not "
            "supported; take the model from before it was quantized, or for random weights the config.json alone "
            "without this key");
  EXPECT_THAT(refusal(R"({"model_type": "gpt2", "quantization_config": {}})"),
              HasSubstr("x/config.json: quantization_config must be null"));
  EXPECT_EQ(refusal(with(R"("quantization_config": null, )")), "it was accepted");
  const std::string part =
      "partial_rotary_factor must be 1, not 0.5: a model that turns a part of each head is not supported; take one "
      "that "
      "turns all of it";
  EXPECT_EQ(refusal(with(R"("partial_rotary_factor": 0.5, )")), "x/config.json: " + part);
  for (const std::string key : {"rope_parameters", "rope_scaling"}) {
    EXPECT_EQ(refusal(with("\"" + key + R"(": {"partial_rotary_factor": 0.5}, )")),
              "x/config.json, " + key + ": " + part);
  }
  EXPECT_EQ(refusal(with(R"("max_position_embeddings": 64, "sliding_window": 16, )")),
            "x/config.json: sliding_window must be null or at least max_position_embeddings (64), not 16: every token "
            "sees all before it; set it to null, or max_position_embeddings to it for shorter texts");
  EXPECT_EQ(refusal(with(R"("max_position_embeddings": 64, "sliding_window": 64, )")), "it was accepted");
  const ModelConfig biased = parse_config(with(R"("attention_bias": true, "mlp_bias": true, )"), "x");
  EXPECT_TRUE(biased.attention_bias && biased.mlp_bias) << "these are read, and computed";
}

TEST(ModelConfigs, OfNumbersOutOfTheirRangeAreRefused) {
  EXPECT_EQ(refusal(with(R"("rope_theta": 0, )")), "x/config.json: rope_theta must be above 0, not 0");
  EXPECT_EQ(refusal(with(R"("rope_parameters": {"rope_theta": -5.0}, )")),
            "x/config.json, rope_parameters: rope_theta must be above 0, not -5.0");
  for (const char* const factor : {"0", "-2", "0.5"}) {
    for (const char* const type : {"linear", "llama3"}) {
      EXPECT_EQ(
          refusal(with(std::string(R"("rope_scaling": {"type": ")") + type + R"(", "factor": )" + factor + "}, ")),
          std::string("x/config.json, rope_scaling: factor must be at least 1, not ") + factor);
    }
  }
  const auto llama3 = [](const std::string& low, const std::string& high) {
    return refusal(with(R"("rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": )" + low +
                        R"(, "high_freq_factor": )" + high + R"(, "original_max_position_embeddings": 64}, )"));
  };
  EXPECT_EQ(llama3("1", "4"), "it was accepted");
  EXPECT_EQ(llama3("0", "4"), "x/config.json, rope_scaling: low_freq_factor must be above 0, not 0");
  for (const char* const low : {"4", "5"}) {
    EXPECT_EQ(llama3(low, "4"), std::string("x/config.json, rope_scaling: high_freq_factor (4) must be above "
                                            "low_freq_factor (") +
                                    low + ")");
  }
  std::string text = with("");
  text.replace(text.find("1e-5"), 4, "-1.0");
  EXPECT_EQ(refusal(text), "x/config.json: rms_norm_eps must be at least 0, not -1.0");
  EXPECT_EQ(refusal(R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": 9,
                        "n_positions": 4, "layer_norm_epsilon": -1e-5})"),
            "x/config.json: layer_norm_epsilon must be at least 0, not -1e-05");
}

TEST(ModelConfigs, WithoutWeightsBesideThemAreModelsWithRandomOnes) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "kernbench_config_alone";
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << with("");
  const ModelConfig config = read_config(folder.string());
  kernbench::simulate({.topology = "tiny"}, [&] {
    const Weights weights(config);
    EXPECT_FALSE(weights.from_file());
    const Tensor up = weights.whole("model.layers.0.mlp.up_proj.weight", {96, 64});
    EXPECT_NEAR(up.std().item<double>(), 1 / 8.0, 0.01);  // 1/sqrt(64): a product keeps the size of its rows
    EXPECT_TRUE(up.equal(Weights(config).whole("model.layers.0.mlp.up_proj.weight", {96, 64})));
  });
  // An index without its files is a model that is not whole, not one without weights.
  std::ofstream(folder / "model.safetensors.index.json") << R"({"weight_map": {"x": "model-1.safetensors"}})";
  EXPECT_THROW(kernbench::simulate({.topology = "tiny"}, [&] { Weights{config}; }), kernbench::ConfigurationError);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace benches::gpt
