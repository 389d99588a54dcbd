// GPT-2, Llama and Mixtral, cut over the ranks of a tensor parallel group as Megatron cuts them: prefill and decode
// with a cache.
//
// A layer is a column (queries, keys and values), attention over the rank's heads, a row; a column, the activation, a
// row. In a mixture experts.h stands in place of the second pair. Each row ends in an all-reduce, or with sequence
// parallelism in a reduce-scatter that the next column's all-gather completes. Activations are [tokens, batch, hidden].
#pragma once

#include <kernbench/torch/transformer.h>
#include <kernbench/tp.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "experts.h"
#include "parallel.h"
#include "sampled_layers.h"
#include "weights.h"

namespace benches::gpt {

struct Norm {
  Tensor weight, bias;  // no bias: the norm by the root mean square
  double eps = 1e-5;
  Tensor operator()(const Tensor& x) const {
    if (bias.defined()) return torch::layer_norm(x, {x.size(-1)}, weight, bias, eps);
    return torch::rms_norm(x, {x.size(-1)}, weight, eps);
  }
};

struct Layer {
  Norm before_attention, before_mlp;
  Product qkv, attention_out, up, down;
  std::optional<Experts> experts;  // instead of up and down
  Tensor cache;                    // keys, then values: [batch, 2 * heads, positions, size of a head]
};

class Training;

class LanguageModel {
 public:
  LanguageModel(const ModelConfig& config, const Weights& weights, const Parallel& parallel, std::int64_t batch,
                std::int64_t most_tokens)
      : config_(config), weights_(weights), parallel_(parallel), most_tokens_(most_tokens) {
    check(batch);
    const std::string root = config.is_gpt2() ? "transformer." : "model.";
    embedding_ = on_device(word_rows(root + (config.is_gpt2() ? "wte.weight" : "embed_tokens.weight")));
    if (config.is_gpt2())
      positions_ = on_device(weights.whole(root + "wpe.weight", {config.positions, config.hidden}));
    else
      turns_ = torch::ahbm::rotary_frequencies(config.head_size, config.rotary, parallel.device);
    for (std::int64_t i = 0; i < config.layers; ++i) layers_.push_back(make_layer(i, batch));
    last_norm_ = norm(root + (config.is_gpt2() ? "ln_f" : "norm"));
    head_ = config.tied ? embedding_ : on_device(word_rows("lm_head.weight"));
  }

  /// The scores of the words, [tokens, batch, words] for ids [tokens, batch], or of the last token alone; alike on all
  /// ranks. The cache grows by the tokens.
  Tensor forward(const Tensor& ids, bool all_tokens = false) {
    const std::int64_t tokens = ids.size(0);
    shares_tokens_ = parallel_.sequence && parallel_.size > 1 && tokens % parallel_.size == 0;
    Tensor x = within("embedding", [&] { return embedded(ids); });
    if (sampled_.leaves_out()) sampled_.begin_pass();
    for (const std::size_t i : sampled_.of(layers_.size())) {
      if (sampled_.leaves_out()) sampled_.mark();
      x = within("layer " + std::to_string(i), [&] { return through(layers_[i], x, tokens); });
    }
    if (sampled_.leaves_out()) sampled_.mark();
    cached_ += tokens;
    return within("head", [&] { return scores(x, all_tokens); });
  }
  std::int64_t cached() const { return cached_; }
  /// From now on a pass goes through so many of the layers only. What it yields means nothing: without data.
  void sample_layers(std::int64_t simulated) { sampled_ = {config_.layers, std::min(simulated, config_.layers)}; }
  const SampledLayers& sampled_layers() const { return sampled_; }
  /// Forgets the tokens so far.
  void clear() {
    cached_ = 0;
    passes_ = 0;
  }

 private:
  friend class Training;

  /// A part of the model, as a range of the report; what the host computes for comparison is none.
  template <class Function>
  Tensor within(const std::string& part, const Function& function) const {
    if (parallel_.device.is_cpu()) return function();
    const torch::profiler::record_function range(part);
    return function();
  }

  Tensor scores(Tensor x, bool all_tokens) const {
    x = gathered(last_norm_(x));
    if (!all_tokens) x = x.narrow(0, x.size(0) - 1, 1);
    Tensor scores = torch::linear(x, head_);
    if (parallel_.size > 1) scores = tp::gather_from_tensor_model_parallel_region(scores);
    return scores.narrow(-1, 0, config_.words);
  }

