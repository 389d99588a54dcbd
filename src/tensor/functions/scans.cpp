// cumprod, logcumsumexp, cummax, cummin, which devices have no kernels for; median and quantile, made of sort; unique
// elements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/indexing.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/elementwise.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::Extents;
using tensor::fail;
using tensor::impl_of;

namespace {

void refuse_devices(const char* call, const Tensor& x) {
  if (tensor::place_of(call, {x}).on_device())
    fail(call, "devices have no kernel for it; compute on the host with .cpu()");
}

/// log(e^a + e^b)
double log_of_sum(double a, double b) {
  if (a != a || b != b) return std::numeric_limits<double>::quiet_NaN();
  const double larger = std::max(a, b), smaller = std::min(a, b);
  return std::isinf(larger) ? larger : larger + std::log1p(std::exp(smaller - larger));
}

template <class T>
bool is_nan(T value) {
  return value != value;
}

/// The extreme so far of each row, and where it was.
template <class T>
void extremes_of_rows(const Tensor& x, std::size_t at, bool largest, const Tensor& values, const Tensor& indices) {
  std::vector<bool> chosen(static_cast<std::size_t>(x.dim()), false);
  chosen[at] = true;
  tensor::Rows<T> rows(x, chosen);
  std::vector<std::int64_t> places(static_cast<std::size_t>(rows.length()));
  for (std::int64_t row = 0; row < rows.count() && rows.length() > 0; ++row) {
    const std::span<T> elements = rows.read(row);
    std::size_t best = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const T now = elements[i], before = elements[best];
      if (is_nan(now) || (!is_nan(before) && (largest ? now >= before : now <= before))) best = i;
      places[i] = static_cast<std::int64_t>(best);
    }
    std::vector<T> found(elements.size());
    std::ranges::transform(places, found.begin(),
                           [&](std::int64_t i) { return elements[static_cast<std::size_t>(i)]; });
    tensor::write_elements<T>(values, row * rows.length(), found);
    tensor::write_elements<std::int64_t>(indices, row * rows.length(), places);
  }
}

std::tuple<Tensor, Tensor> cumulative_extreme(const char* call, const Tensor& x, std::int64_t dimension, bool largest) {
  refuse_devices(call, x);
  const std::size_t at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(x.dim()));
  if (x.dim() == 0) {
    const auto [values, indices] = cumulative_extreme(call, x.view({1}), 0, largest);
    return {values.view({}), indices.view({})};
  }
  // Lines are made one after another, then put where they belong.
  const auto along = static_cast<std::int64_t>(at);
  const Extents lines = x.movedim(along, -1).sizes().vec();
  const Tensor values = torch::empty(lines, x.scalar_type()), indices = torch::empty(lines, kLong);
  if (x.is_floating_point())
    extremes_of_rows<double>(x, at, largest, values, indices);
  else
    extremes_of_rows<std::int64_t>(x, at, largest, values, indices);
  return {values.movedim(-1, along).contiguous(), indices.movedim(-1, along).contiguous()};
}

}  // namespace

Tensor Tensor::cumprod(std::int64_t dimension, std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("cumprod", where);
  refuse_devices("cumprod", *this);
  const ScalarType result = type.value_or(tensor::is_integral(scalar_type(), true) ? kLong : scalar_type());
  const Tensor x = to(result);
  if (x.is_floating_point()) {
    return tensor::map_rows<double>(x, dimension, result, [](std::span<double> row) {
      double product = 1;
      for (double& value : row) value = product *= value;
    });
  }
  return tensor::map_rows<std::int64_t>(x, dimension, result, [](std::span<std::int64_t> row) {
    std::uint64_t product = 1;  // wraps
    for (std::int64_t& value : row) value = static_cast<std::int64_t>(product *= static_cast<std::uint64_t>(value));
  });
}

Tensor Tensor::logcumsumexp(std::int64_t dimension, Where where) const {
  const tensor::HostCall here("logcumsumexp", where);
  refuse_devices("logcumsumexp", *this);
  tensor::check_floats("logcumsumexp", *this);
  return tensor::map_rows<double>(*this, dimension, scalar_type(), [](std::span<double> row) {
    double sum = -std::numeric_limits<double>::infinity();
    for (double& value : row) value = sum = log_of_sum(sum, value);
  });
}

std::tuple<Tensor, Tensor> Tensor::cummax(std::int64_t dimension, Where where) const {
  const tensor::HostCall here("cummax", where);
  return cumulative_extreme("cummax", *this, dimension, true);
}
std::tuple<Tensor, Tensor> Tensor::cummin(std::int64_t dimension, Where where) const {
  const tensor::HostCall here("cummin", where);
  return cumulative_extreme("cummin", *this, dimension, false);
}

// ---- by the order of the elements ------------------------------------------------------------------------------

