// Rows of a table chosen by indices, and the sums of gradients that belong to it.
#pragma once

#include <cstdint>
#include <optional>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

/// weight[indices]: [..., columns] of a table [rows, columns] and indices [...] (Int or Long). Only the rows asked for
/// are read. IndexError for an index outside of the table (on a device a failed assertion of the kernel).
/// `padding_idx` matters to the gradient alone. On a device under --no-data, which does not have the indices, they are
/// taken to be spread evenly over the table, and a warning of the result says so: docs/host-api.md has the rule.
Tensor embedding(const TensorOperand& weight, const Tensor& indices, std::int64_t padding_idx = -1);
/// The gradient of the table: row i is the sum of the rows of `grad_output` whose index is i, of the row `padding_idx`
/// zero. Added in f32 (f64 in f64) in the order of the indices, whatever the device and placement, and rounded once.
/// ValueError with scale_grad_by_freq.
Tensor embedding_dense_backward(const TensorOperand& grad_output, const Tensor& indices, std::int64_t num_weights,
                                std::int64_t padding_idx = -1, bool scale_grad_by_freq = false);

namespace ahbm {

/// The part of an embedding of `num_embeddings` rows that a table of the rows [first, first + rows) of it gives: zeros
/// for the other indices. An index outside of the whole is an error as above.
Tensor embedding_part(const TensorOperand& weight, const Tensor& indices, std::int64_t first,
                      std::int64_t num_embeddings);
/// Its gradient: the sums for the rows [first, first + rows); other indices add nothing.
Tensor embedding_part_backward(const TensorOperand& grad_output, const Tensor& indices, std::int64_t rows,
                               std::int64_t first, std::int64_t num_embeddings);

}  // namespace ahbm

namespace nn::functional {

class EmbeddingFuncOptions {
 public:
  EmbeddingFuncOptions& padding_idx(std::optional<std::int64_t> value) { return padding_idx_ = value, *this; }
  const std::optional<std::int64_t>& padding_idx() const { return padding_idx_; }

 private:
  std::optional<std::int64_t> padding_idx_;
};
inline Tensor embedding(const TensorOperand& input, const Tensor& weight, const EmbeddingFuncOptions& options = {}) {
  return torch::embedding({weight, input.where}, input.tensor, options.padding_idx().value_or(-1));
}

}  // namespace nn::functional

}  // namespace kernbench::torch
