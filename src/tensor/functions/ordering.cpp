// topk, sort, argsort, msort of kernbench/torch/tensor.h and operations.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"

namespace kernbench::torch {

using tensor::Extents;
using tensor::impl_of;

namespace {

/// Whether `a` comes before `b` when the largest are first: a NaN before all numbers, +0 before -0.
template <class T>
bool is_larger(T a, T b) {
  if (a != a || b != b) return a != a && b == b;
  if constexpr (std::is_floating_point_v<T>)
    if (a == b) return !std::signbit(a) && std::signbit(b);
  return a > b;
}

template <class T>
void top_of_rows(const Tensor& x, std::size_t dimension, bool largest, const Tensor& values, const Tensor& indices) {
  std::vector<bool> chosen(static_cast<std::size_t>(x.dim()), false);
  chosen[dimension] = true;
  tensor::Rows<T> rows(x, chosen);
  const auto k = static_cast<std::size_t>(values.size(-1));
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.length()));
  std::vector<T> found(k);
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    const std::span<T> elements = rows.read(row);
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](std::int64_t a, std::int64_t b) {
      const T first = elements[static_cast<std::size_t>(a)], second = elements[static_cast<std::size_t>(b)];
      if (largest ? is_larger(first, second) : is_larger(second, first)) return true;
      if (largest ? is_larger(second, first) : is_larger(first, second)) return false;
      return a < b;
    };
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(k), before);
    for (std::size_t i = 0; i < k; ++i) found[i] = elements[static_cast<std::size_t>(order[i])];
    const auto first = row * static_cast<std::int64_t>(k);
    tensor::write_elements<T>(values, first, found);
    tensor::write_elements<std::int64_t>(indices, first, std::span(order).first(k));
  }
}

/// Whether `a` comes before `b` in ascending order: a NaN behind all numbers, zeros of both signs are equal.
template <class T>
bool is_less(T a, T b) {
  if (a != a || b != b) return a == a && b != b;
  return a < b;
}

template <class T>
void sort_rows(const Tensor& x, std::size_t dimension, bool descending, const Tensor& values, const Tensor& indices) {
  std::vector<bool> chosen(static_cast<std::size_t>(x.dim()), false);
  chosen[dimension] = true;
  tensor::Rows<T> rows(x, chosen);
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.length()));
  std::vector<T> sorted(order.size());
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    const std::span<T> elements = rows.read(row);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      const T first = elements[static_cast<std::size_t>(a)], second = elements[static_cast<std::size_t>(b)];
      return descending ? is_less(second, first) : is_less(first, second);
    });
    std::ranges::transform(order, sorted.begin(),
                           [&](std::int64_t place) { return elements[static_cast<std::size_t>(place)]; });
    tensor::write_elements<T>(values, row * rows.length(), sorted);
    tensor::write_elements<std::int64_t>(indices, row * rows.length(), order);
  }
}

using ValuesAndIndices = std::tuple<Tensor, Tensor>;

void sort_on_device(const Tensor& x, std::int64_t dimension, bool descending, const Tensor& values,
                    const Tensor& indices) {
  tensor::device_kernels("sort").sort(x, dimension, descending, values, indices);
}

/// Integers of 64 bits, by their lower halves first and then by the upper ones, which keeps the order of equal ones.
ValuesAndIndices sort_longs(const Tensor& x, std::int64_t dimension, bool descending) {
  constexpr std::int64_t kLowHalf = 0xffffffff, kMiddle = std::int64_t{1} << 31;
  const auto order_of = [&](const Tensor& half) {
    const Tensor values = torch::empty_like(half), indices = torch::empty_like(x);
    sort_on_device(half, dimension, descending, values, indices);
    return indices;
  };
  const Tensor by_low = order_of(x.bitwise_and(kLowHalf).sub(kMiddle).to(kInt));
  const Tensor high = x.bitwise_right_shift(32).to(kInt);
  const Tensor indices = by_low.gather(dimension, order_of(high.gather(dimension, by_low)));
  return {x.gather(dimension, indices), indices};
}

}  // namespace

