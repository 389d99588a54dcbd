// scaled_dot_product_attention of kernbench/torch/attention.h.
#include "kernbench/torch/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"

namespace kernbench::torch {

using tensor::ComputePlace;

namespace {

struct AttentionOptions {
  bool masked, grouped;
  double dropout;
};

constexpr const char* kAttentionCall = "scaled_dot_product_attention";

/// As [batch, heads, length, size].
Tensor with_four_dimensions(const Tensor& x) {
  if (x.dim() == 2) return x.unsqueeze(0).unsqueeze(0);
  if (x.dim() == 3) return x.unsqueeze(0);
  if (x.dim() == 4) return x;
  return x.reshape({-1, x.size(-3), x.size(-2), x.size(-1)});
}

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const auto refuse = [&](const std::string& why) {
    tensor::fail(kAttentionCall, fmt::format("{}; query is {}, key {}, value {}", why, tensor::describe(q),
                                             tensor::describe(k), tensor::describe(v)));
  };
  if (options.masked) refuse("attn_mask is not supported: leave it out, or use is_causal");
  if (options.dropout != 0) refuse("dropout is not supported: dropout_p must be 0");
  if (q.dim() < 2 || k.dim() != q.dim() || v.dim() != q.dim())
    refuse("query, key and value must have as many dimensions, two or more");
  if (!q.is_floating_point() || k.scalar_type() != q.scalar_type() || v.scalar_type() != q.scalar_type())
    refuse("query, key and value must be of one floating-point dtype");
  if (q.size(-1) != k.size(-1)) refuse("query and key must have the same last dimension");
  if (k.size(-2) != v.size(-2)) refuse("key and value must have as many rows (dimension -2)");
  for (std::int64_t d = 0; d < q.dim() - 2; ++d) {
    if (k.size(d) != v.size(d)) refuse(fmt::format("key and value must agree in dimension {}", d));
    const bool heads = d == q.dim() - 3;
    if (q.size(d) == k.size(d)) continue;
    if (!heads) refuse(fmt::format("query and key must agree in dimension {}; expand() one of them", d));
    if (!options.grouped) refuse("query and key must have as many heads (dimension -3), unless enable_gqa is set");
    if (k.size(d) == 0 || q.size(d) % k.size(d) != 0)
      refuse("with enable_gqa the heads of query must be a multiple of those of key");
  }
  if (k.size(-2) == 0 && q.numel() != 0) refuse("there is no key");
}

/// In double precision, rounded once.
Tensor attention_on_host(const Tensor& q, const Tensor& k, const Tensor& v, double scale, bool causal) {
  const Tensor x = q.to(kDouble).contiguous(), y = k.to(kDouble).contiguous(), z = v.to(kDouble).contiguous();
  const std::int64_t heads = q.size(1), group = heads / k.size(1), length = q.size(2), keys = k.size(2);
  const std::int64_t size = q.size(3), columns = v.size(3);
  const Tensor out = torch::zeros({q.size(0), heads, length, columns}, kDouble);
  std::vector<double> weights(static_cast<std::size_t>(keys));
  for (std::int64_t matrix = 0; matrix < q.size(0) * heads; ++matrix) {
    const std::int64_t shared = matrix / heads * k.size(1) + matrix % heads / group;
    const double* const a = x.data_ptr<double>() + matrix * length * size;
    const double* const b = y.data_ptr<double>() + shared * keys * size;
    const double* const c = z.data_ptr<double>() + shared * keys * columns;
    double* const result = out.data_ptr<double>() + matrix * length * columns;
    for (std::int64_t row = 0; row < length; ++row) {
      const std::int64_t seen = causal ? std::min(row + 1, keys) : keys;
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t key = 0; key < seen; ++key) {
        double& weight = weights[static_cast<std::size_t>(key)] = 0;
        for (std::int64_t e = 0; e < size; ++e) weight += a[row * size + e] * b[key * size + e];
        weight *= scale;
        largest = std::max(largest, weight);
      }
      for (std::int64_t key = 0; key < seen; ++key) {
        const double weight = std::exp(weights[static_cast<std::size_t>(key)] - largest);
        sum += weight;
        for (std::int64_t e = 0; e < columns; ++e) result[row * columns + e] += weight * c[key * columns + e];
      }
      for (std::int64_t e = 0; e < columns; ++e) result[row * columns + e] /= sum;
    }
  }
  return out.to(q.scalar_type());
}

}  // namespace

Tensor scaled_dot_product_attention(const TensorOperand& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  const tensor::HostCall here(kAttentionCall, query.where);
  const ComputePlace place = tensor::place_of(kAttentionCall, {query.tensor, key, value});
  check_attention(query.tensor, key, value,
                  {.masked = attn_mask && attn_mask->defined(), .grouped = enable_gqa, .dropout = dropout_p});
  const Tensor q = with_four_dimensions(query.tensor), k = with_four_dimensions(key), v = with_four_dimensions(value);
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
  std::vector<std::int64_t> sizes = query.tensor.sizes().vec();
  sizes.back() = v.size(3);
  if (!place.on_device()) return attention_on_host(q, k, v, factor, is_causal).view(sizes);
  const Tensor out = tensor::new_result(kAttentionCall, place, std::vector{q.size(0), q.size(1), q.size(2), v.size(3)},
                                        q.scalar_type());
  if (out.numel() != 0) tensor::device_kernels(kAttentionCall).attention(q, k, v, factor, is_causal, out);
  return out.view(sizes);
}

}  // namespace kernbench::torch
