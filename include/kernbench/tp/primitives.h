// Shares of tensors and of vocabularies, as Megatron-LM's utils cut them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernbench/torch/tensor.h"

namespace kernbench::tp {

/// numerator / denominator; ValueError when that is no whole number.
std::int64_t divide(std::int64_t numerator, std::int64_t denominator, Where where = Where::current());

/// Equal parts of the last dimension: views, or with `contiguous` copies.
std::vector<torch::Tensor> split_tensor_along_last_dim(const torch::Tensor& tensor, std::int64_t partitions,
                                                       bool contiguous = false, Where where = Where::current());

/// The calling rank's part of the elements in row-major order, of as many as the tensor parallel group has ranks; and
/// the reverse, all parts gathered. A tensor of one dimension.
torch::Tensor split_tensor_into_1d_equal_chunks(const torch::Tensor& tensor, Where where = Where::current());
torch::Tensor gather_split_1d_tensor(const torch::Tensor& tensor, Where where = Where::current());

/// First word of a rank's part of a vocabulary, and the first one behind it.
struct VocabUtility {
  static std::pair<std::int64_t, std::int64_t> vocab_range_from_per_partition_vocab_size(std::int64_t per_partition,
                                                                                         int rank);
  static std::pair<std::int64_t, std::int64_t> vocab_range_from_global_vocab_size(std::int64_t global_vocab_size,
                                                                                  int rank, int world_size,
                                                                                  Where where = Where::current());
};

}  // namespace kernbench::tp
