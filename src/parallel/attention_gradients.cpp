// Gradients of attention of kernbench/tp/gradients.h. With P = softmax(scale q k^T) and y = P v:
//   dv = P^T dy,  dS = P (dy v^T - rowsum(dy y)) scale,  dq = dS k,  dk = dS^T q.
// The query heads of one kv head stand one behind the other, so that their rows are one matrix and the sums over them
// are part of the products.
#include <cmath>
#include <cstdint>

#include "kernbench/torch/attention.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "kernbench/tp/gradients.h"
#include "parallel/computed_in.h"
#include "parallel/saved.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

constexpr double kUnseen = -1e30;  // added to a score whose weight is then zero

/// [batch, heads, rows, size] as [batch * groups, heads / groups * rows, size], in the type of the computation.
Tensor grouped(const Tensor& x, std::int64_t groups) {
  return x.to(computed_in(x)).reshape({x.size(0) * groups, x.size(1) / groups * x.size(2), x.size(3)});
}

/// softmax over the keys of scores [groups, heads * rows, keys].
Tensor weights_of(const Tensor& scores, std::int64_t rows, bool causal) {
  if (!causal) return scores.softmax(-1);
  const std::int64_t keys = scores.size(2);
  const Tensor unseen = torch::full({rows, keys}, kUnseen, scores.options()).triu(1);
  const Tensor apart = scores.reshape({scores.size(0), scores.size(1) / rows, rows, keys}) + unseen;
  return apart.softmax(-1).reshape(scores.sizes());
}

Tensor like(const Tensor& grad, const Tensor& operand) {
  return grad.reshape(operand.sizes()).to(operand.scalar_type());
}

}  // namespace

Forward scaled_dot_product_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                             const AttentionOptions& options, Where where) {
  const tensor::HostCall here("scaled_dot_product_attention_forward", where);
  const Tensor output = torch::scaled_dot_product_attention(query, key, value, {}, 0.0, options.is_causal,
                                                            options.scale, options.enable_gqa);
  return {output, {query, key, value, output}};
}

AttentionGrads scaled_dot_product_attention_backward(const Saved& saved, const Tensor& grad,
                                                     const AttentionOptions& options, Where where) {
  const tensor::HostCall here("scaled_dot_product_attention_backward", where);
  check_saved("scaled_dot_product_attention_backward", saved, 4);
  check_grad("scaled_dot_product_attention_backward", grad, saved.at(3).sizes().vec());
  if (grad.numel() == 0) return {torch::zeros_like(saved[0]), torch::zeros_like(saved[1]), torch::zeros_like(saved[2])};
  const std::int64_t groups = saved.at(1).size(1);
  const Tensor q = grouped(saved.at(0), groups), k = grouped(saved.at(1), groups), v = grouped(saved.at(2), groups);
  const Tensor y = grouped(saved.at(3), groups), above = grouped(grad, groups);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(2))));
  const Tensor weights = weights_of(torch::matmul(q, k.transpose(1, 2)) * scale, saved[0].size(2), options.is_causal);
  const Tensor change = torch::matmul(above, v.transpose(1, 2)) - (above * y).sum(-1, true);
  const Tensor scores = weights * change * scale;
  return {like(torch::matmul(scores, k), saved[0]), like(torch::matmul(scores.transpose(1, 2), q), saved[1]),
          like(torch::matmul(weights.transpose(1, 2), above), saved[2])};
}

}  // namespace kernbench::tp
