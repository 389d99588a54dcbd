// index_add, bincount, count_nonzero, diff, take_along_dim, meshgrid. All but index_add are made of other functions,
// and so are their times on a device.
#include <fmt/format.h>

#include <limits>
#include <string_view>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"

namespace kernbench::torch {

namespace {

constexpr const char* kIndexAdd = "index_add_";

/// What sums are made in, whatever they are rounded to at the end.
ScalarType type_of_sums(ScalarType type) {
  if (type == kDouble) return kDouble;
  return is_floating_point(type) ? kFloat : kLong;
}

template <class T>
void add_rows(const Tensor& sums, const Tensor& terms, std::span<const std::int64_t> rows) {
  const std::int64_t columns = sums.size(1);
  T* sum = sums.data_ptr<T>();
  const T* term = terms.data_ptr<T>();
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= sums.size(0))
      throw IndexError(
          fmt::format("{}: index {} out of range in self, which has {} there", kIndexAdd, row, sums.size(0)));
    for (std::int64_t column = 0; column < columns; ++column) sum[row * columns + column] += *term++;
  }
}

void add_on_host(const Tensor& sums, const Tensor& terms, const Tensor& index) {
  tensor::Rows<std::int64_t> numbers(index, {true});
  const std::span<std::int64_t> rows = numbers.read(0);
  if (sums.scalar_type() == kDouble) return add_rows<double>(sums, terms, rows);
  if (sums.scalar_type() == kFloat) return add_rows<float>(sums, terms, rows);
  add_rows<std::int64_t>(sums, terms, rows);
}

void check_index_add(const Tensor& x, std::size_t at, const Tensor& index, const Tensor& source) {
  if (index.dim() > 1) tensor::fail(kIndexAdd, "Index is supposed to be a vector, not " + tensor::describe(index));
  if (index.scalar_type() != kLong && index.scalar_type() != kInt)
    tensor::fail_type(kIndexAdd, index.scalar_type(), "the index must be Int or Long");
  if (x.scalar_type() != source.scalar_type()) {
    tensor::fail(kIndexAdd, fmt::format("self and source expected to have the same dtype, but they are {} and {}",
                                        tensor::describe(x), tensor::describe(source)));
  }
  std::vector<std::int64_t> expected = x.sizes().vec();
  if (!expected.empty()) expected[at] = index.numel();
  if (source.sizes().vec() != expected) {
    tensor::fail(kIndexAdd, fmt::format("source must have the sizes of self, and along dimension {} as many as there "
                                        "are indices: {}, but is {}",
                                        at, tensor::text_of(expected), tensor::describe(source)));
  }
}

}  // namespace

const Tensor& Tensor::index_add_(std::int64_t dimension, const Tensor& index, const Tensor& source, const Scalar& alpha,
                                 Where where) const {
  const tensor::HostCall here(kIndexAdd, where);
  const tensor::ComputePlace place = tensor::place_of(kIndexAdd, {*this, index, source});
  const std::size_t at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(dim()));
  check_index_add(*this, at, index, source);
  tensor::check_in_place(kIndexAdd, *this, tensor::impl_of(*this).sizes, scalar_type(), {});
  if (is_integer(scalar_type()) && alpha.isFloatingPoint())
    tensor::fail(kIndexAdd, "For integral input tensors, argument alpha must not be a floating point number.");
  if (source.numel() == 0) return *this;
  if (dim() == 0) {
    view({1}).index_add_(0, index.reshape({1}), source.reshape({1}), alpha);
    return *this;
  }
  const auto along = static_cast<std::int64_t>(at);
  const ScalarType type = type_of_sums(scalar_type());
  const Tensor lines = movedim(along, 0);
  const std::int64_t rows = lines.size(0);
  if (rows == 0) throw IndexError(fmt::format("{}: index out of range in self, which has no element there", kIndexAdd));
  const std::int64_t columns = numel() / rows;
  Tensor terms = source.movedim(along, 0).reshape({index.numel(), columns});
  if (alpha.toDouble() != 1) terms = terms.to(type).mul(alpha);
  if (!place.on_device()) {
    const Tensor sums = lines.reshape({rows, columns}).to(type, false, true).contiguous();
    add_on_host(sums, terms.to(type).contiguous(), index.reshape({-1}));
    lines.copy_(sums.view(lines.sizes()));
    return *this;
  }
  if (type != kFloat)
    tensor::fail_type(kIndexAdd, scalar_type(), "a device adds in f32: convert, or compute on the host with .cpu()");
  const Tensor sums =
      tensor::new_result(kIndexAdd, {.device = place.device, .policy = {}}, std::vector{rows, columns}, kFloat);
  sums.copy_(lines.reshape({rows, columns}));
  tensor::device_kernels(kIndexAdd).embedding_backward(terms, index.reshape({-1, 1}).expand({index.numel(), columns}),
                                                       {.first = 0, .whole = rows, .call = "index_add"}, sums);
  lines.copy_(sums.view(lines.sizes()));
  return *this;
}

Tensor Tensor::index_add(std::int64_t dimension, const Tensor& index, const Tensor& source, const Scalar& alpha,
                         Where where) const {
  const tensor::HostCall here("index_add", where);
  return clone().index_add_(dimension, index, source, alpha);
}

