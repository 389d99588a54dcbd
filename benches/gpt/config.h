// What a language model is, read from a Hugging Face config.json or taken from a published model.
#pragma once

#include <kernbench/kernbench.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace benches::gpt {

namespace torch = kernbench::torch;
using kernbench::ConfigurationError;
using torch::ahbm::RotaryFrequencyOptions;

enum class Family { gpt2, llama, mixtral };

struct ModelConfig {
  std::string name;    // as the user wrote it
  std::string folder;  // of the weights; empty: there are none
  Family family = Family::llama;
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_size = 0, inner = 0, words = 0, positions = 0;
  double eps = 1e-5;
  RotaryFrequencyOptions rotary = {};
  bool tied = false, attention_bias = false, mlp_bias = false;
  std::int64_t experts = 0, chosen_experts = 0;  // of a mixture; each has `inner` columns
  std::int64_t stored_layers = 0;                // of which `layers` may be the first ones alone

  bool is_gpt2() const { return family == Family::gpt2; }
  bool is_mixture() const { return family == Family::mixtral; }
  /// Parameters that a token is multiplied with, the output matrix among them.
  std::int64_t product_parameters() const { return parameters_with(std::max<std::int64_t>(chosen_experts, 1)); }
  /// Of these, those of the experts that a token has chosen.
  std::int64_t chosen_expert_parameters() const { return layers * chosen_experts * hidden * inner * 3; }
  /// Those of all products, also of experts that a token does not see.
  std::int64_t stored_parameters() const { return parameters_with(std::max<std::int64_t>(experts, 1)); }

 private:
  std::int64_t parameters_with(std::int64_t networks) const {
    const std::int64_t attention = hidden * head_size * (2 * heads + 2 * kv_heads);
    const std::int64_t network = networks * hidden * inner * (is_gpt2() ? 2 : 3) + hidden * experts;
    return layers * (attention + network) + hidden * words;
  }
};

/// A JSON object of a file whose values are read by key; errors name file, key and what is expected.
class ConfigReader {
 public:
  using Json = nlohmann::json;
  ConfigReader(const Json& json, std::string file) : json_(json), file_(std::move(file)) {}

  [[noreturn]] void fail(const std::string& what) const { throw ConfigurationError(file_ + ": " + what); }
  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  std::int64_t number(const char* key, std::optional<std::int64_t> otherwise = {}) const {
    if (!has(key) && otherwise) return *otherwise;
    if (!has(key) || !json_[key].is_number_integer() || json_[key].get<std::int64_t>() < 1)
      fail(std::string(key) + " must be a whole number above 0" + got(key));
    return json_[key].get<std::int64_t>();
  }
  double real(const char* key, std::optional<double> otherwise = {}) const {
    if (!has(key) && otherwise) return *otherwise;
    if (!has(key) || !json_[key].is_number()) fail(std::string(key) + " must be a number" + got(key));
    return json_[key].get<double>();
  }
  double positive(const char* key, std::optional<double> otherwise = {}) const {
    const double value = real(key, otherwise);
    if (!(value > 0)) fail(std::string(key) + " must be above 0" + got(key));
    return value;
  }
  double at_least(int least, const char* key, std::optional<double> otherwise = {}) const {
    const double value = real(key, otherwise);
    if (!(value >= least)) fail(std::string(key) + " must be at least " + std::to_string(least) + got(key));
    return value;
  }
  bool truth(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_boolean()) fail(std::string(key) + " must be true or false" + got(key));
    return json_[key].get<bool>();
  }
  std::string text(const char* key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_string()) fail(std::string(key) + " must be a text" + got(key));
    return json_[key].get<std::string>();
  }
  /// A value that is there, as it is written.
  std::string shown(const char* key) const { return json_[key].dump(); }
  ConfigReader at(const char* key) const {
    if (!json_[key].is_object()) fail(std::string(key) + " must be an object" + got(key));
    return {json_[key], file_ + ", " + key};
  }

 private:
  std::string got(const char* key) const { return has(key) ? ", not " + shown(key) : ", and is missing"; }

  const Json& json_;
  std::string file_;
};

/// A rotary embedding turns all of a head.
inline void check_rotary_part(const ConfigReader& json) {
  if (json.real("partial_rotary_factor", 1.0) == 1) return;
  json.fail("partial_rotary_factor must be 1, not " + json.shown("partial_rotary_factor") +
            ": a model that turns a part of each head is not supported; take one that turns all of it");
}

