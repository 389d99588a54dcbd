#include "kernbench/nn/embedding.h"

#include <fmt/format.h>

#include <ostream>

#include "kernbench/nn/init.h"
#include "kernbench/torch/embedding.h"
#include "kernbench/torch/factories.h"

namespace kernbench::torch::nn {

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions given) : options(std::move(given)) {
  reset();
}

void EmbeddingImpl::reset() {
  const std::int64_t rows = options.num_embeddings();
  if (auto padding = options.padding_idx()) {
    if (*padding < -rows || *padding >= rows) throw ValueError("Padding_idx must be within num_embeddings");
    options.padding_idx(*padding < 0 ? *padding + rows : *padding);
  }
  parameters_.clear();
  if (!options._weight().defined()) {
    weight = register_parameter("weight", torch::empty({rows, options.embedding_dim()}));
    return reset_parameters();
  }
  if (options._weight().sizes() != IntArrayRef({rows, options.embedding_dim()}))
    throw ValueError("Shape of _weight does not match num_embeddings and embedding_dim");
  weight = register_parameter("weight", options._weight());
}

void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (const auto padding = options.padding_idx()) weight[*padding].fill_(0);
}

Tensor EmbeddingImpl::forward(const TensorOperand& indices) const {
  return torch::embedding({weight, indices.where}, indices.tensor, options.padding_idx().value_or(-1));
}

void EmbeddingImpl::pretty_print(std::ostream& out) const {
  out << fmt::format("torch::nn::Embedding(num_embeddings={}, embedding_dim={}", options.num_embeddings(),
                     options.embedding_dim());
  if (const auto padding = options.padding_idx()) out << ", padding_idx=" << *padding;
  out << ')';
}

}  // namespace kernbench::torch::nn
