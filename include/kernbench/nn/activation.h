// Activations, and attention with its projections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "kernbench/nn/linear.h"

namespace kernbench::torch::nn {

class ReLUOptions {
 public:
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}  // NOLINT(google-explicit-constructor): as in libtorch
  ReLUOptions& inplace(bool value) { return inplace_ = value, *this; }
  bool inplace() const { return inplace_; }

 private:
  bool inplace_;
};
class ReLUImpl : public Module {
 public:
  explicit ReLUImpl(const ReLUOptions& given = {}) : options(given) {}
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;

  ReLUOptions options;
};
TORCH_MODULE(ReLU);

class GELUOptions {
 public:
  /// "none" or "tanh".
  GELUOptions& approximate(std::string value) { return approximate_ = std::move(value), *this; }
  const std::string& approximate() const { return approximate_; }

 private:
  std::string approximate_ = "none";
};
class GELUImpl : public Module {
 public:
  explicit GELUImpl(GELUOptions given = {}) : options(std::move(given)) {}
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;

  GELUOptions options;
};
TORCH_MODULE(GELU);

class SiLUImpl : public Module {
 public:
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;
};
TORCH_MODULE(SiLU);

class TanhImpl : public Module {
 public:
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;
};
TORCH_MODULE(Tanh);

class SigmoidImpl : public Module {
 public:
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;
};
TORCH_MODULE(Sigmoid);

class SoftmaxOptions {
 public:
  SoftmaxOptions(std::int64_t dim) : dim_(dim) {}  // NOLINT(google-explicit-constructor): as in libtorch
  SoftmaxOptions& dim(std::int64_t value) { return dim_ = value, *this; }
  std::int64_t dim() const { return dim_; }

 private:
  std::int64_t dim_;
};
using LogSoftmaxOptions = SoftmaxOptions;
class SoftmaxImpl : public Module {
 public:
  explicit SoftmaxImpl(std::int64_t dim) : options(dim) {}
  explicit SoftmaxImpl(const SoftmaxOptions& given) : options(given) {}
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;

  SoftmaxOptions options;
};
TORCH_MODULE(Softmax);
class LogSoftmaxImpl : public Module {
 public:
  explicit LogSoftmaxImpl(std::int64_t dim) : options(dim) {}
  explicit LogSoftmaxImpl(const LogSoftmaxOptions& given) : options(given) {}
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;

  LogSoftmaxOptions options;
};
TORCH_MODULE(LogSoftmax);

class MultiheadAttentionOptions {
 public:
  MultiheadAttentionOptions(std::int64_t embed_dim, std::int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  MultiheadAttentionOptions& dropout(double value) { return dropout_ = value, *this; }
  MultiheadAttentionOptions& bias(bool value) { return bias_ = value, *this; }
  MultiheadAttentionOptions& kdim(std::int64_t value) { return kdim_ = value, *this; }
  MultiheadAttentionOptions& vdim(std::int64_t value) { return vdim_ = value, *this; }
  std::int64_t embed_dim() const { return embed_dim_; }
  std::int64_t num_heads() const { return num_heads_; }
  double dropout() const { return dropout_; }
  bool bias() const { return bias_; }
  std::int64_t kdim() const { return kdim_; }
  std::int64_t vdim() const { return vdim_; }

 private:
  std::int64_t embed_dim_, num_heads_, kdim_, vdim_;
  double dropout_ = 0;
  bool bias_ = true;
};

/// Attention of several heads. Parameters as PyTorch's: in_proj_weight [3 embed, embed] (q_proj_weight, k_proj_weight
/// and v_proj_weight where key or value have a size of their own), in_proj_bias, and the layer out_proj. libtorch's
/// add_bias_kv and add_zero_attn are not there.
class MultiheadAttentionImpl : public Module {
 public:
  MultiheadAttentionImpl(std::int64_t embed_dim, std::int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  /// ValueError when embed_dim is no multiple of num_heads.
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);
  void reset();
  void reset_parameters();
  /// query [L, N, embed], key [S, N, kdim], value [S, N, vdim] give [L, N, embed], and with `need_weights` the weights
  /// [N, L, S], the mean over the heads or with their own dimension after N. The masks are as in PyTorch: those of
  /// bools or bytes leave out where they are true, those of floats are added; attn_mask is [L, S] or [N heads, L, S],
  /// key_padding_mask [N, S]. ValueError for other types and shapes.
  /// Without weights and masks it is one call of scaled_dot_product_attention, else products, masks and a softmax.
  /// Dropout acts on the weights, while training.
  std::tuple<Tensor, Tensor> forward(const TensorOperand& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {}, bool average_attn_weights = true) const;

  MultiheadAttentionOptions options;
  Tensor in_proj_weight, in_proj_bias, q_proj_weight, k_proj_weight, v_proj_weight;
  Linear out_proj{nullptr};
  std::int64_t head_dim = 0;
};
TORCH_MODULE(MultiheadAttention);

}  // namespace kernbench::torch::nn