/// The stretching of positions of version 4 (`rope_scaling`) and 5 (`rope_parameters`) of transformers.
inline void read_rotary_type(const ConfigReader& json, RotaryFrequencyOptions& rotary) {
  check_rotary_part(json);
  const std::string type = json.text("rope_type", json.text("type", "default"));
  if (type == "default") return;
  rotary.scaling.factor = json.at_least(1, "factor");
  if (type == "linear") return;
  if (type != "llama3") json.fail("rope_type \"" + type + "\" is not supported; there are default, linear and llama3");
  rotary.scaling.low_freq_factor = json.positive("low_freq_factor");
  rotary.scaling.high_freq_factor = json.positive("high_freq_factor");
  if (rotary.scaling.high_freq_factor <= rotary.scaling.low_freq_factor) {
    json.fail("high_freq_factor (" + json.shown("high_freq_factor") + ") must be above low_freq_factor (" +
              json.shown("low_freq_factor") + ")");
  }
  rotary.scaling.original_max_position_embeddings = json.number("original_max_position_embeddings");
}

inline void read_llama(const ConfigReader& json, ModelConfig& config) {
  config.layers = json.number("num_hidden_layers");
  config.hidden = json.number("hidden_size");
  config.heads = json.number("num_attention_heads");
  config.kv_heads = json.number("num_key_value_heads", config.heads);
  config.inner = json.number("intermediate_size");
  config.words = json.number("vocab_size");
  config.positions = json.number("max_position_embeddings", 2048);
  config.eps = json.at_least(0, "rms_norm_eps", 1e-6);
  config.tied = json.truth("tie_word_embeddings", false);
  config.attention_bias = json.truth("attention_bias", false);
  config.mlp_bias = json.truth("mlp_bias", false);
  if (json.text("hidden_act", "silu") != "silu") json.fail("hidden_act must be silu");
  if (config.hidden % config.heads != 0 && !json.has("head_dim"))
    json.fail("hidden_size must be divisible by num_attention_heads");
  config.head_size = json.number("head_dim", config.hidden / config.heads);
  if (json.number("sliding_window", config.positions) < config.positions) {
    json.fail("sliding_window must be null or at least max_position_embeddings (" + std::to_string(config.positions) +
              "), not " + json.shown("sliding_window") +
              ": every token sees all before it; set it to null, or max_position_embeddings to it for shorter texts");
  }
  config.rotary.theta = json.positive("rope_theta", 10000.0);
  check_rotary_part(json);
  if (json.has("rope_scaling")) read_rotary_type(json.at("rope_scaling"), config.rotary);
  if (!json.has("rope_parameters")) return;
  const ConfigReader rope = json.at("rope_parameters");
  config.rotary.theta = rope.positive("rope_theta", config.rotary.theta);
  read_rotary_type(rope, config.rotary);
}

/// Attention and norms are Llama's.
inline void read_mixtral(const ConfigReader& json, ModelConfig& config) {
  read_llama(json, config);
  config.family = Family::mixtral;
  for (const char* const key : {"attention_bias", "mlp_bias"}) {
    if (json.truth(key, false))
      json.fail(std::string(key) + " must be false: a Mixtral has no biases; take the key out of the file");
  }
  config.eps = json.at_least(0, "rms_norm_eps", 1e-5);
  if (!json.has("rope_theta") && !json.has("rope_parameters")) config.rotary.theta = 1e6;
  config.experts = json.number("num_local_experts", 8);
  config.chosen_experts = json.number("num_experts_per_tok", 2);
  if (config.chosen_experts > config.experts) {
    json.fail("num_experts_per_tok (" + std::to_string(config.chosen_experts) +
              ") must be at most num_local_experts (" + std::to_string(config.experts) + ")");
  }
}

inline void read_gpt2(const ConfigReader& json, ModelConfig& config) {
  config.family = Family::gpt2;
  config.layers = json.number("n_layer");
  config.hidden = json.number("n_embd");
  config.heads = config.kv_heads = json.number("n_head");
  config.inner = json.number("n_inner", 4 * config.hidden);
  config.words = json.number("vocab_size");
  config.positions = json.number("n_positions");
  config.eps = json.at_least(0, "layer_norm_epsilon", 1e-5);
  config.tied = json.truth("tie_word_embeddings", true);
  config.attention_bias = config.mlp_bias = true;
  const std::string activation = json.text("activation_function", "gelu_new");
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh")
    json.fail("activation_function must be gelu_new or gelu_pytorch_tanh, not \"" + activation + "\"");
  if (!json.truth("scale_attn_weights", true) || json.truth("scale_attn_by_inverse_layer_idx", false))
    json.fail(
        "scores are divided by the root of a head's size: scale_attn_weights must be true and "
        "scale_attn_by_inverse_layer_idx false");
  if (config.hidden % config.heads != 0) json.fail("n_embd must be divisible by n_head");
  config.head_size = config.hidden / config.heads;
}

