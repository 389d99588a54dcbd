#include "kernbench/nn/activation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/nn/dropout.h"
#include "kernbench/nn/init.h"
#include "kernbench/torch/attention.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"

namespace kernbench::torch::nn {

Tensor ReLUImpl::forward(const TensorOperand& x) const {
  return options.inplace() ? x.tensor.relu_(x.where) : x.tensor.relu(x.where);
}
void ReLUImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::ReLU(" << (options.inplace() ? "inplace=true" : "") << ')';
}

Tensor GELUImpl::forward(const TensorOperand& x) const {
  return torch::gelu(x, options.approximate());
}
void GELUImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::GELU()";
}

Tensor SiLUImpl::forward(const TensorOperand& x) const {
  return torch::silu(x);
}
void SiLUImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::SiLU()";
}

Tensor TanhImpl::forward(const TensorOperand& x) const {
  return x.tensor.tanh(x.where);
}
void TanhImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Tanh()";
}

Tensor SigmoidImpl::forward(const TensorOperand& x) const {
  return x.tensor.sigmoid(x.where);
}
void SigmoidImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Sigmoid()";
}

Tensor SoftmaxImpl::forward(const TensorOperand& x) const {
  return torch::softmax(x, options.dim());
}
void SoftmaxImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Softmax(dim=" << options.dim() << ')';
}

Tensor LogSoftmaxImpl::forward(const TensorOperand& x) const {
  return torch::log_softmax(x, options.dim());
}
void LogSoftmaxImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::LogSoftmax(dim=" << options.dim() << ')';
}

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& given)
    : Module("torch::nn::MultiheadAttention"), options(given) {
  reset();
}

void MultiheadAttentionImpl::reset() {
  const std::int64_t size = options.embed_dim();
  if (options.num_heads() < 1 || size % options.num_heads() != 0) {
    throw ValueError(fmt::format("embed_dim ({}) must be divisible by num_heads ({})", size, options.num_heads()));
  }
  head_dim = size / options.num_heads();
  parameters_.clear();
  const bool one = options.kdim() == size && options.vdim() == size;
  in_proj_weight = register_parameter("in_proj_weight", one ? torch::empty({3 * size, size}) : Tensor());
  q_proj_weight = register_parameter("q_proj_weight", one ? Tensor() : torch::empty({size, size}));
  k_proj_weight = register_parameter("k_proj_weight", one ? Tensor() : torch::empty({size, options.kdim()}));
  v_proj_weight = register_parameter("v_proj_weight", one ? Tensor() : torch::empty({size, options.vdim()}));
  in_proj_bias = register_parameter("in_proj_bias", options.bias() ? torch::empty({3 * size}) : Tensor());
  const Linear projection(LinearOptions(size, size).bias(options.bias()));
  out_proj = out_proj.is_empty() ? register_module("out_proj", projection) : replace_module("out_proj", projection);
  reset_parameters();
}

void MultiheadAttentionImpl::reset_parameters() {
  for (const Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight}) {
    if (weight.defined()) init::xavier_uniform_(weight);
  }
  if (!options.bias()) return;
  init::zeros_(in_proj_bias);
  init::zeros_(out_proj->bias);
}

namespace {

/// [length, batch, heads size] as [batch, heads, length, size].
Tensor by_heads(const Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).permute({1, 2, 0, 3});
}

/// A mask that is added: that of bools, or bytes, leaves out where it is true.
Tensor as_added(const Tensor& mask, ScalarType type) {
  if (mask.is_floating_point()) return mask.to(type);
  return torch::zeros_like(mask, torch::dtype(type))
      .masked_fill(mask.to(kBool), -std::numeric_limits<double>::infinity());
}

constexpr const char* kAttention = "MultiheadAttention";

using Named = std::pair<const char*, const Tensor*>;