Tensor Tensor::median(Where where) const {
  const tensor::HostCall here("median", where);
  if (numel() == 0 && is_floating_point())
    return torch::full({}, std::numeric_limits<double>::quiet_NaN(), torch::dtype(scalar_type()).device(device()));
  return std::get<0>(reshape({-1}).median(0));
}

std::tuple<Tensor, Tensor> Tensor::median(std::int64_t dimension, bool keepdim, Where where) const {
  const tensor::HostCall here("median", where);
  if (scalar_type() == kBool) tensor::fail_type("median", kBool, "convert to integers first");
  const std::size_t at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(dim()));
  if (dim() == 0) return sort(0);
  const auto along = static_cast<std::int64_t>(at);
  const std::int64_t count = size(along);
  if (count == 0) throw IndexError(fmt::format("median(): Expected reduction dim {} to have non-zero size.", at));
  const auto [sorted, places] = sort(along);
  Tensor value = sorted.narrow(along, (count - 1) / 2, 1), index = places.narrow(along, (count - 1) / 2, 1);
  if (is_floating_point()) {
    // A NaN, which comes last, is the median of all that have one; the index is that of the first, as argmax finds it.
    const Tensor last = sorted.narrow(along, count - 1, 1), is_one = last.isnan();
    value = tensor::where(is_one, last, value);
    index = tensor::where(is_one, argmax(along, true), index);
  }
  if (keepdim) return {value.contiguous(), index.contiguous()};
  return {value.select(along, 0).contiguous(), index.select(along, 0).contiguous()};
}

