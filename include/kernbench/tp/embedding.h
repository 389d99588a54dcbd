// An embedding whose table is cut over the ranks of a tensor parallel group, as Megatron-LM's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernbench/tp/gradients.h"
#include "kernbench/tp/layers.h"

namespace kernbench::tp {

struct EmbeddingOptions {
  /// Of the whole table.
  std::int64_t num_embeddings = 0, embedding_dim = 0;
  /// Indices [b, s] give the rank's part of [s, b, embedding_dim] along the first dimension, by a reduce-scatter, as
  /// sequence parallel layers take it. Indices of other than two dimensions are a ValueError.
  bool reduce_scatter_embeddings = false;
  LayerType dtype = torch::kFloat;
  /// Fills the master table [num_embeddings, embedding_dim]; as LinearOptions::init_method.
  std::function<void(torch::Tensor& weight)> init_method = {};
  ProcessGroup tp_group = {};
  std::optional<DPPolicy> weight_placement = {};
};

/// Rank r of n has the rows [r V / n, (r + 1) V / n) of a table of V. Each rank looks up what it has, the rest is zero,
/// and the sum over the ranks is the embedding.
class VocabParallelEmbedding {
 public:
  /// ValueError: "num_embeddings (10) must be divisible by TP world size (4)".
  explicit VocabParallelEmbedding(EmbeddingOptions options, Where where = Where::current());

  /// [..., embedding_dim] for indices [...] in [0, num_embeddings), alike on all ranks; others are an error.
  torch::Tensor forward(const torch::Tensor& indices, Where where = Where::current()) const;
  torch::Tensor operator()(const torch::Tensor& indices, Where where = Where::current()) const;
  Forward forward_saving(const torch::Tensor& indices, Where where = Where::current()) const;
  /// The gradient of the rank's rows.
  torch::Tensor backward(const Saved& saved, const torch::Tensor& grad, Where where = Where::current()) const;

  const torch::Tensor& weight() const { return weight_; }
  /// Of the rank: the first row, and the one behind the last.
  std::int64_t vocab_start_index() const { return first_; }
  std::int64_t vocab_end_index() const { return first_ + weight_.size(0); }

 private:
  std::vector<std::int64_t> output_sizes(const torch::Tensor& indices) const;

  EmbeddingOptions options_;
  torch::Tensor weight_;
  std::int64_t first_ = 0;
};

}  // namespace kernbench::tp
