// A training step of the models of model.h: the loss of the next tokens, the gradients of all weights, AdamW.
//
// The step walks the gradient pairs of kernbench/tp/gradients.h backwards. Backward of a layer communicates as much as
// forward: two all-reduces, or with shared tokens two all-gathers and two reduce-scatters. With these the gradients of
// what every rank has whole (norms) are those of the rank's own tokens; one all-reduce of all of them makes the sums.
#pragma once

#include <kernbench/torch/embedding.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model.h"

namespace benches::gpt {

class Training {
 public:
  /// The part of a weight of the files that a rank has the gradient of. Not cut: all of it, alike on all ranks.
  struct GradientPart {
    std::string name;
    Tensor grad;
    bool is_cut = false;
    Part part = {};
  };

  /// `model` has no mixture of experts; its cache stays as it is.
  explicit Training(LanguageModel& model) : m_(model) { check_training(model.config_, model.parallel_); }

  /// The mean loss of the tokens ids[1:] of [tokens, batch], each predicted from those before it; alike on all ranks.
  Tensor forward(const Tensor& ids) {
    const std::int64_t tokens = ids.size(0);
    if (tokens < 2) throw kernbench::ValueError("train: a loss takes at least 2 tokens");
    ids_ = ids;
    m_.cached_ = 0;
    m_.shares_tokens_ = m_.parallel_.shares(tokens);
    layers_.clear();
    Tensor x = m_.within("embedding", [&] { return m_.embedded(ids); });
    for (std::size_t i = 0; i < m_.layers_.size(); ++i)
      x = m_.within("layer " + std::to_string(i), [&] { return through(m_.layers_[i], x); });
    return m_.within("head", [&] { return loss(x); });
  }

  /// The gradients of the loss of the last forward.
  void backward() {
    Tensor grad;
    m_.within("head", [&] { return grad = head_backward(); });
    for (std::size_t i = m_.layers_.size(); i-- > 0;)
      m_.within("layer " + std::to_string(i), [&] { return grad = layer_backward(i, grad); });
    m_.within("embedding", [&] { return embedding_backward(grad), grad; });
    sum_over_tokens();
  }

  /// A step of AdamW of each weight; the rank's parts take it alone.
  void step(const tp::AdamOptions& options) {
    const auto take = [&](const std::string& name, const Tensor& weight) {
      if (weight.defined()) tp::adam_step(weight, grads_.at(name), states_[name], options);
    };
    take("embedding", m_.embedding_);
    take("positions", m_.positions_);
    if (!m_.config_.tied) take("head", m_.head_);
    for_each_norm([&](const std::string& name, const Norm& norm) {
      take(name + ".weight", norm.weight);
      take(name + ".bias", norm.bias);
    });
    for (std::size_t i = 0; i < m_.layers_.size(); ++i) {
      for (const auto& [name, product] : products_of(m_.layers_[i])) {
        take(key(i, name) + ".weight", product->weight);
        take(key(i, name) + ".bias", product->bias);
      }
    }
  }

  /// By the names of the files, in their layout.
  std::vector<GradientPart> gradients() const {
    std::vector<GradientPart> all;
    const ModelConfig& config = m_.config_;
    const std::string root = config.is_gpt2() ? "transformer." : "model.";
    const Part words{0, m_.parallel_.rank * m_.part_of_words(), (m_.parallel_.rank + 1) * m_.part_of_words()};
    all.push_back(
        {root + (config.is_gpt2() ? "wte.weight" : "embed_tokens.weight"), grads_.at("embedding"), true, words});
    if (m_.positions_.defined()) all.push_back({root + "wpe.weight", grads_.at("positions")});
    if (!config.tied) all.push_back({"lm_head.weight", grads_.at("head"), true, words});
    add_norm(all, root + (config.is_gpt2() ? "ln_f" : "norm"), "last_norm");
    for (std::size_t i = 0; i < m_.layers_.size(); ++i) {
      if (config.is_gpt2())
        add_gpt2_layer(all, i);
      else
        add_llama_layer(all, i);
    }
    return all;
  }

 private:
  /// What a layer's forward keeps.
  struct Kept {
    tp::Saved before_attention, qkv, attention, attention_out, before_mlp, up, active, down;
  };

  static std::string key(std::size_t layer, const std::string& name) { return std::to_string(layer) + "." + name; }
  static std::vector<std::pair<std::string, const Product*>> products_of(const Layer& layer) {
    return {{"qkv", &layer.qkv}, {"attention_out", &layer.attention_out}, {"up", &layer.up}, {"down", &layer.down}};
  }
  template <class Function>
  void for_each_norm(const Function& function) const {
    for (std::size_t i = 0; i < m_.layers_.size(); ++i) {
      function(key(i, "before_attention"), m_.layers_[i].before_attention);
      function(key(i, "before_mlp"), m_.layers_[i].before_mlp);
    }
    function("last_norm", m_.last_norm_);
  }

