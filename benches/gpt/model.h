// GPT-2, Llama and Mixtral, cut over the ranks of a tensor parallel group as Megatron cuts them: prefill and decode
// with a cache.
//
// A layer is a column (queries, keys and values), attention over the rank's heads, a row; a column, the activation, a
// row. In a mixture experts.h stands in place of the second pair. Each row ends in an all-reduce, or with sequence
// parallelism in a reduce-scatter that the next column's all-gather completes. Activations are [tokens, batch, hidden].
//
// Of a pipeline each stage has as many consecutive layers, the first one the embedding, the last one the head.
#pragma once

#include <kernbench/torch/transformer.h>
#include <kernbench/tp.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "checks.h"
#include "experts.h"
#include "parallel.h"
#include "pipeline.h"
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
  /// Of x + more, and that sum.
  std::tuple<Tensor, Tensor> of_sum(const Tensor& x, const Tensor& more) const {
    if (bias.defined()) return torch::ahbm::add_layer_norm(x, more, {x.size(-1)}, weight, bias, eps);
    return torch::ahbm::add_rms_norm(x, more, {x.size(-1)}, weight, eps);
  }
};

/// What goes from layer to layer. What a layer adds stays apart until the next norm, which adds it in its launch.
struct Residual {
  Tensor x, more = {};  // more: undefined where nothing is to be added

  Tensor normed(const Norm& norm) {
    if (!more.defined()) return norm(x);
    Tensor result;
    std::tie(result, x) = norm.of_sum(x, more);
    more = {};
    return result;
  }
  Tensor sum() const { return more.defined() ? x + more : x; }
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
      : config_(config),
        weights_(weights),
        parallel_(parallel),
        pipeline_(parallel),
        batch_(batch),
        most_tokens_(most_tokens) {
    check_cut(config, parallel, batch, most_tokens);
    const std::string root = config.is_gpt2() ? "transformer." : "model.";
    const std::string words = root + (config.is_gpt2() ? "wte.weight" : "embed_tokens.weight");
    if (parallel.is_first()) embedding_ = on_device(word_rows(words), words);
    if (config.is_gpt2() && parallel.is_first())
      positions_ =
          on_device(weights.whole(root + "wpe.weight", {config.positions, config.hidden}), root + "wpe.weight");
    if (!config.is_gpt2()) turns_ = torch::ahbm::rotary_frequencies(config.head_size, config.rotary, parallel.device);
    for (std::int64_t i = 0; i < layers_of_a_stage(); ++i) layers_.push_back(make_layer(first_layer() + i));
    if (!parallel.is_last()) return;
    last_norm_ = norm(root + (config.is_gpt2() ? "ln_f" : "norm"));
    if (!config.tied)
      head_ = on_device(word_rows("lm_head.weight"), "lm_head.weight");
    else
      head_ = parallel.is_first() ? embedding_ : on_device(word_rows(words), words);
  }