  void check(std::int64_t batch) const {
    const auto refuse = [](const std::string& what) { throw kernbench::ValueError(what); };
    const auto divides = [&](const char* name, std::int64_t value) {
      if (value % parallel_.size != 0) {
        refuse(std::string(name) + " (" + std::to_string(value) + ") must be divisible by TP world size (" +
               std::to_string(parallel_.size) + ")");
      }
    };
    divides("num_attention_heads", config_.heads);
    divides("num_key_value_heads", config_.kv_heads);
    if (parallel_.experts && !config_.is_mixture())
      refuse("expert_parallel: " + config_.name + " is no mixture of experts");
    if (parallel_.experts)
      divides("num_local_experts", config_.experts);
    else
      divides("intermediate_size", config_.inner);
    if (most_tokens_ > config_.positions) {
      refuse("tokens and new_tokens together (" + std::to_string(most_tokens_) + ") are more than the model's " +
             std::to_string(config_.positions) + " positions");
    }
    if (batch < 1) refuse("batch must be at least 1");
  }

  // ---- weights -------------------------------------------------------------------------------------------------

  Part mine(std::int64_t dimension, std::int64_t whole, std::int64_t first = 0) const {
    return part_of(parallel_, dimension, whole, first);
  }
  Tensor on_device(const Tensor& weight) const { return gpt::on_device(parallel_, weight); }
  /// The rank's rows of a table of words, padded to a multiple of the ranks.
  Tensor word_rows(const std::string& name) const {
    const std::int64_t part = part_of_words();
    return weights_.part(name, {config_.words, config_.hidden},
                         {0, parallel_.rank * part, (parallel_.rank + 1) * part});
  }
  std::int64_t part_of_words() const { return (config_.words + parallel_.size - 1) / parallel_.size; }

  Norm norm(const std::string& name) const {
    Norm result{on_device(weights_.whole(name + ".weight", {config_.hidden})), {}, config_.eps};
    if (config_.is_gpt2()) result.bias = on_device(weights_.whole(name + ".bias", {config_.hidden}));
    return result;
  }
  /// Rows of several weights of Llama's [out, in], one behind the other.
  Product column(const std::vector<std::pair<std::string, std::int64_t>>& names, bool bias) const {
    std::vector<Tensor> rows, biases;
    for (const auto& [name, out] : names) {
      rows.push_back(weights_.part(name + ".weight", {out, config_.hidden}, mine(0, out)));
      if (bias) biases.push_back(weights_.part(name + ".bias", {out}, mine(0, out)));
    }
    return {on_device(joined(rows)), bias ? on_device(joined(biases)) : Tensor()};
  }
  Product row(const std::string& name, std::int64_t in, bool bias) const {
    return {on_device(weights_.part(name + ".weight", {config_.hidden, in}, mine(1, in))),
            bias ? on_device(weights_.whole(name + ".bias", {config_.hidden})) : Tensor()};
  }
  /// GPT-2's weights are [in, out]; of `parts` products side by side each is cut by itself.
  Product transposed_column(const std::string& name, std::int64_t out, std::int64_t parts) const {
    std::vector<Tensor> rows, biases;
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t one = out / parts;
      rows.push_back(weights_.part(name + ".weight", {config_.hidden, out}, mine(1, one, i * one)).transpose(0, 1));
      biases.push_back(weights_.part(name + ".bias", {out}, mine(0, one, i * one)));
    }
    return {on_device(joined(rows)), on_device(joined(biases))};
  }
  Product transposed_row(const std::string& name, std::int64_t in) const {
    return {on_device(weights_.part(name + ".weight", {in, config_.hidden}, mine(0, in)).transpose(0, 1).contiguous()),
            on_device(weights_.whole(name + ".bias", {config_.hidden}))};
  }

  Layer make_layer(std::int64_t i, std::int64_t batch) const {
    const std::int64_t q = config_.heads * config_.head_size, kv = config_.kv_heads * config_.head_size;
    Layer layer;
    if (config_.is_gpt2()) {
      const std::string name = "transformer.h." + std::to_string(i);
      layer.before_attention = norm(name + ".ln_1");
      layer.qkv = transposed_column(name + ".attn.c_attn", 3 * q, 3);
      layer.attention_out = transposed_row(name + ".attn.c_proj", q);
      layer.before_mlp = norm(name + ".ln_2");
      layer.up = transposed_column(name + ".mlp.c_fc", config_.inner, 1);
      layer.down = transposed_row(name + ".mlp.c_proj", config_.inner);
    } else {
      const std::string name = "model.layers." + std::to_string(i), attention = name + ".self_attn.",
                        mlp = name + ".mlp.";
      layer.before_attention = norm(name + ".input_layernorm");
      layer.qkv = column({{attention + "q_proj", q}, {attention + "k_proj", kv}, {attention + "v_proj", kv}},
                         config_.attention_bias);
      layer.attention_out = row(attention + "o_proj", q, config_.attention_bias);
      layer.before_mlp = norm(name + ".post_attention_layernorm");
      if (config_.is_mixture()) {
        layer.experts.emplace(config_, weights_, parallel_, name);
      } else {
        layer.up = column({{mlp + "gate_proj", config_.inner}, {mlp + "up_proj", config_.inner}}, config_.mlp_bias);
        layer.down = row(mlp + "down_proj", config_.inner, config_.mlp_bias);
      }
    }
    layer.cache = torch::empty({batch, 2 * config_.kv_heads / parallel_.size, most_tokens_, config_.head_size},
                               torch::dtype(parallel_.dtype).device(parallel_.device));
    return layer;
  }