  // ---- forward -------------------------------------------------------------------------------------------------

  static tp::Forward normed(const Norm& norm, const Tensor& x) {
    return norm.bias.defined() ? tp::layer_norm_forward(x, norm.weight, norm.bias, norm.eps)
                               : tp::rms_norm_forward(x, norm.weight, norm.eps);
  }
  static Tensor keep(tp::Saved& saved, tp::Forward forward) {
    saved = std::move(forward.saved);
    return forward.output;
  }
  /// A row's bias is added after the sum over the ranks.
  Tensor through_row(tp::Saved& saved, const Product& row, const Tensor& x) const {
    const Tensor y = m_.reduced(keep(saved, tp::linear_forward(x, row.weight)));
    return row.bias.defined() ? y + row.bias : y;
  }
  std::int64_t heads() const { return m_.config_.heads / m_.parallel_.size; }
  std::int64_t kv_heads() const { return m_.config_.kv_heads / m_.parallel_.size; }
  tp::AttentionOptions attention_options() const { return {.is_causal = true, .enable_gqa = true}; }

  Tensor attention(tp::Saved& saved, const Tensor& product) const {
    const std::int64_t tokens = product.size(0), batch = product.size(1), size = m_.config_.head_size;
    const auto by_heads = [&](std::int64_t first, std::int64_t count) {
      return product.narrow(2, first * size, count * size).view({tokens, batch, count, size}).permute({1, 2, 0, 3});
    };
    // In place: no backward takes what the product was before.
    if (m_.turns_.defined()) torch::ahbm::rotary_embedding_(by_heads(0, heads() + kv_heads()), m_.turns_);
    const Tensor mixed = keep(saved, tp::scaled_dot_product_attention_forward(
                                         by_heads(0, heads()), by_heads(heads(), kv_heads()),
                                         by_heads(heads() + kv_heads(), kv_heads()), attention_options()));
    return mixed.permute({2, 0, 1, 3}).reshape({tokens, batch, heads() * size});
  }

  Tensor through(const Layer& layer, const Tensor& x) {
    Kept kept;
    const Tensor first = m_.gathered(keep(kept.before_attention, normed(layer.before_attention, x)));
    const Tensor product = keep(kept.qkv, tp::linear_forward(first, layer.qkv.weight, layer.qkv.bias));
    const Tensor y = x + through_row(kept.attention_out, layer.attention_out, attention(kept.attention, product));
    const Tensor second = m_.gathered(keep(kept.before_mlp, normed(layer.before_mlp, y)));
    const Tensor inner = keep(kept.up, tp::linear_forward(second, layer.up.weight, layer.up.bias));
    const Tensor active =
        keep(kept.active, m_.config_.is_gpt2() ? tp::gelu_forward(inner, "tanh") : tp::swiglu_forward(inner));
    layers_.push_back(std::move(kept));
    return y + through_row(layers_.back().down, layer.down, active);
  }

  Tensor loss(const Tensor& x) {
    const std::int64_t predicted = ids_.size(0) - 1;
    const Tensor normal = m_.gathered(keep(norm_kept_, normed(m_.last_norm_, x)));
    const Tensor logits = keep(head_kept_, tp::linear_forward(normal, m_.head_));
    // Words that only fill up the ranks' parts must not be predicted.
    const std::int64_t part = m_.part_of_words();
    const std::int64_t real = std::clamp<std::int64_t>(m_.config_.words - m_.parallel_.rank * part, 0, part);
    if (real < part) logits.narrow(-1, real, part - real).fill_(m_.parallel_.dtype == torch::kHalf ? -6e4 : -1e30);
    const Tensor each = keep(loss_kept_, tp::vocab_parallel_cross_entropy_forward(logits.narrow(0, 0, predicted),
                                                                                  ids_.narrow(0, 1, predicted)));
    return each.mean();
  }

  // ---- backward ------------------------------------------------------------------------------------------------

