// Functions of kernbench/torch/embedding.h.
#include "kernbench/torch/embedding.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"

namespace kernbench::torch {

using tensor::ComputePlace;

namespace {

/// A table's part as the kernels take it, with the name of the call.
struct Lookup {
  const char* call;
  std::int64_t first = 0, whole = 0;
  std::int64_t padding = -1;
};

void check_indices(const char* call, const Tensor& indices) {
  if (indices.scalar_type() != kLong && indices.scalar_type() != kInt)
    tensor::fail_type(call, indices.scalar_type(), "the indices must be Int or Long");
}

/// The row of the part, which may lie outside of it.
std::int64_t row_of(const Lookup& lookup, std::int64_t index) {
  if (index >= 0 && index < lookup.whole) return index - lookup.first;
  throw IndexError(fmt::format("{}: index {} is out of range of a table of {} rows", lookup.call, index, lookup.whole));
}

/// The indices in their order, on the host.
std::vector<std::int64_t> numbers_of(const Tensor& indices) {
  tensor::Rows<std::int64_t> rows(indices.reshape({-1}), {true});
  const std::span<std::int64_t> values = rows.read(0);
  return {values.begin(), values.end()};
}

std::vector<std::int64_t> with_columns(const Tensor& indices, std::int64_t columns) {
  std::vector<std::int64_t> sizes = indices.sizes().vec();
  sizes.push_back(columns);
  return sizes;
}

/// The index repeated along the columns, as the kernels take it.
Tensor repeated(const Tensor& indices, std::int64_t columns) {
  return indices.reshape({-1, 1}).expand({indices.numel(), columns});
}

Tensor rows_on_host(const Lookup& lookup, const Tensor& weight, const Tensor& indices) {
  const std::int64_t rows = weight.size(0), count = indices.numel();
  const Tensor out = torch::zeros({count, weight.size(1)}, weight.scalar_type());
  const std::vector<std::int64_t> numbers = numbers_of(indices);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = row_of(lookup, numbers[static_cast<std::size_t>(i)]);
    if (row >= 0 && row < rows) out.select(0, i).copy_(weight.select(0, row));
  }
  return out.view(with_columns(indices, weight.size(1)));
}

Tensor looked_up(const Lookup& lookup, const Tensor& weight, const Tensor& indices) {
  const ComputePlace place = tensor::place_of(lookup.call, {weight, indices});
  if (weight.dim() != 2)
    tensor::fail(lookup.call, fmt::format("'weight' must be 2-D, but is {}", tensor::describe(weight)));
  check_indices(lookup.call, indices);
  if (!place.on_device()) return rows_on_host(lookup, weight, indices);
  const std::int64_t columns = weight.size(1);
  Tensor out = tensor::new_result(lookup.call, place, with_columns(indices, columns), weight.scalar_type());
  if (out.numel() != 0) {
    tensor::device_kernels(lookup.call)
        .embedding(weight, repeated(indices, columns), {lookup.first, lookup.whole}, out.view({-1, columns}));
  }
  return out;
}

template <class T>
Tensor sums_on_host(const Lookup& lookup, const Tensor& grad, const std::vector<std::int64_t>& numbers,
                    std::int64_t rows) {
  const std::int64_t columns = grad.size(-1);
  const Tensor sums = torch::zeros({rows, columns}, scalar_type_of<T>());
  const Tensor terms = grad.to(scalar_type_of<T>()).contiguous();
  T* sum = sums.data_ptr<T>();
  const T* term = terms.data_ptr<T>();
  for (const std::int64_t number : numbers) {
    const std::int64_t row = row_of(lookup, number);
    if (row >= 0 && row < rows && number != lookup.padding)
      for (std::int64_t c = 0; c < columns; ++c) sum[row * columns + c] += term[c];
    term += columns;
  }
  return sums.to(grad.scalar_type());
}

Tensor summed(const Lookup& lookup, const Tensor& grad, const Tensor& indices, std::int64_t rows) {
  const ComputePlace place = tensor::place_of(lookup.call, {grad, indices});
  check_indices(lookup.call, indices);
  if (!grad.is_floating_point()) tensor::fail_type(lookup.call, grad.scalar_type(), "the gradient must be floating");
  if (grad.dim() == 0 || grad.sizes().vec() != with_columns(indices, grad.size(-1))) {
    tensor::fail(lookup.call, fmt::format("the gradient must have the shape of the indices and one dimension more, but "
                                          "they are {} and {}",
                                          tensor::describe(grad), tensor::describe(indices)));
  }
  const std::int64_t columns = grad.size(-1);
  if (!place.on_device()) {
    const auto numbers = numbers_of(indices);
    return grad.scalar_type() == kDouble ? sums_on_host<double>(lookup, grad, numbers, rows)
                                         : sums_on_host<float>(lookup, grad, numbers, rows);
  }
  const ComputePlace spread{.device = place.device, .policy = {}};
  Tensor sums = tensor::new_result(lookup.call, spread, {{rows, columns}}, kFloat);
  sums.zero_();
  if (grad.numel() != 0 && rows != 0) {
    tensor::device_kernels(lookup.call)
        .embedding_backward(grad.reshape({-1, columns}), repeated(indices, columns),
                            {lookup.first, lookup.whole, lookup.padding}, sums);
  }
  return sums.to(grad.scalar_type());
}

}  // namespace

Tensor embedding(const TensorOperand& weight, const Tensor& indices, std::int64_t /*padding_idx*/) {
  const tensor::HostCall here("embedding", weight.where);
  return looked_up({.call = "embedding", .whole = weight.tensor.dim() == 0 ? 0 : weight.tensor.size(0)}, weight.tensor,
                   indices);
}

Tensor embedding_dense_backward(const TensorOperand& grad_output, const Tensor& indices, std::int64_t num_weights,
                                std::int64_t padding_idx, bool scale_grad_by_freq) {
  constexpr const char* kCall = "embedding_dense_backward";
  const tensor::HostCall here(kCall, grad_output.where);
  if (scale_grad_by_freq) tensor::fail(kCall, "scale_grad_by_freq is not supported; divide by the counts afterwards");
  return summed({.call = kCall, .whole = num_weights, .padding = padding_idx}, grad_output.tensor, indices,
                num_weights);
}

namespace ahbm {

Tensor embedding_part(const TensorOperand& weight, const Tensor& indices, std::int64_t first,
                      std::int64_t num_embeddings) {
  const tensor::HostCall here("embedding_part", weight.where);
  return looked_up({.call = "embedding_part", .first = first, .whole = num_embeddings}, weight.tensor, indices);
}

Tensor embedding_part_backward(const TensorOperand& grad_output, const Tensor& indices, std::int64_t rows,
                               std::int64_t first, std::int64_t num_embeddings) {
  constexpr const char* kCall = "embedding_part_backward";
  const tensor::HostCall here(kCall, grad_output.where);
  return summed({.call = kCall, .first = first, .whole = num_embeddings}, grad_output.tensor, indices, rows);
}

}  // namespace ahbm

}  // namespace kernbench::torch