namespace {

/// Where a quantile lies among the elements in order: a share of the way from one to the next.
struct Position {
  std::int64_t lower, upper;
  double share;
};

Position position_of(double q, std::int64_t count, std::string_view interpolation) {
  const double rank = q * static_cast<double>(count - 1), floor = std::floor(rank);
  const auto lower = static_cast<std::int64_t>(floor), upper = std::min(lower + 1, count - 1);
  if (interpolation == "lower") return {lower, lower, 0};
  if (interpolation == "higher") return {static_cast<std::int64_t>(std::ceil(rank)), upper, 0};
  if (interpolation == "nearest") return {static_cast<std::int64_t>(std::nearbyint(rank)), upper, 0};
  if (interpolation == "midpoint") return {lower, upper, rank == floor ? 0 : 0.5};
  return {lower, upper, rank - floor};
}

void check_quantile(const Tensor& x, std::span<const double> shares, std::string_view interpolation) {
  constexpr const char* kCall = "quantile";
  constexpr std::string_view kInterpolations[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  if (x.numel() == 0) fail(kCall, "quantile() input tensor must be non-empty");
  if (x.scalar_type() != kFloat && x.scalar_type() != kDouble)
    fail(kCall, "quantile() input tensor must be either float or double dtype, not " + tensor::describe(x));
  for (const double q : shares)
    if (!(q >= 0 && q <= 1)) fail(kCall, fmt::format("quantile() q must be in the range [0, 1] but got {}", q));
  if (std::ranges::find(kInterpolations, interpolation) == std::end(kInterpolations)) {
    fail(kCall, fmt::format("quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
                            "got {}",
                            interpolation));
  }
}

/// A quantile for each share, along the dimension.
std::vector<Tensor> quantiles(const Tensor& given, std::span<const double> shares,
                              const std::optional<std::int64_t>& dimension, bool keepdim,
                              std::string_view interpolation) {
  check_quantile(given, shares, interpolation);
  const std::size_t rank = static_cast<std::size_t>(given.dim());
  const std::int64_t at = dimension ? static_cast<std::int64_t>(tensor::wrap_dimension(*dimension, rank)) : 0;
  const Tensor x = dimension && rank > 0 ? given : given.reshape({-1});
  const std::int64_t count = x.size(at);
  const Tensor sorted = std::get<0>(x.sort(at)), last = sorted.select(at, count - 1), is_nan = last.isnan();
  Extents kept = impl_of(given).sizes;
  for (std::size_t d = 0; d < rank; ++d)
    if (!dimension || static_cast<std::int64_t>(d) == at) kept[d] = 1;
  std::vector<Tensor> results;
  for (const double q : shares) {
    const Position position = position_of(q, count, interpolation);
    Tensor value = sorted.select(at, position.lower);
    if (position.share != 0) value = value.lerp(sorted.select(at, position.upper), position.share);
    value = tensor::where(is_nan, last, value);
    results.push_back(keepdim ? value.reshape(kept) : value);
  }
  return results;
}

}  // namespace

Tensor Tensor::quantile(double q, std::optional<std::int64_t> dimension, bool keepdim, std::string_view interpolation,
                        Where where) const {
  const tensor::HostCall here("quantile", where);
  return quantiles(*this, {&q, 1}, dimension, keepdim, interpolation).front();
}

Tensor Tensor::quantile(const Tensor& q, std::optional<std::int64_t> dimension, bool keepdim,
                        std::string_view interpolation, Where where) const {
  constexpr const char* kCall = "quantile";
  const tensor::HostCall here(kCall, where);
  if (q.dim() > 1) fail(kCall, "quantile() q must be a scalar or 1D tensor, not " + tensor::describe(q));
  if (q.scalar_type() != scalar_type())
    fail(kCall, "quantile() q tensor must be same dtype as the input tensor, not " + tensor::describe(q));
  const Tensor shares = q.cpu().to(kDouble).reshape({-1});
  tensor::Rows<double> numbers(shares, {true});
  const auto results = quantiles(*this, numbers.read(0), dimension, keepdim, interpolation);
  if (q.dim() == 0) return results.front();
  // A view of quantiles beside each other, as PyTorch's.
  if (!results.empty()) return stack(results, -1).movedim(-1, 0);
  Extents sizes = quantile(0.5, dimension, keepdim).sizes().vec();
  sizes.insert(sizes.begin(), 0);
  return new_empty(sizes);
}

// ---- diagonals -------------------------------------------------------------------------------------------------

Tensor Tensor::trace(Where where) const {
  const tensor::HostCall here("trace", where);
  if (dim() != 2) fail("trace", "expected a matrix, but it is " + tensor::describe(*this));
  return diagonal().sum();
}

Tensor Tensor::diag(std::int64_t diagonal, Where where) const {
  const tensor::HostCall here("diag", where);
  if (dim() == 2) {
    const Tensor line = this->diagonal(diagonal);
    return new_empty(line.sizes()).copy_(line);
  }
  if (dim() != 1) fail("diag", "matrix or a vector expected, but it is " + tensor::describe(*this));
  const std::int64_t extent = numel() + std::abs(diagonal);
  const Tensor result = new_zeros({extent, extent});
  result.diagonal(diagonal).copy_(*this);
  return result;
}

// ---- unique elements -------------------------------------------------------------------------------------------

namespace {

/// Elements that are equal and follow each other: where each run begins, how long it is, and the run of each element.
struct Runs {
  std::vector<std::int64_t> starts, lengths, run_of;
};

template <class T>
Runs runs_of(const Tensor& line) {
  Runs runs;
  tensor::Rows<T> rows(line, {true});
  const std::span<T> elements = rows.read(0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i == 0 || elements[i] != elements[i - 1]) {
      runs.starts.push_back(static_cast<std::int64_t>(i));
      runs.lengths.push_back(0);
    }
    ++runs.lengths.back();
    runs.run_of.push_back(std::ssize(runs.starts) - 1);
  }
  return runs;
}

Runs runs_of(const Tensor& line) {
  return line.is_floating_point() ? runs_of<double>(line) : runs_of<std::int64_t>(line);
}

void refuse_unknown_size(const char* call, const Tensor& x) {
  if (tensor::place_of(call, {x}).on_device())
    fail(call, "its size depends on values that only the device knows; take the tensor to the host with .cpu()");
}

/// What is not asked for is empty.
Tensor list_if(bool wanted, const std::vector<std::int64_t>& values) {
  return wanted ? torch::tensor(values, kLong) : torch::empty({0}, kLong);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const TensorOperand& x, bool return_inverse, bool return_counts) {
  const tensor::HostCall here("unique_consecutive", x.where);
  refuse_unknown_size("unique_consecutive", x.tensor);
  const Tensor line = x.tensor.reshape({-1});
  const Runs runs = runs_of(line);
  const Tensor inverse = list_if(return_inverse, runs.run_of);
  return {line.index_select(0, torch::tensor(runs.starts, kLong)),
          return_inverse ? inverse.view(x.tensor.sizes()) : inverse, list_if(return_counts, runs.lengths)};
}

std::tuple<Tensor, Tensor, Tensor> _unique2(const TensorOperand& x, bool /*sorted*/, bool return_inverse,
                                            bool return_counts) {
  const tensor::HostCall here("_unique2", x.where);
  refuse_unknown_size("_unique2", x.tensor);
  const auto [line, order] = x.tensor.reshape({-1}).sort();
  const Runs runs = runs_of(line);
  Tensor inverse = list_if(return_inverse, runs.run_of);
  if (return_inverse) inverse = torch::empty_like(inverse).index_copy_(0, order, inverse).view(x.tensor.sizes());
  return {line.index_select(0, torch::tensor(runs.starts, kLong)), inverse, list_if(return_counts, runs.lengths)};
}

std::tuple<Tensor, Tensor> _unique(const TensorOperand& x, bool sorted, bool return_inverse) {
  const tensor::HostCall here("_unique", x.where);
  const auto [values, inverse, counts] = _unique2(x, sorted, return_inverse);
  return {values, inverse};
}

}  // namespace kernbench::torch