  /// Of the whole tokens that a column has multiplied, to those that the rank keeps: a sum over the ranks.
  Tensor below_column(const Tensor& grad) const {
    return m_.shares_tokens_ ? tp::gather_from_sequence_parallel_region_backward(grad)
                             : tp::copy_to_tensor_model_parallel_region_backward(grad);
  }
  /// Of a row's output, for all tokens.
  Tensor below_sum(const Tensor& grad) const {
    return m_.shares_tokens_ ? tp::reduce_scatter_to_sequence_parallel_region_backward(grad) : grad;
  }
  Tensor norm_backward(const std::string& name, const Norm& norm, const tp::Saved& saved, const Tensor& grad) {
    const tp::NormGrads grads = norm.bias.defined() ? tp::layer_norm_backward(saved, grad, norm.eps)
                                                    : tp::rms_norm_backward(saved, grad, norm.eps);
    grads_[name + ".weight"] = grads.weight;
    if (grads.bias.defined()) grads_[name + ".bias"] = grads.bias;
    return grads.input;
  }
  Tensor product_backward(const std::string& name, const tp::Saved& saved, const Tensor& grad) {
    const tp::LinearGrads grads = tp::linear_backward(saved, grad);
    grads_[name + ".weight"] = grads.weight;
    if (grads.bias.defined()) grads_[name + ".bias"] = grads.bias;
    return grads.input;
  }
  Tensor row_backward(const std::string& name, const Product& row, const tp::Saved& saved, const Tensor& grad) {
    const Tensor whole = below_sum(grad);
    if (row.bias.defined()) grads_[name + ".bias"] = whole.reshape({-1, whole.size(-1)}).sum(0);
    return product_backward(name, saved, whole);
  }

  Tensor head_backward() {
    const std::int64_t predicted = ids_.size(0) - 1, batch = ids_.size(1);
    const Tensor each = torch::full({predicted, batch}, 1.0 / static_cast<double>(predicted * batch),
                                    torch::dtype(torch::kFloat).device(m_.parallel_.device));
    const Tensor scores = tp::vocab_parallel_cross_entropy_backward(loss_kept_, each);
    const Tensor last = torch::zeros({1, batch, scores.size(-1)}, scores.options());  // nothing follows the last token
    const tp::LinearGrads grads = tp::linear_backward(head_kept_, torch::cat({scores, last}, 0));
    grads_["head"] = grads.weight;
    return norm_backward("last_norm", m_.last_norm_, norm_kept_, below_column(grads.input));
  }

  Tensor attention_backward(const tp::Saved& saved, const Tensor& grad) const {
    const std::int64_t tokens = grad.size(0), batch = grad.size(1), size = m_.config_.head_size;
    const Tensor mixed = grad.view({tokens, batch, heads(), size}).permute({1, 2, 0, 3});
    const tp::AttentionGrads grads = tp::scaled_dot_product_attention_backward(saved, mixed, attention_options());
    Tensor turned = torch::cat({grads.query, grads.key}, 1);
    if (m_.turns_.defined()) turned = tp::rotary_backward({m_.turns_}, turned);
    return torch::cat({turned, grads.value}, 1).permute({2, 0, 1, 3}).reshape({tokens, batch, -1});
  }

  Tensor layer_backward(std::size_t i, const Tensor& above) {
    const Layer& layer = m_.layers_[i];
    const Kept kept = std::move(layers_[i]);  // its memory is free afterwards
    const Tensor active = row_backward(key(i, "down"), layer.down, kept.down, above);
    const Tensor inner = m_.config_.is_gpt2() ? tp::gelu_backward(kept.active, active, "tanh")
                                              : tp::swiglu_backward(kept.active, active);
    const Tensor second = below_column(product_backward(key(i, "up"), kept.up, inner));
    const Tensor middle = above + norm_backward(key(i, "before_mlp"), layer.before_mlp, kept.before_mlp, second);
    const Tensor mixed = row_backward(key(i, "attention_out"), layer.attention_out, kept.attention_out, middle);
    const Tensor product = attention_backward(kept.attention, mixed);
    const Tensor first = below_column(product_backward(key(i, "qkv"), kept.qkv, product));
    return middle + norm_backward(key(i, "before_attention"), layer.before_attention, kept.before_attention, first);
  }

  void embedding_backward(const Tensor& grad) {
    const Tensor whole = below_sum(grad);
    const std::int64_t part = m_.part_of_words(), ranks = m_.parallel_.size;
    Tensor rows = torch::ahbm::embedding_part_backward(whole, ids_, part, m_.parallel_.rank * part, part * ranks);
    if (m_.config_.tied) rows = rows + grads_.at("head");
    grads_["embedding"] = rows;
    if (!m_.positions_.defined()) return;
    const Tensor unused = torch::zeros({m_.config_.positions - ids_.size(0), m_.config_.hidden}, whole.options());
    grads_["positions"] = torch::cat({whole.sum(1), unused}, 0);
  }

