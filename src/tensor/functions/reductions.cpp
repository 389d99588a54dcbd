// sum, mean, prod, max, min, argmax, argmin, var, std, norm, logsumexp, all, any of kernbench/torch/tensor.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernbench/error.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::ComputePlace;
using tensor::Extents;
using tensor::impl_of;
using tensor::ReduceOperation;
using tensor::RowReduction;

namespace {

using DoubleRow = std::span<const double>;
using IntegerRow = std::span<const std::int64_t>;

/// A reduction on its way: what it reduces, and the tensor that its results go to.
struct Reduction {
  const char* call;
  ComputePlace place;
  std::vector<bool> chosen;
  Tensor out;  // on a device with the reduced dimensions kept
  Extents shape;

  Reduction(const char* function, const Tensor& x, IntArrayRef dimensions, bool keepdim, ScalarType result)
      : call(function), place(tensor::place_of(function, {x})) {
    const auto& sizes = impl_of(x).sizes;
    chosen = tensor::chosen_dimensions(function, dimensions, sizes.size());
    shape = tensor::reduced_shape(sizes, chosen, keepdim);
    const Extents kept = tensor::reduced_shape(sizes, chosen, true);
    out = tensor::new_result(function, place, place.on_device() ? kept : shape, result);
  }
  Extents dimensions() const { return tensor::indices_of(chosen); }
  /// Without dimensions there is nothing to reduce, and kernels expect some: one of one element does no harm.
  Tensor result() const { return place.on_device() ? out.view(shape) : out; }
};

/// Kernels reduce at least one dimension.
Tensor with_dimensions(const Tensor& x) {
  return x.dim() == 0 ? x.view({1}) : x;
}

Tensor reduce(const char* call, ReduceOperation operation, const Tensor& given, IntArrayRef dimensions, bool keepdim,
              ScalarType compute, ScalarType result, const RowReduction& on_host) {
  if (given.dim() == 0 && !given.is_cpu()) {
    for (const std::int64_t dimension : dimensions) tensor::wrap_dimension(dimension, 0);
    return reduce(call, operation, with_dimensions(given), {}, false, compute, result, on_host);
  }
  Reduction reduction(call, given, dimensions, keepdim, result);
  if (reduction.out.numel() == 0) return reduction.result();
  if (reduction.place.on_device()) {
    const Extents reduced = reduction.dimensions();
    tensor::device_kernels(call).reduce(operation, given, reduced, compute, reduction.out);
    return reduction.result();
  }
  // A float that is to be reduced as an integer is converted first.
  const bool floats = is_floating_point(compute);
  const Tensor x = !floats && given.is_floating_point() ? given.to(compute) : given;
  tensor::reduce_rows(x, reduction.chosen, on_host, floats, reduction.out);
  return reduction.out;
}

IntArrayRef dimensions_or_all(const OptionalIntArrayRef& dimensions) {
  return dimensions.has_value() ? dimensions.value() : IntArrayRef();
}

/// Sums and products of integers and bools are Long.
ScalarType total_type(ScalarType type) {
  return tensor::is_integral(type, true) ? kLong : type;
}

const RowReduction& sum_of_row() {
  static const RowReduction reduction{[](DoubleRow row) { return std::accumulate(row.begin(), row.end(), 0.0); },
                                      [](IntegerRow row) {
                                        std::uint64_t sum = 0;  // wraps
                                        for (const std::int64_t value : row) sum += static_cast<std::uint64_t>(value);
                                        return static_cast<std::int64_t>(sum);
                                      }};
  return reduction;
}

Tensor sum_over(const Tensor& x, IntArrayRef dimensions, bool keepdim, std::optional<ScalarType> type) {
  const ScalarType result = type.value_or(total_type(x.scalar_type()));
  return reduce("sum", ReduceOperation::sum, x, dimensions, keepdim, result, result, sum_of_row());
}

Tensor mean_over(const Tensor& x, IntArrayRef dimensions, bool keepdim, std::optional<ScalarType> type) {
  const ScalarType result = type.value_or(x.scalar_type());
  if (!is_floating_point(result)) {
    tensor::fail("mean", fmt::format("could not infer output dtype: the dtype must be floating-point, not {}; give "
                                     "one, as in x.mean(torch::kFloat)",
                                     tensor::text_of(result)));
  }
  static const RowReduction reduction{
      [](DoubleRow row) { return std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size()); }, {}};
  return reduce("mean", ReduceOperation::mean, x, dimensions, keepdim, result, result, reduction);
}