std::tuple<Tensor, Tensor> Tensor::sort(std::int64_t dimension, bool descending, Where where) const {
  const tensor::HostCall here("sort", where);
  const tensor::ComputePlace place = tensor::place_of("sort", {*this});
  const std::size_t at = tensor::wrap_dimension(dimension, impl_of(*this).sizes.size());
  if (dim() == 0) {
    const auto [value, index] = view({1}).sort(0, descending);
    return {value.reshape({}), index.reshape({})};
  }
  const auto along = static_cast<std::int64_t>(at);
  if (place.on_device() && scalar_type() == kLong && numel() != 0) return sort_longs(*this, along, descending);
  const std::vector<tensor::DeviceOperand> like{*this};
  const Tensor values = tensor::new_elementwise_result("sort", place, impl_of(*this).sizes, scalar_type(), like);
  const Tensor indices = tensor::new_elementwise_result("sort", place, impl_of(*this).sizes, kLong, like);
  if (values.numel() == 0) return {values, indices};
  if (place.on_device()) {
    const bool is_bool = scalar_type() == kBool;
    const Tensor sorted = is_bool ? torch::empty_like(values, torch::dtype(kByte)) : values;
    sort_on_device(is_bool ? to(kByte) : *this, along, descending, sorted, indices);
    if (is_bool) values.copy_(sorted);
    return {values, indices};
  }
  // Lines are sorted one after another, then put where they belong.
  const Extents lines = movedim(along, -1).sizes().vec();
  const Tensor sorted = torch::empty(lines, scalar_type()), places = torch::empty(lines, kLong);
  if (is_floating_point())
    sort_rows<double>(*this, at, descending, sorted, places);
  else
    sort_rows<std::int64_t>(*this, at, descending, sorted, places);
  values.copy_(sorted.movedim(-1, along));
  indices.copy_(places.movedim(-1, along));
  return {values, indices};
}

Tensor Tensor::argsort(std::int64_t dimension, bool descending, Where where) const {
  const tensor::HostCall here("argsort", where);
  return std::get<1>(sort(dimension, descending));
}

std::tuple<Tensor, Tensor> Tensor::topk(std::int64_t k, std::int64_t dimension, bool largest, bool /*sorted*/,
                                        Where where) const {
  const tensor::HostCall here("topk", where);
  const tensor::ComputePlace place = tensor::place_of("topk", {*this});
  if (scalar_type() == kBool) tensor::fail_type("topk", kBool, "convert to integers first");
  const std::size_t at = tensor::wrap_dimension(dimension, impl_of(*this).sizes.size());
  const std::int64_t extent = dim() == 0 ? 1 : size(static_cast<std::int64_t>(at));
  if (k < 0 || k > extent) {
    tensor::fail("topk", fmt::format("selected index k out of range: k is {}, dimension {} of {} has {} elements", k,
                                     at, tensor::describe(*this), extent));
  }
  if (dim() == 0) {
    const auto [value, index] = view({1}).topk(k, 0, largest);
    return {value.reshape(k == 1 ? Extents{} : Extents{0}), index.reshape(k == 1 ? Extents{} : Extents{0})};
  }
  Extents sizes = impl_of(*this).sizes;
  sizes[at] = k;
  if (place.on_device()) {
    const Tensor values = tensor::new_result("topk", place, sizes, scalar_type());
    const Tensor indices = tensor::new_result("topk", place, sizes, kLong);
    if (values.numel() != 0)
      tensor::device_kernels("topk").top_k(*this, static_cast<std::int64_t>(at), largest, values, indices);
    return {values, indices};
  }
  const Tensor values = tensor::new_result("topk", place, sizes, scalar_type());
  const Tensor indices = tensor::new_result("topk", place, sizes, kLong);
  if (values.numel() == 0) return {values, indices};
  // Lines are made one after another, then put where they belong.
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at));
  sizes.push_back(k);
  const Tensor best = torch::empty(sizes, scalar_type()), places = torch::empty(sizes, kLong);
  if (is_floating_point())
    top_of_rows<double>(*this, at, largest, best, places);
  else
    top_of_rows<std::int64_t>(*this, at, largest, best, places);
  values.copy_(best.movedim(-1, static_cast<std::int64_t>(at)));
  indices.copy_(places.movedim(-1, static_cast<std::int64_t>(at)));
  return {values, indices};
}

}  // namespace kernbench::torch
