#include "kernbench/tp/embedding.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/embedding.h"
#include "kernbench/tp/mappings.h"
#include "kernbench/tp/primitives.h"
#include "parallel/group_of.h"
#include "parallel/master_weight.h"
#include "parallel/saved.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

constexpr const char* kLayer = "VocabParallelEmbedding";

void check_indices(const Tensor& indices) {
  if (!indices.defined()) throw ValueError(fmt::format("{}: the indices are undefined", kLayer));
  if (indices.scalar_type() == torch::kInt || indices.scalar_type() == torch::kLong) return;
  throw ValueError(fmt::format("{}: the indices must be Int or Long, but are {}; convert them with .to(torch::kLong)",
                               kLayer, tensor::text_of(indices.scalar_type())));
}

/// The sequence is the second dimension, and the first one of what is scattered.
void check_has_a_sequence(const Tensor& indices) {
  if (indices.dim() == 2) return;
  throw ValueError(
      fmt::format("{}: with reduce_scatter_embeddings the indices must be 2-D [b, s], of which the ranks "
                  "share s, but they are {}-D [{}]; view them so, or leave reduce_scatter_embeddings away",
                  kLayer, indices.dim(), fmt::join(indices.sizes(), ", ")));
}

}  // namespace

VocabParallelEmbedding::VocabParallelEmbedding(EmbeddingOptions options, Where where) : options_(std::move(options)) {
  const tensor::HostCall here(kLayer, where);
  const GroupOf of(options_.tp_group, kLayer);
  options_.tp_group = of.group;
  if (options_.num_embeddings < 1 || options_.embedding_dim < 1) {
    throw ValueError(fmt::format("{}: num_embeddings ({}) and embedding_dim ({}) must be at least 1", kLayer,
                                 options_.num_embeddings, options_.embedding_dim));
  }
  check_divides(kLayer, "num_embeddings", options_.num_embeddings, of.size);
  first_ = VocabUtility::vocab_range_from_global_vocab_size(options_.num_embeddings, of.rank, of.size).first;
  weight_ = on_device(part_of({kLayer, options_.num_embeddings, options_.embedding_dim, options_.init_method}, 0, of),
                      options_.dtype.type(), options_.weight_placement);
}

Forward VocabParallelEmbedding::forward_saving(const Tensor& indices, Where where) const {
  const tensor::HostCall here(kLayer, where);
  const GroupOf of(options_.tp_group, kLayer);  // it is still there
  check_indices(indices);
  if (options_.reduce_scatter_embeddings) check_has_a_sequence(indices);
  const Tensor part = torch::ahbm::embedding_part(weight_, indices, first_, options_.num_embeddings);
  const Tensor output =
      options_.reduce_scatter_embeddings
          ? reduce_scatter_to_sequence_parallel_region(part.transpose(0, 1).contiguous(), options_.tp_group)
          : reduce_from_tensor_model_parallel_region(part, options_.tp_group);
  return {output, {indices}};
}

Tensor VocabParallelEmbedding::forward(const Tensor& indices, Where where) const {
  return forward_saving(indices, where).output;
}
Tensor VocabParallelEmbedding::operator()(const Tensor& indices, Where where) const {
  return forward_saving(indices, where).output;
}

std::vector<std::int64_t> VocabParallelEmbedding::output_sizes(const Tensor& indices) const {
  std::vector<std::int64_t> sizes = indices.sizes().vec();
  if (options_.reduce_scatter_embeddings) {
    std::swap(sizes.at(0), sizes.at(1));
    sizes[0] /= GroupOf(options_.tp_group, kLayer).size;
  }
  sizes.push_back(options_.embedding_dim);
  return sizes;
}

Tensor VocabParallelEmbedding::backward(const Saved& saved, const Tensor& grad, Where where) const {
  const tensor::HostCall here(kLayer, where);
  constexpr const char* kCall = "VocabParallelEmbedding::backward";
  check_saved(kCall, saved, 1);
  check_grad(kCall, grad, output_sizes(saved.at(0)));
  const Tensor whole =
      options_.reduce_scatter_embeddings
          ? reduce_scatter_to_sequence_parallel_region_backward(grad, options_.tp_group).transpose(0, 1).contiguous()
          : reduce_from_tensor_model_parallel_region_backward(grad, options_.tp_group);
  return torch::ahbm::embedding_part_backward(whole, saved.at(0), weight_.size(0), first_, options_.num_embeddings);
}

}  // namespace kernbench::tp