Tensor bincount(const TensorOperand& x, const std::optional<Tensor>& weights, std::int64_t minlength) {
  constexpr const char* kCall = "bincount";
  /// f32 counts one by one up to here.
  constexpr std::int64_t kMostCounts = 1 << 24;
  const tensor::HostCall here(kCall, x.where);
  const Tensor& values = x.tensor;
  const bool weighted = weights && weights->defined();
  const tensor::ComputePlace place =
      weighted ? tensor::place_of(kCall, {values, *weights}) : tensor::place_of(kCall, {values});
  if (minlength < 0) tensor::fail(kCall, fmt::format("minlength should be >= 0, but is {}", minlength));
  const bool empty = values.dim() == 1 && values.numel() == 0;
  if (values.dim() != 1 || !is_integer(values.scalar_type()) || (!empty && values.min().item<std::int64_t>() < 0)) {
    tensor::fail(kCall, fmt::format("bincount only supports 1-d non-negative integral inputs, not {}",
                                    tensor::describe(values)));
  }
  if (weighted && weights->sizes().vec() != values.sizes().vec())
    tensor::fail(kCall, "weights should be 1-d and have the same length as input, not " + tensor::describe(*weights));
  ScalarType type = place.on_device() ? kFloat : kLong;
  if (weighted) type = place.on_device() || weights->scalar_type() == kFloat ? kFloat : kDouble;
  if (place.on_device() && !weighted && values.numel() > kMostCounts)
    tensor::fail(kCall, fmt::format("counts {} numbers; a device counts up to {}", values.numel(), kMostCounts));
  const std::int64_t largest = empty ? -1 : values.max().item<std::int64_t>();
  if (largest == std::numeric_limits<std::int64_t>::max())
    tensor::fail(kCall, fmt::format("the largest number is {}: there is no room for a count of each", largest));
  const std::int64_t length = std::max(minlength, largest + 1);
  const TensorOptions options = torch::dtype(type).device(values.device());
  const Tensor counts = torch::zeros({length}, options);
  if (!empty)
    counts.index_add_(0, values.to(kLong), weighted ? weights->to(type) : torch::ones({values.numel()}, options));
  return weighted ? counts : counts.to(kLong);
}

Tensor count_nonzero(const TensorOperand& x, OptionalIntArrayRef dimensions) {
  const tensor::HostCall here("count_nonzero", x.where);
  return x.tensor.ne(0).sum(dimensions, false, kLong);
}

Tensor diff(const TensorOperand& x, std::int64_t n, std::int64_t dimension) {
  const tensor::HostCall here("diff", x.where);
  if (x.tensor.dim() == 0) tensor::fail("diff", "diff expects input to be at least one-dimensional");
  if (n < 0) tensor::fail("diff", fmt::format("order must be non-negative but got {}", n));
  const auto at =
      static_cast<std::int64_t>(tensor::wrap_dimension(dimension, static_cast<std::size_t>(x.tensor.dim())));
  if (n == 0) return x.tensor.clone();
  Tensor result = x.tensor;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t left = result.size(at) - 1;
    if (left < 0) break;
    const Tensor later = result.narrow(at, 1, left), earlier = result.narrow(at, 0, left);
    result = result.scalar_type() == kBool ? later.ne(earlier) : later.sub(earlier);
  }
  return result.is_alias_of(x.tensor) ? result.clone() : result;
}

Tensor take_along_dim(const TensorOperand& x, const Tensor& indices, std::optional<std::int64_t> dimension) {
  const tensor::HostCall here("take_along_dim", x.where);
  if (!dimension) return x.tensor.reshape({-1}).gather(0, indices.reshape({-1}));
  if (x.tensor.dim() != indices.dim()) {
    tensor::fail("take_along_dim", fmt::format("input and indices should have the same number of dimensions, but they "
                                               "are {} and {}",
                                               tensor::describe(x.tensor), tensor::describe(indices)));
  }
  const std::size_t at = tensor::wrap_dimension(*dimension, static_cast<std::size_t>(x.tensor.dim()));
  std::vector<std::int64_t> from = x.tensor.sizes().vec(), wanted = indices.sizes().vec();
  if (from.empty()) return x.tensor.gather(0, indices);
  const std::int64_t extent = from[at], count = wanted[at];
  from[at] = wanted[at] = 1;
  std::vector<std::int64_t> shape = tensor::broadcast_sizes(from, wanted);
  from = wanted = shape;
  from[at] = extent;
  wanted[at] = count;
  return x.tensor.expand(from).gather(static_cast<std::int64_t>(at), indices.expand(wanted));
}

std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing, Where where) {
  constexpr const char* kCall = "meshgrid";
  const tensor::HostCall here(kCall, where);
  if (indexing != "ij" && indexing != "xy")
    tensor::fail(kCall, fmt::format("indexing must be one of \"xy\" or \"ij\", but received: {}", indexing));
  if (tensors.empty()) tensor::fail(kCall, "expects a non-empty TensorList");
  const bool swaps = indexing == "xy" && tensors.size() > 1;
  std::vector<std::int64_t> shape;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() > 1)
      tensor::fail(kCall, "Expected 0D or 1D tensor in the tensor list but got: " + tensor::describe(tensor));
    if (tensor.scalar_type() != tensors[0].scalar_type())
      tensor::fail(kCall, "expects all tensors to have the same dtype");
    shape.push_back(tensor.numel());
  }
  if (swaps) std::swap(shape[0], shape[1]);
  std::vector<Tensor> grids;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<std::int64_t> line(shape.size(), 1);
    line[swaps && i < 2 ? 1 - i : i] = tensors[i].numel();
    grids.push_back(tensors[i].view(line).expand(shape));
  }
  return grids;
}

}  // namespace kernbench::torch