  /// Norms have seen the rank's tokens alone where these are shared.
  void sum_over_tokens() {
    if (!m_.shares_tokens_) return;
    std::vector<std::string> names;
    std::vector<Tensor> parts;
    for_each_norm([&](const std::string& name, const Norm&) {
      for (const char* const kind : {".weight", ".bias"}) {
        if (!grads_.contains(name + kind)) continue;
        names.push_back(name + kind);
        parts.push_back(grads_[name + kind]);
      }
    });
    const Tensor sums = tp::reduce_from_tensor_model_parallel_region(torch::cat(parts, 0));
    for (std::size_t i = 0; i < names.size(); ++i)
      grads_[names[i]] = sums.narrow(0, static_cast<std::int64_t>(i) * m_.config_.hidden, m_.config_.hidden);
  }

  // ---- by the names of the files -------------------------------------------------------------------------------

  void add_norm(std::vector<GradientPart>& all, const std::string& name, const std::string& norm) const {
    all.push_back({name + ".weight", grads_.at(norm + ".weight")});
    if (grads_.contains(norm + ".bias")) all.push_back({name + ".bias", grads_.at(norm + ".bias")});
  }
  void add_llama_layer(std::vector<GradientPart>& all, std::size_t i) const {
    const ModelConfig& config = m_.config_;
    const std::int64_t q = config.heads * config.head_size, kv = config.kv_heads * config.head_size;
    const std::string name = "model.layers." + std::to_string(i);
    add_norm(all, name + ".input_layernorm", key(i, "before_attention"));
    add_norm(all, name + ".post_attention_layernorm", key(i, "before_mlp"));
    const auto column = [&](const char* product, const std::vector<std::pair<const char*, std::int64_t>>& parts) {
      for (const char* const kind : {".weight", ".bias"}) {
        const auto found = grads_.find(key(i, product) + kind);
        if (found == grads_.end()) continue;
        std::int64_t first = 0;
        for (const auto& [part, out] : parts) {
          const std::int64_t rows = out / m_.parallel_.size;
          all.push_back({name + part + kind, found->second.narrow(0, first, rows), true, m_.mine(0, out)});
          first += rows;
        }
      }
    };
    const auto row = [&](const char* product, const char* part, std::int64_t in) {
      all.push_back({name + part + ".weight", grads_.at(key(i, product) + ".weight"), true, m_.mine(1, in)});
      const auto bias = grads_.find(key(i, product) + ".bias");
      if (bias != grads_.end()) all.push_back({name + part + ".bias", bias->second});
    };
    column("qkv", {{".self_attn.q_proj", q}, {".self_attn.k_proj", kv}, {".self_attn.v_proj", kv}});
    row("attention_out", ".self_attn.o_proj", q);
    column("up", {{".mlp.gate_proj", config.inner}, {".mlp.up_proj", config.inner}});
    row("down", ".mlp.down_proj", config.inner);
  }
  /// Weights of GPT-2 are transposed, and each third of its first product is cut by itself.
  void add_gpt2_layer(std::vector<GradientPart>& all, std::size_t i) const {
    const ModelConfig& config = m_.config_;
    const std::string name = "transformer.h." + std::to_string(i);
    add_norm(all, name + ".ln_1", key(i, "before_attention"));
    add_norm(all, name + ".ln_2", key(i, "before_mlp"));
    const auto column = [&](const char* product, const char* part, std::int64_t out, std::int64_t parts) {
      const std::int64_t one = out / parts, rows = one / m_.parallel_.size;
      const Tensor &weight = grads_.at(key(i, product) + ".weight"), &bias = grads_.at(key(i, product) + ".bias");
      for (std::int64_t p = 0; p < parts; ++p) {
        all.push_back({name + part + ".weight", weight.narrow(0, p * rows, rows).t(), true, m_.mine(1, one, p * one)});
        all.push_back({name + part + ".bias", bias.narrow(0, p * rows, rows), true, m_.mine(0, one, p * one)});
      }
    };
    const auto row = [&](const char* product, const char* part, std::int64_t in) {
      all.push_back({name + part + ".weight", grads_.at(key(i, product) + ".weight").t(), true, m_.mine(0, in)});
      all.push_back({name + part + ".bias", grads_.at(key(i, product) + ".bias")});
    };
    const std::int64_t q = config.heads * config.head_size;
    column("qkv", ".attn.c_attn", 3 * q, 3);
    row("attention_out", ".attn.c_proj", q);
    column("up", ".mlp.c_fc", config.inner, 1);
    row("down", ".mlp.c_proj", config.inner);
  }

  LanguageModel& m_;
  Tensor ids_;
  std::vector<Kept> layers_;
  tp::Saved norm_kept_, head_kept_, loss_kept_;
  std::map<std::string, Tensor> grads_;
  std::map<std::string, tp::AdamState> states_;
};

}  // namespace benches::gpt