void check_operands(const Tensor& query, const Tensor& key, const Tensor& value) {
  const std::array<Named, 3> all{Named{"query", &query}, {"key", &key}, {"value", &value}};
  for (const auto& [name, x] : all) {
    if (!x->defined()) tensor::fail(kAttention, fmt::format("{} is undefined", name));
    if (x->dim() != 3) {
      tensor::fail(kAttention, fmt::format("query, key and value must have three dimensions: length, batch, features; "
                                           "but {} is {}",
                                           name, tensor::describe(*x)));
    }
    if (x->size(1) != query.size(1)) {
      tensor::fail(kAttention, fmt::format("{} must have the batch of query, {}, as its second dimension, but is {}",
                                           name, query.size(1), tensor::describe(*x)));
    }
  }
  if (key.size(0) == value.size(0)) return;
  tensor::fail(kAttention, fmt::format("key and value must have one length, their first dimension, but are {} and {}",
                                       tensor::describe(key), tensor::describe(value)));
}

/// `what`: the shapes that the mask may have, in words.
void check_mask(const char* name, const Tensor& mask, const std::vector<std::vector<std::int64_t>>& shapes,
                const char* what) {
  if (!mask.defined()) return;
  if (!mask.is_floating_point() && mask.scalar_type() != kBool && mask.scalar_type() != kByte) {
    tensor::fail(kAttention, fmt::format("only float, byte and bool masks are taken, but {} is {}; convert it with "
                                         ".to(torch::kBool)",
                                         name, tensor::describe(mask)));
  }
  if (std::ranges::find(shapes, mask.sizes().vec()) != shapes.end()) return;
  std::string expected;
  for (const auto& shape : shapes) expected += (expected.empty() ? "" : " or ") + tensor::text_of(shape);
  tensor::fail(kAttention, fmt::format("{} must have the shape {}, which is {}, but is {}", name, what, expected,
                                       tensor::describe(mask)));
}

}  // namespace

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const TensorOperand& query, const Tensor& key,
                                                           const Tensor& value, const Tensor& key_padding_mask,
                                                           bool need_weights, const Tensor& attn_mask,
                                                           bool average_attn_weights) const {
  const tensor::HostCall here(kAttention, query.where);
  check_operands(query.tensor, key, value);
  const std::int64_t size = options.embed_dim(), heads = options.num_heads();
  const std::int64_t rows = query.tensor.size(0), batch = query.tensor.size(1), keys = key.size(0);
  check_mask("attn_mask", attn_mask, {{rows, keys}, {batch * heads, rows, keys}}, "[L, S] or [N * heads, L, S]");
  check_mask("key_padding_mask", key_padding_mask, {{batch, keys}}, "[N, S]");
  const auto weight_of = [&](std::int64_t part, const Tensor& own) {
    return own.defined() ? own : in_proj_weight.narrow(0, part * size, size);
  };
  const auto projected = [&](const Tensor& x, std::int64_t part, const Tensor& own) {
    const auto bias = options.bias() ? std::optional(in_proj_bias.narrow(0, part * size, size)) : std::nullopt;
    return by_heads(torch::linear(x, weight_of(part, own), bias), heads);
  };
  const Tensor q = projected(query.tensor, 0, q_proj_weight), k = projected(key, 1, k_proj_weight),
               v = projected(value, 2, v_proj_weight);
  const bool drops = is_training() && options.dropout() > 0;
  Tensor mixed, weights;
  if (!need_weights && !attn_mask.defined() && !key_padding_mask.defined() && !drops) {
    mixed = torch::scaled_dot_product_attention(q, k, v);
  } else {
    weights = torch::matmul(q * (1 / std::sqrt(static_cast<double>(head_dim))), k.transpose(2, 3));
    if (attn_mask.defined()) {
      const Tensor mask = as_added(attn_mask, q.scalar_type());
      weights = weights + (mask.dim() == 3 ? mask.reshape({batch, heads, rows, keys}) : mask);
    }
    if (key_padding_mask.defined())
      weights = weights + as_added(key_padding_mask, q.scalar_type()).reshape({batch, 1, 1, keys});
    weights = torch::softmax(weights, -1);
    if (drops) weights = functional::dropout(weights, functional::DropoutFuncOptions().p(options.dropout()));
    mixed = torch::matmul(weights, v);
  }
  const Tensor output = out_proj->forward(mixed.permute({2, 0, 1, 3}).reshape({rows, batch, size}));
  if (!need_weights) return {output, Tensor()};
  return {output, average_attn_weights ? weights.mean(1) : weights};
}

}  // namespace kernbench::torch::nn