  // ---- forward -------------------------------------------------------------------------------------------------

  Tensor reduced(const Tensor& x) const {
    if (parallel_.size == 1) return x;
    return shares_tokens_ ? tp::reduce_scatter_to_sequence_parallel_region(x)
                          : tp::reduce_from_tensor_model_parallel_region(x);
  }
  Tensor gathered(const Tensor& x) const { return shares_tokens_ ? tp::gather_from_sequence_parallel_region(x) : x; }
  /// A row's product is summed over the ranks; its bias is added once.
  Tensor through_row(const Product& row, const Tensor& x) const {
    const Tensor y = reduced(torch::linear(x, row.weight));
    return row.bias.defined() ? y + row.bias : y;
  }

  Tensor embedded(const Tensor& ids) const {
    const std::int64_t part = part_of_words();
    Tensor x =
        parallel_.size == 1
            ? torch::embedding(embedding_, ids)
            : reduced(torch::ahbm::embedding_part(embedding_, ids, parallel_.rank * part, part * parallel_.size));
    if (!config_.is_gpt2()) return x;
    Tensor positions = positions_.narrow(0, cached_, ids.size(0)).unsqueeze(1);
    if (shares_tokens_) positions = positions.narrow(0, parallel_.rank * x.size(0), x.size(0));
    return x + positions;
  }

  /// Queries, keys and values as a product yields them: [tokens, batch, heads * size]; the same of what is mixed.
  Tensor attention(Layer& layer, const Tensor& product) const {
    const std::int64_t tokens = product.size(0), batch = product.size(1), size = config_.head_size;
    const std::int64_t heads = config_.heads / parallel_.size, kv = config_.kv_heads / parallel_.size;
    const auto by_heads = [&](std::int64_t first, std::int64_t count) {  // [batch, heads, tokens, size]
      return product.narrow(2, first * size, count * size).view({tokens, batch, count, size}).permute({1, 2, 0, 3});
    };
    if (turns_.defined()) torch::ahbm::rotary_embedding_(by_heads(0, heads + kv), turns_, {.offset = cached_});
    layer.cache.narrow(2, cached_, tokens).copy_(by_heads(heads, 2 * kv));
    const Tensor q = by_heads(0, heads);
    const Tensor known = layer.cache.narrow(2, 0, cached_ + tokens);
    const Tensor k = cached_ == 0 ? by_heads(heads, kv) : known.narrow(1, 0, kv);
    const Tensor v = cached_ == 0 ? by_heads(heads + kv, kv) : known.narrow(1, kv, kv);
    const Tensor mixed = torch::scaled_dot_product_attention(q, k, v, {}, 0.0, tokens > 1, {}, true);
    return mixed.permute({2, 0, 1, 3}).reshape({tokens, batch, heads * size});
  }

  Tensor through(Layer& layer, const Tensor& x, std::int64_t tokens) {
    if (cached_ > 0 && tokens > 1)
      throw kernbench::ValueError("several tokens behind others are not supported: clear()");
    const Tensor mixed = attention(layer, layer.qkv(gathered(layer.before_attention(x))));
    const Tensor y = x + through_row(layer.attention_out, mixed);
    if (layer.experts) {
      const Tensor normed = layer.before_mlp(y);
      const bool exchanges = parallel_.experts && shares_tokens_;
      if (exchanges) return y + (*layer.experts)(normed, true, passes_++);
      return y + reduced((*layer.experts)(gathered(normed), false, passes_++));
    }
    const Tensor inner = layer.up(gathered(layer.before_mlp(y)));
    const Tensor active = config_.is_gpt2() ? torch::gelu(inner, "tanh") : torch::ahbm::swiglu(inner);
    return y + through_row(layer.down, active);
  }

  const ModelConfig& config_;
  const Weights& weights_;
  Parallel parallel_;
  std::int64_t most_tokens_, cached_ = 0;
  std::size_t passes_ = 0;  // through layers with experts
  bool shares_tokens_ = false;
  SampledLayers sampled_;
  Tensor embedding_, positions_, turns_, head_;
  Norm last_norm_;
  std::vector<Layer> layers_;
};

}  // namespace benches::gpt