  /// The rank's scores, [tokens, batch, words of the rank] for ids [tokens, batch], or of the last token alone;
  /// undefined on the ranks of all stages but the last. Of ids the first stage reads the words, others the shape. The
  /// cache grows by the tokens.
  Tensor forward(const Tensor& ids, bool all_tokens = false) {
    const std::int64_t tokens = ids.size(0), prompts = batch_ / parallel_.micro_batches;
    shares_tokens_ = parallel_.shares(tokens);
    std::vector<Tensor> all;
    for (std::int64_t first = 0; first < batch_; first += prompts) {
      const Tensor part = parallel_.micro_batches == 1 ? ids : ids.narrow(1, first, prompts).contiguous();
      const Tensor result = through_stage(part, {first, prompts}, all_tokens);
      if (result.defined()) all.push_back(result);
    }
    pipeline_.wait();
    cached_ += tokens;
    ++forwards_;
    if (all.empty()) return {};
    return all.size() == 1 ? all.front() : torch::cat(all, 1);
  }
  /// The scores of all words of a forward, alike on all ranks of the last stage; undefined on those of others.
  Tensor of_all_words(const Tensor& scores) const {
    if (!scores.defined() || parallel_.size == 1) return scores;
    return tp::gather_from_tensor_model_parallel_region(scores).narrow(-1, 0, config_.words);
  }
  /// The words [1, batch] with the best scores of a forward, on the first and the last stage; on others a tensor of
  /// that shape.
  Tensor best_words(const Tensor& scores) const {
    return pipeline_.words(scores.defined() ? best_of(scores) : Tensor(), batch_);
  }
  std::int64_t cached() const { return cached_; }
  /// Of the rank's weights that each token is multiplied with, the output matrix among them.
  std::int64_t weight_bytes() const {
    std::int64_t sum = bytes_of(head_) + bytes_of(last_norm_);
    for (const Layer& layer : layers_) {
      sum += bytes_of(layer.before_attention) + bytes_of(layer.before_mlp);
      for (const Product* product : {&layer.qkv, &layer.attention_out, &layer.up, &layer.down})
        sum += bytes_of(product->weight) + bytes_of(product->bias);
    }
    return sum;
  }
  /// Of the rank's keys and values of one token, of all prompts and layers.
  std::int64_t cache_bytes() const {
    std::int64_t sum = 0;
    for (const Layer& layer : layers_) sum += bytes_of(layer.cache) / most_tokens_;
    return sum;
  }
  /// From now on a pass goes through so many of the layers only. What it yields means nothing: without data.
  void sample_layers(std::int64_t simulated) { sampled_ = {config_.layers, std::min(simulated, config_.layers)}; }
  const SampledLayers& sampled_layers() const { return sampled_; }
  /// Forgets the tokens so far.
  void clear() {
    cached_ = 0;
    forwards_ = 0;
  }

 private:
  friend class Training;

  /// A part of the model, as a range of the report; what the host computes for comparison is none.
  template <class Function>
  auto within(const std::string& part, const Function& function) const {
    if (parallel_.device.is_cpu()) return function();
    const torch::profiler::record_function range(part);
    return function();
  }

  static std::int64_t bytes_of(const Tensor& tensor) {
    return tensor.defined() ? tensor.numel() * item_size(tensor.scalar_type()) : 0;
  }
  static std::int64_t bytes_of(const Norm& norm) { return bytes_of(norm.weight) + bytes_of(norm.bias); }

  Tensor scores(Residual residual, bool all_tokens) const {
    Tensor x = gathered(residual.normed(last_norm_));
    if (!all_tokens) x = x.narrow(0, x.size(0) - 1, 1);
    const Tensor scores = torch::linear(x, head_);
    return parallel_.size > 1 ? scores : scores.narrow(-1, 0, config_.words);
  }
  Tensor best_of(const Tensor& scores) const {
    return parallel_.size > 1 ? tp::vocab_parallel_argmax(scores, config_.words) : scores.argmax(-1);
  }

  std::int64_t layers_of_a_stage() const { return config_.layers / parallel_.stages; }
  std::int64_t first_layer() const { return parallel_.stage * layers_of_a_stage(); }

  // ---- weights -------------------------------------------------------------------------------------------------

  Part mine(std::int64_t dimension, std::int64_t whole, std::int64_t first = 0) const {
    return part_of(parallel_, dimension, whole, first);
  }
  Tensor on_device(const Tensor& weight, const std::string& name) const {
    return gpt::on_device(parallel_, weight, name);
  }
  Tensor whole_on_device(const std::string& name) const {
    return on_device(weights_.whole(name, {config_.hidden}), name);
  }
  /// The rank's rows of a table of words, padded to a multiple of the ranks.
  Tensor word_rows(const std::string& name) const {
    const std::int64_t part = part_of_words();
    return weights_.part(name, {config_.words, config_.hidden},
                         {0, parallel_.rank * part, (parallel_.rank + 1) * part});
  }
  std::int64_t part_of_words() const { return (config_.words + parallel_.size - 1) / parallel_.size; }