Tensor product_over(const Tensor& x, IntArrayRef dimensions, bool keepdim, std::optional<ScalarType> type) {
  const ScalarType result = type.value_or(total_type(x.scalar_type()));
  static const RowReduction reduction{
      [](DoubleRow row) { return std::accumulate(row.begin(), row.end(), 1.0, std::multiplies<>()); },
      [](IntegerRow row) {
        return static_cast<std::int64_t>(
            std::accumulate(row.begin(), row.end(), std::uint64_t{1}, std::multiplies<>()));
      }};
  return reduce("prod", ReduceOperation::product, x, dimensions, keepdim, result, result, reduction);
}

// ---- extremes --------------------------------------------------------------------------------------------------

/// Index of the first largest (or smallest) element; a NaN is more extreme than any number.
template <class T>
std::size_t extreme_index(std::span<const T> row, bool largest) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] != row[i]) return i;
    if (largest ? row[i] > row[best] : row[i] < row[best]) best = i;
  }
  return best;
}

RowReduction extreme_of_row(bool largest) {
  return {[largest](DoubleRow row) { return row[extreme_index(row, largest)]; },
          [largest](IntegerRow row) { return row[extreme_index(row, largest)]; }};
}

/// There is no largest element of none.
void check_not_empty(const char* call, const Tensor& x, IntArrayRef dimensions) {
  if (x.numel() != 0) return;
  if (dimensions.empty()) {
    tensor::fail(call,
                 "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                 "the 'dim' argument.");
  }
  for (const std::int64_t dimension : dimensions) {
    if (x.dim() > 0 && x.size(dimension) == 0)
      throw IndexError(fmt::format("{}: Expected reduction dim {} to have non-zero size.", call, dimension));
  }
}

Tensor extreme(const char* call, const Tensor& x, IntArrayRef dimensions, bool keepdim, bool largest) {
  check_not_empty(call, x, dimensions);
  const ScalarType type = x.scalar_type();
  return reduce(call, largest ? ReduceOperation::maximum_nan : ReduceOperation::minimum_nan, x, dimensions, keepdim,
                type, type, extreme_of_row(largest));
}

tensor::ArgReduction arg_reduction(bool largest, const Reduction& reduction) {
  return {.operation = largest ? ReduceOperation::argmax_nan : ReduceOperation::argmin_nan,
          .dimension = reduction.dimensions()[0]};
}

Tensor index_of_extreme(const char* call, const Tensor& x, std::int64_t dimension, bool keepdim, bool largest) {
  check_not_empty(call, x, {dimension});
  if (x.dim() == 0) {
    tensor::wrap_dimension(dimension, 0);
    return index_of_extreme(call, x.view({1}), 0, false, largest);
  }
  Reduction reduction(call, x, {dimension}, keepdim, kLong);
  if (reduction.out.numel() == 0) return reduction.result();
  if (reduction.place.on_device()) {
    tensor::device_kernels(call).arg_reduce(arg_reduction(largest, reduction), x, reduction.out, {});
    return reduction.result();
  }
  if (x.is_floating_point()) {
    const RowReduction in_double{[largest](DoubleRow row) { return static_cast<double>(extreme_index(row, largest)); },
                                 {}};
    tensor::reduce_rows(x, reduction.chosen, in_double, true, reduction.out);
  } else {
    const RowReduction in_integers{
        {}, [largest](IntegerRow row) { return static_cast<std::int64_t>(extreme_index(row, largest)); }};
    tensor::reduce_rows(x, reduction.chosen, in_integers, false, reduction.out);
  }
  return reduction.out;
}

/// The extremes along a dimension, and where they are.
std::tuple<Tensor, Tensor> extremes(const char* call, const Tensor& x, std::int64_t dimension, bool keepdim,
                                    bool largest) {
  if (x.is_cpu() || x.dim() == 0 || x.numel() == 0)
    return {extreme(call, x, dimension, keepdim, largest), index_of_extreme(call, x, dimension, keepdim, largest)};
  const Reduction values(call, x, {dimension}, keepdim, x.scalar_type());
  const Reduction indices(call, x, {dimension}, keepdim, kLong);
  tensor::device_kernels(call).arg_reduce(arg_reduction(largest, indices), x, indices.out, values.out);
  return {values.result(), indices.result()};
}

Tensor arg_extreme(const char* call, const Tensor& x, std::optional<std::int64_t> dimension, bool keepdim,
                   bool largest) {
  if (x.scalar_type() == kBool) tensor::fail_type(call, kBool, "convert to integers first");
  if (dimension) return index_of_extreme(call, x, *dimension, keepdim, largest);
  if (x.numel() == 0)
    throw IndexError(fmt::format("{}: Expected reduction dim to be specified for input.numel() == 0.", call));
  const Tensor index = index_of_extreme(call, x.reshape({-1}), 0, false, largest);
  return keepdim ? index.reshape(Extents(static_cast<std::size_t>(x.dim()), 1)) : index;
}

// ---- spread and norms -----------------------------------------------------------------------------------------

double variance_of(DoubleRow row, std::int64_t correction) {
  const auto count = static_cast<double>(row.size());
  const double mean = std::accumulate(row.begin(), row.end(), 0.0) / count;
  double total = 0;
  for (const double value : row) total += (value - mean) * (value - mean);
  return total / std::max(0.0, count - static_cast<double>(correction));
}

Tensor variance(const char* call, const Tensor& x, IntArrayRef dimensions, bool unbiased, bool keepdim, bool root) {
  if (!x.is_floating_point()) {
    tensor::fail_type(call, x.scalar_type(),
                      "std and var only support floating point dtypes; convert with .to(torch::kFloat)");
  }
  if (x.dim() == 0 && !x.is_cpu()) return variance(call, x.view({1}), {}, unbiased, false, root);
  // A variance may be beyond f16 where its root is not.
  Reduction reduction(call, x, dimensions, keepdim,
                      root && !x.is_cpu() ? tensor::wide_type(x.scalar_type()) : x.scalar_type());
  if (reduction.out.numel() == 0) return reduction.result().to(x.scalar_type());
  const std::int64_t correction = unbiased ? 1 : 0;
  if (reduction.place.on_device()) {
    const Extents reduced = reduction.dimensions();
    tensor::device_kernels(call).variance(x, reduced, correction, reduction.out);
    return root ? reduction.result().sqrt_().to(x.scalar_type()) : reduction.result();
  }
  const RowReduction on_host{[=](DoubleRow row) {
                               const double value = variance_of(row, correction);
                               return root ? std::sqrt(value) : value;
                             },
                             {}};
  tensor::reduce_rows(x, reduction.chosen, on_host, true, reduction.out);
  return reduction.out;
}

double norm_of(DoubleRow row, double p) {
  const double infinity = std::numeric_limits<double>::infinity();
  double total = p == -infinity ? infinity : 0;
  for (const double value : row) {
    const double size = std::abs(value);
    if (p == infinity || p == -infinity) {
      if (size != size) return size;
      total = p > 0 ? std::max(total, size) : std::min(total, size);
    } else if (p == 0) {
      total += value != 0 ? 1 : 0;
    } else {
      total += p == 1 ? size : p == 2 ? size * size : std::pow(size, p);
    }
  }
  if (p == 2) return std::sqrt(total);
  return p == 0 || p == 1 || std::isinf(p) ? total : std::pow(total, 1 / p);
}

/// `kernel`(kernels, x, dimensions, out) reduces x, which has dimensions.
template <class Kernel>
Tensor reduce_on_device(const char* call, const Tensor& given, IntArrayRef dimensions, bool keepdim, ScalarType result,
                        Kernel&& kernel) {
  if (given.dim() == 0) {
    for (const std::int64_t dimension : dimensions) tensor::wrap_dimension(dimension, 0);
    return reduce_on_device(call, with_dimensions(given), {}, false, result, kernel);
  }
  const Reduction reduction(call, given, dimensions, keepdim, result);
  if (reduction.out.numel() > 0) kernel(tensor::device_kernels(call), given, reduction.dimensions(), reduction.out);
  return reduction.result();
}

Tensor device_norm(const Tensor& x, double p, IntArrayRef dimensions, bool keepdim) {
  if (std::isinf(p)) check_not_empty("norm", x, dimensions);
  return reduce_on_device("norm", x, dimensions, keepdim, x.scalar_type(),
                          [p](tensor::DeviceOperations& kernels, const Tensor& given, const Extents& over,
                              const Tensor& out) { kernels.norm(given, over, p, out); });
}

double logsumexp_of(DoubleRow row) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double value : row) largest = value != value ? value : std::max(largest, value);
  if (std::isinf(largest)) return largest;
  double total = 0;
  for (const double value : row) total += std::exp(value - largest);
  return std::log(total) + largest;
}

