// A table of vectors, looked up by index.
#pragma once

#include <cstdint>
#include <optional>

#include "kernbench/nn/module.h"

namespace kernbench::torch::nn {

class EmbeddingOptions {
 public:
  EmbeddingOptions(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  EmbeddingOptions& num_embeddings(std::int64_t value) { return num_embeddings_ = value, *this; }
  EmbeddingOptions& embedding_dim(std::int64_t value) { return embedding_dim_ = value, *this; }
  /// Its row is zero at first; below 0 it counts from the end.
  EmbeddingOptions& padding_idx(std::optional<std::int64_t> value) { return padding_idx_ = value, *this; }
  /// The table, [num_embeddings, embedding_dim], in place of random numbers.
  EmbeddingOptions& _weight(const Tensor& value) { return weight_ = value, *this; }
  std::int64_t num_embeddings() const { return num_embeddings_; }
  std::int64_t embedding_dim() const { return embedding_dim_; }
  const std::optional<std::int64_t>& padding_idx() const { return padding_idx_; }
  const Tensor& _weight() const { return weight_; }

 private:
  std::int64_t num_embeddings_, embedding_dim_;
  std::optional<std::int64_t> padding_idx_;
  Tensor weight_;
};

/// Rows of weight [num_embeddings, embedding_dim], which is normal (0, 1) at first.
class EmbeddingImpl : public Module {
 public:
  EmbeddingImpl(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options);
  void reset();
  void reset_parameters();
  /// Indices [...], Int or Long, give [..., embedding_dim].
  Tensor forward(const TensorOperand& indices) const;
  void pretty_print(std::ostream& out) const override;

  EmbeddingOptions options;
  Tensor weight;
};
TORCH_MODULE(Embedding);

}  // namespace kernbench::torch::nn