  Norm norm(const std::string& name) const {
    Norm result{whole_on_device(name + ".weight"), {}, config_.eps};
    if (config_.is_gpt2()) result.bias = whole_on_device(name + ".bias");
    return result;
  }
  /// Rows of several weights of Llama's [out, in], one behind the other.
  Product column(const std::vector<std::pair<std::string, std::int64_t>>& names, bool bias) const {
    std::vector<Tensor> rows, biases;
    std::string all;  // "model.layers.0.mlp.gate_proj+up_proj"
    for (const auto& [name, out] : names) {
      all += all.empty() ? name : "+" + name.substr(name.rfind('.') + 1);
      rows.push_back(weights_.part(name + ".weight", {out, config_.hidden}, mine(0, out)));
      if (bias) biases.push_back(weights_.part(name + ".bias", {out}, mine(0, out)));
    }
    return {on_device(joined(rows), all + ".weight"), bias ? on_device(joined(biases), all + ".bias") : Tensor()};
  }
  Product row(const std::string& name, std::int64_t in, bool bias) const {
    return {on_device(weights_.part(name + ".weight", {config_.hidden, in}, mine(1, in)), name + ".weight"),
            bias ? whole_on_device(name + ".bias") : Tensor()};
  }
  /// GPT-2's weights are [in, out]; of `parts` products side by side each is cut by itself.
  Product transposed_column(const std::string& name, std::int64_t out, std::int64_t parts) const {
    std::vector<Tensor> rows, biases;
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t one = out / parts;
      rows.push_back(weights_.part(name + ".weight", {config_.hidden, out}, mine(1, one, i * one)).transpose(0, 1));
      biases.push_back(weights_.part(name + ".bias", {out}, mine(0, one, i * one)));
    }
    return {on_device(joined(rows), name + ".weight"), on_device(joined(biases), name + ".bias")};
  }
  Product transposed_row(const std::string& name, std::int64_t in) const {
    const Tensor columns = weights_.part(name + ".weight", {in, config_.hidden}, mine(0, in)).transpose(0, 1);
    return {on_device(columns.contiguous(), name + ".weight"), whole_on_device(name + ".bias")};
  }

  Layer make_layer(std::int64_t i) const {
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
    layer.cache = torch::empty({batch_, 2 * config_.kv_heads / parallel_.size, most_tokens_, config_.head_size},
                               torch::dtype(parallel_.dtype).device(parallel_.device));
    return layer;
  }

  // ---- forward -------------------------------------------------------------------------------------------------

  /// Consecutive prompts of the batch.
  struct Prompts {
    std::int64_t first, count;
  };

  /// A micro-batch: its scores on the last stage, undefined on others.
  Tensor through_stage(const Tensor& ids, const Prompts& prompts, bool all_tokens) {
    const std::int64_t tokens = ids.size(0);
    Residual x{parallel_.is_first() ? within("embedding", [&] { return embedded(ids); }) : within("receive", [&] {
      return pipeline_.receive({shares_tokens_ ? tokens / parallel_.size : tokens, prompts.count, config_.hidden});
    })};
    if (sampled_.leaves_out()) sampled_.begin_pass();
    for (const std::size_t i : sampled_.of(layers_.size())) {
      if (sampled_.leaves_out()) sampled_.mark();
      const std::int64_t number = first_layer() + static_cast<std::int64_t>(i);
      x = within("layer " + std::to_string(number),
                 [&] { return through(layers_[i], std::move(x), tokens, prompts, number); });
    }
    if (sampled_.leaves_out()) sampled_.mark();
    if (parallel_.is_last()) return within("head", [&] { return scores(std::move(x), all_tokens); });
    pipeline_.send(x.sum());
    return {};
  }

  Tensor reduced(const Tensor& x) const {
    if (parallel_.size == 1) return x;
    return shares_tokens_ ? tp::reduce_scatter_to_sequence_parallel_region(x)
                          : tp::reduce_from_tensor_model_parallel_region(x);
  }
  Tensor gathered(const Tensor& x) const { return shares_tokens_ ? tp::gather_from_sequence_parallel_region(x) : x; }
  Tensor through_column(const Product& column, const Tensor& x) const {
    if (!parallel_.overlap || !shares_tokens_) return column(gathered(x));
    return tp::gather_linear_overlapped(x, column.weight, column.bias).output;
  }
  /// A row's product is summed over the ranks; its bias is added once.
  Tensor through_row(const Product& row, const Tensor& x) const {
    const Tensor y = parallel_.overlap && parallel_.size > 1
                         ? tp::linear_reduce_overlapped(x, row.weight, {.sequence_parallel = shares_tokens_})
                         : reduced(torch::linear(x, row.weight));
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
  Tensor attention(const Layer& layer, const Tensor& product, const Prompts& prompts) const {
    const Tensor cache = prompts.count == batch_ ? layer.cache : layer.cache.narrow(0, prompts.first, prompts.count);
    const std::int64_t tokens = product.size(0), batch = product.size(1), size = config_.head_size;
    const std::int64_t heads = config_.heads / parallel_.size, kv = config_.kv_heads / parallel_.size;
    const auto by_heads = [&](std::int64_t first, std::int64_t count) {  // [batch, heads, tokens, size]
      return product.narrow(2, first * size, count * size).view({tokens, batch, count, size}).permute({1, 2, 0, 3});
    };
    const Tensor place = cache.narrow(2, cached_, tokens);
    if (turns_.defined())
      torch::ahbm::rotary_embedding_into_cache_(by_heads(0, heads + 2 * kv), turns_, place, {.offset = cached_});
    else
      place.copy_(by_heads(heads, 2 * kv));
    const Tensor q = by_heads(0, heads);
    const Tensor known = cache.narrow(2, 0, cached_ + tokens);
    const Tensor k = cached_ == 0 ? by_heads(heads, kv) : known.narrow(1, 0, kv);
    const Tensor v = cached_ == 0 ? by_heads(heads + kv, kv) : known.narrow(1, kv, kv);
    const Tensor mixed = torch::scaled_dot_product_attention(q, k, v, {}, 0.0, tokens > 1, {}, true);
    return mixed.permute({2, 0, 1, 3}).reshape({tokens, batch, heads * size});
  }

  /// Layer `number` of the model.
  Residual through(const Layer& layer, Residual residual, std::int64_t tokens, const Prompts& prompts,
                   std::int64_t number) const {
    if (cached_ > 0 && tokens > 1)
      throw kernbench::ValueError("several tokens behind others are not supported: clear()");
    const Tensor product = through_column(layer.qkv, residual.normed(layer.before_attention));
    residual.more = through_row(layer.attention_out, attention(layer, product, prompts));
    const Tensor normed = residual.normed(layer.before_mlp);
    if (layer.experts) {
      const bool exchanges = parallel_.experts && shares_tokens_;
      const auto pass = static_cast<std::size_t>(forwards_ * config_.layers + number);
      residual.more =
          exchanges ? (*layer.experts)(normed, true, pass) : reduced((*layer.experts)(gathered(normed), false, pass));
      return residual;
    }
    const Tensor inner = through_column(layer.up, normed);
    const Tensor active = config_.is_gpt2() ? torch::gelu(inner, "tanh") : torch::ahbm::swiglu(inner);
    residual.more = through_row(layer.down, active);
    return residual;
  }

  const ModelConfig& config_;
  const Weights& weights_;
  Parallel parallel_;
  Pipeline pipeline_;
  std::int64_t batch_, most_tokens_, cached_ = 0;
  std::int64_t forwards_ = 0;
  bool shares_tokens_ = false;
  SampledLayers sampled_;
  Tensor embedding_, positions_, turns_, head_;
  Norm last_norm_;
  std::vector<Layer> layers_;
};

}  // namespace benches::gpt