Tensor truth(const char* call, const Tensor& x, IntArrayRef dimensions, bool keepdim, bool all) {
  const RowReduction reduction{
      [all](DoubleRow row) {
        const auto holds = [](double value) { return value != 0; };
        return (all ? std::ranges::all_of(row, holds) : std::ranges::any_of(row, holds)) ? 1.0 : 0.0;
      },
      [all](IntegerRow row) {
        const auto holds = [](std::int64_t value) { return value != 0; };
        return std::int64_t{all ? std::ranges::all_of(row, holds) : std::ranges::any_of(row, holds)};
      }};
  const Tensor result = reduce(call, all ? ReduceOperation::logical_and : ReduceOperation::logical_or, x, dimensions,
                               keepdim, x.scalar_type(), kBool, reduction);
  return x.scalar_type() == kByte ? result.to(kByte) : result;  // as PyTorch: bytes stood for bools once
}

}  // namespace

Tensor Tensor::sum(std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("sum", where);
  return sum_over(*this, {}, false, type);
}
Tensor Tensor::sum(OptionalIntArrayRef dimensions, bool keepdim, std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("sum", where);
  return sum_over(*this, dimensions_or_all(dimensions), keepdim, type);
}
Tensor Tensor::mean(std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("mean", where);
  return mean_over(*this, {}, false, type);
}
Tensor Tensor::mean(OptionalIntArrayRef dimensions, bool keepdim, std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("mean", where);
  return mean_over(*this, dimensions_or_all(dimensions), keepdim, type);
}
Tensor Tensor::prod(std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("prod", where);
  return product_over(*this, {}, false, type);
}
Tensor Tensor::prod(std::int64_t dimension, bool keepdim, std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("prod", where);
  return product_over(*this, dimension, keepdim, type);
}