/// Weights are numbers of the types of safetensors, not packed ones with scales beside them.
inline void check_not_quantized(const ConfigReader& json) {
  if (!json.has("quantization_config")) return;
  const std::string method = json.at("quantization_config").text("quant_method", "");
  json.fail("quantization_config" + (method.empty() ? "" : " (quant_method \"" + method + "\")") +
            " must be null: quantized weights are not supported; take the model from before it was quantized, or for "
            "random weights the config.json alone without this key");
}

inline ModelConfig parse_config(const std::string& text, const std::string& file) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw ConfigurationError(file + ": this is no JSON object");
  const ConfigReader reader(json, file);
  check_not_quantized(reader);
  ModelConfig config;
  const std::string type = reader.text("model_type", "");
  if (type == "llama")
    read_llama(reader, config);
  else if (type == "gpt2")
    read_gpt2(reader, config);
  else if (type == "mixtral")
    read_mixtral(reader, config);
  else
    reader.fail("model_type \"" + type + "\" is not supported; there are gpt2, llama and mixtral");
  if (config.heads % config.kv_heads != 0) reader.fail("num_attention_heads must be divisible by num_key_value_heads");
  // A rotary embedding turns elements in pairs; GPT-2 adds what it knows of positions.
  if (!config.is_gpt2() && config.head_size % 2 != 0) reader.fail("the size of a head must be even");
  config.stored_layers = config.layers;
  return config;
}

/// Published models, by the figures of their config.json on huggingface.co; `tiny` and `tiny-moe` are nobody's.
inline std::optional<std::string> published_config(const std::string& name) {
  const auto llama = [](const char* sizes, const char* rest) {
    return std::string(R"({"model_type": "llama", "rms_norm_eps": 1e-05, )") + sizes + ", " + rest + "}";
  };
  const char* const llama3 = R"("vocab_size": 128256, "max_position_embeddings": 8192, "rope_theta": 500000.0)";
  if (name == "tiny")
    return llama(R"("hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 16,
                    "num_key_value_heads": 8)",
                 R"("vocab_size": 1024)");
  if (name == "llama-3-8b")
    return llama(R"("hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                    "num_attention_heads": 32, "num_key_value_heads": 8)",
                 llama3);
  if (name == "llama-3-70b")
    return llama(R"("hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
                    "num_attention_heads": 64, "num_key_value_heads": 8)",
                 llama3);
  if (name == "tiny-moe" || name == "mixtral-8x7b") {
    return std::string(R"({"model_type": "mixtral", "rms_norm_eps": 1e-05, "rope_theta": 1000000.0,
                           "num_local_experts": 8, "num_experts_per_tok": 2, "num_key_value_heads": 8, )") +
           (name == "tiny-moe" ? R"("hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 2,
                                    "num_attention_heads": 16, "vocab_size": 1024})"
                               : R"("hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                                    "num_attention_heads": 32, "vocab_size": 32000,
                                    "max_position_embeddings": 32768})");
  }
  if (name == "gpt2")
    return R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257,
               "n_positions": 1024})";
  return std::nullopt;
}

/// A published name, a config.json, or a folder that has one (and the weights beside it).
inline ModelConfig read_config(const std::string& name) {
  ModelConfig config;
  if (const auto text = published_config(name)) {
    config = parse_config(*text, name);
  } else {
    struct stat status{};
    const bool folder = ::stat(name.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    const std::string path = folder ? name + "/config.json" : name;
    std::ifstream file(path);
    const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file.good() && content.empty())
      throw ConfigurationError((path.empty() ? "model" : path) +
                               ": it cannot be read; a model is tiny, tiny-moe, gpt2, llama-3-8b, llama-3-70b, "
                               "mixtral-8x7b, a folder with a config.json, or such a file");
    config = parse_config(content, path);
    const std::size_t slash = path.rfind('/');
    config.folder = slash == std::string::npos ? "." : path.substr(0, slash);
  }
  config.name = name;
  return config;
}

}  // namespace benches::gpt