Tensor Tensor::max(Where where) const {
  const tensor::HostCall here("max", where);
  return extreme("max", *this, {}, false, true);
}
Tensor Tensor::min(Where where) const {
  const tensor::HostCall here("min", where);
  return extreme("min", *this, {}, false, false);
}
std::tuple<Tensor, Tensor> Tensor::max(std::int64_t dimension, bool keepdim, Where where) const {
  const tensor::HostCall here("max", where);
  return extremes("max", *this, dimension, keepdim, true);
}
std::tuple<Tensor, Tensor> Tensor::min(std::int64_t dimension, bool keepdim, Where where) const {
  const tensor::HostCall here("min", where);
  return extremes("min", *this, dimension, keepdim, false);
}
Tensor Tensor::amax(IntArrayRef dimensions, bool keepdim, Where where) const {
  const tensor::HostCall here("amax", where);
  return extreme("amax", *this, dimensions, keepdim, true);
}
Tensor Tensor::amin(IntArrayRef dimensions, bool keepdim, Where where) const {
  const tensor::HostCall here("amin", where);
  return extreme("amin", *this, dimensions, keepdim, false);
}
Tensor Tensor::argmax(std::optional<std::int64_t> dimension, bool keepdim, Where where) const {
  const tensor::HostCall here("argmax", where);
  return arg_extreme("argmax", *this, dimension, keepdim, true);
}
Tensor Tensor::argmin(std::optional<std::int64_t> dimension, bool keepdim, Where where) const {
  const tensor::HostCall here("argmin", where);
  return arg_extreme("argmin", *this, dimension, keepdim, false);
}

Tensor Tensor::var(bool unbiased, Where where) const {
  const tensor::HostCall here("var", where);
  return variance("var", *this, {}, unbiased, false, false);
}
Tensor Tensor::var(OptionalIntArrayRef dimensions, bool unbiased, bool keepdim, Where where) const {
  const tensor::HostCall here("var", where);
  return variance("var", *this, dimensions_or_all(dimensions), unbiased, keepdim, false);
}
Tensor Tensor::std(bool unbiased, Where where) const {
  const tensor::HostCall here("std", where);
  return variance("std", *this, {}, unbiased, false, true);
}
Tensor Tensor::std(OptionalIntArrayRef dimensions, bool unbiased, bool keepdim, Where where) const {
  const tensor::HostCall here("std", where);
  return variance("std", *this, dimensions_or_all(dimensions), unbiased, keepdim, true);
}

Tensor Tensor::norm(const Scalar& p, Where where) const {
  const tensor::HostCall here("norm", where);
  return norm(p, {}, false);
}
Tensor Tensor::norm(const std::optional<Scalar>& p, IntArrayRef dimensions, bool keepdim, Where where) const {
  const tensor::HostCall here("norm", where);
  if (!is_floating_point()) {
    tensor::fail_type("norm", scalar_type(),
                      "the input dtype should be floating point; convert with "
                      ".to(torch::kFloat)");
  }
  const double order = p ? p->toDouble() : 2;
  if (!is_cpu()) return device_norm(*this, order, dimensions, keepdim);
  const RowReduction reduction{[order](DoubleRow row) { return norm_of(row, order); }, {}};
  return reduce("norm", ReduceOperation::sum, *this, dimensions, keepdim, scalar_type(), scalar_type(), reduction);
}

Tensor Tensor::logsumexp(IntArrayRef dimensions, bool keepdim, Where where) const {
  const tensor::HostCall here("logsumexp", where);
  const ScalarType type = tensor::floating_result(scalar_type());
  if (is_cpu()) {
    const RowReduction reduction{logsumexp_of, {}};
    return reduce("logsumexp", ReduceOperation::sum, *this, dimensions, keepdim, type, type, reduction);
  }
  // Of no elements: the logarithm of 0.
  if (numel() == 0) return to(tensor::wide_type(type)).exp().sum(dimensions, keepdim).log().to(type);
  return reduce_on_device("logsumexp", *this, dimensions, keepdim, type,
                          [](tensor::DeviceOperations& kernels, const Tensor& x, const Extents& over,
                             const Tensor& out) { kernels.logsumexp(x, over, out); });
}

Tensor Tensor::all(Where where) const {
  const tensor::HostCall here("all", where);
  return truth("all", *this, {}, false, true);
}
Tensor Tensor::all(std::int64_t dimension, bool keepdim, Where where) const {
  const tensor::HostCall here("all", where);
  return truth("all", *this, dimension, keepdim, true);
}
Tensor Tensor::any(Where where) const {
  const tensor::HostCall here("any", where);
  return truth("any", *this, {}, false, false);
}
Tensor Tensor::any(std::int64_t dimension, bool keepdim, Where where) const {
  const tensor::HostCall here("any", where);
  return truth("any", *this, dimension, keepdim, false);
}

}  // namespace kernbench::torch
