// scatter, scatter_add, index_fill, index_copy, take, put of kernbench/torch/tensor.h: writes at places that a tensor
// of indices says. On the host they are made of index_put_ over all elements in a line; a device adds: scatter_add
// along the dimension, the others by index_add.
#include <fmt/format.h>

#include <functional>

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
using tensor::text_of;

namespace {

Tensor at_least_a_line(const Tensor& x) {
  return x.dim() == 0 ? x.view({1}) : x;
}

std::string shape_of(const Tensor& tensor) {
  return text_of(impl_of(tensor).sizes);
}

void check_long(const char* call, const Tensor& index) {
  if (index.scalar_type() != kLong) {
    fail(call, fmt::format("Expected dtype int64 for index, but got {}; convert it with .to(torch::kLong)",
                           text_of(index.scalar_type())));
  }
}

void check_same_type(const char* call, const Tensor& x, const Tensor& source) {
  if (x.scalar_type() == source.scalar_type()) return;
  fail(call,
       fmt::format("Expected self.dtype to be equal to src.dtype, but they are {} and {}; convert one with .to(…)",
                   text_of(x.scalar_type()), text_of(source.scalar_type())));
}

/// 0 <= index < extent, in terms of one comparison: an index that is not becomes another one.
Tensor is_outside(const Tensor& index, std::int64_t extent) {
  return index.clamp(0, extent - 1).ne(index);
}

/// On the host, where the values are at hand.
void check_bounds(const Tensor& index, std::int64_t extent, std::size_t dimension) {
  if (!index.is_cpu() || index.numel() == 0) return;
  const Tensor outside = is_outside(index, extent);
  if (!outside.any().item<bool>()) return;
  throw IndexError(fmt::format("index {} is out of bounds for dimension {} with size {}",
                               index.masked_select(outside)[0].item<std::int64_t>(), dimension, extent));
}

/// Negative ones counted from the end.
Tensor wrapped(const Tensor& index, std::int64_t extent) {
  return tensor::where(index.lt(0), index.add(extent), index);
}

[[noreturn]] void fail_on_device(const char* call) {
  fail(call,
       "device tensors cannot be written through a tensor of indices; use torch::where, masked_fill, slices, or a "
       "function that adds, or compute on the host with .cpu()");
}

/// Where 1 is added on a device, of `count` places.
Tensor is_named(const Tensor& x, std::int64_t count, const Tensor& places) {
  const TensorOptions options = torch::dtype(kFloat).device(x.device());
  return torch::zeros({count}, options).index_add(0, places, torch::ones({places.numel()}, options)).gt(0);
}

// ---- scatter ---------------------------------------------------------------------------------------------------

/// How the elements of a source come to those of a tensor.
enum class Combine : std::uint8_t { replace, add, multiply };

/// A call of scatter, of tensors of one dimension at least.
struct Scatter {
  const char* call;
  Tensor x;
  std::size_t at;
  Tensor index, source;

  Scatter(const char* function, const Tensor& target, std::int64_t dimension, const Tensor& where, const Tensor& from)
      : call(function), x(at_least_a_line(target)), index(at_least_a_line(where)), source(at_least_a_line(from)) {
    tensor::place_of(call, {target, where, from});
    at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(x.dim()));
    check_long(call, index);
    check_same_type(call, x, source);
    if (index.dim() != x.dim()) fail(call, "Index tensor must have the same number of dimensions as self tensor");
    if (index.dim() != source.dim()) fail(call, "Index tensor must have the same number of dimensions as src tensor");
    for (std::size_t d = 0; d < impl_of(x).sizes.size(); ++d) {
      const std::int64_t wanted = impl_of(index).sizes[d];
      if ((d == at || wanted <= impl_of(x).sizes[d]) && wanted <= impl_of(source).sizes[d]) continue;
      fail(call, fmt::format("Expected index {} to be smaller than self {} apart from dimension {} and to be smaller "
                             "size than src {}",
                             shape_of(index), shape_of(x), at, shape_of(source)));
    }
    check_bounds(index, impl_of(x).sizes[at], at);
  }

  /// Of each index the place of its element in row-major order. On a device one that is none is -1, which the kernel
  /// that follows refuses.
  Tensor places() const {
    const Extents& sizes = impl_of(x).sizes;
    const Extents strides = tensor::dense_strides(sizes);
    Tensor result = index.mul(strides[at]);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (d == at) continue;
      Extents shape(sizes.size(), 1);
      shape[d] = index.size(static_cast<std::int64_t>(d));
      const Tensor line = torch::arange(shape[d], torch::dtype(kLong).device(index.device()));
      result = tensor::multiply_add(call, line.view(shape), strides[d], result);
    }
    if (!index.is_cpu()) result = tensor::where(is_outside(index, sizes[at]), -1, result);
    return result.reshape({-1});
  }

  /// The elements of the source that have an index, in its order.
  Tensor elements() const {
    Tensor result = source;
    for (std::int64_t d = 0; d < index.dim(); ++d) result = result.narrow(d, 0, index.size(d));
    return result.reshape({-1});
  }
};

/// line[places[i]] = function(line[places[i]], elements[i]), one after another, in double or in 64-bit integers.
template <class T, class Function>
void combine_on_host(const Tensor& line, const Tensor& places, const Tensor& elements, const Function& function) {
  tensor::Rows<std::int64_t> numbers(places, {true});
  tensor::Rows<T> sources(elements, {true}), targets(line, {true});
  const std::span<T> from = sources.read(0), to = targets.read(0);
  std::size_t next = 0;
  for (const std::int64_t place : numbers.read(0)) {
    T& target = to[static_cast<std::size_t>(place)];
    target = function(target, from[next++]);
  }
  tensor::write_elements<T>(line, 0, to);
}

void multiply_on_host(const Tensor& line, const Tensor& places, const Tensor& elements) {
  if (line.is_floating_point()) return combine_on_host<double>(line, places, elements, std::multiplies<>());
  combine_on_host<std::int64_t>(line, places, elements, [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  });
}

/// On a device, where an element is added to in the order of the indices along the dimension: nothing of another line
/// is, so that the lines are columns of sums, which all PEs share.
Tensor added_on_device(const Scatter& call) {
  const auto at = static_cast<std::int64_t>(call.at);
  if (!call.x.is_floating_point())
    tensor::fail_type(call.call, call.x.scalar_type(),
                      "a device adds in f32: convert, or compute on the host with .cpu()");
  const Tensor result = call.x.clone();
  Tensor named = result, terms = call.source.narrow(at, 0, call.index.size(at));
  for (std::int64_t d = 0; d < call.index.dim(); ++d) {
    if (d == at) continue;
    named = named.narrow(d, 0, call.index.size(d));
    terms = terms.narrow(d, 0, call.index.size(d));
  }
  named = named.movedim(at, 0);
  const std::int64_t rows = named.size(0), count = call.index.size(at), columns = call.index.numel() / count;
  if (rows == 0) throw IndexError(fmt::format("{}: index out of range in self, which has no element there", call.call));
  const Tensor sums =
      tensor::new_result(call.call, {.device = call.x.device(), .policy = {}}, std::vector{rows, columns}, kFloat);
  sums.copy_(named.reshape({rows, columns}));
  tensor::device_kernels(call.call).embedding_backward(terms.movedim(at, 0).reshape({count, columns}),
                                                       call.index.movedim(at, 0).reshape({count, columns}),
                                                       {.first = 0, .whole = rows, .call = "scatter_add"}, sums);
  named.copy_(sums.view(named.sizes()));
  return result;
}

Tensor scattered(const Scatter& call, Combine combine) {
  if (call.index.numel() == 0) return call.x.clone();
  const bool on_device = !call.x.is_cpu();
  if (on_device && combine != Combine::add) fail_on_device(call.call);
  if (on_device) return added_on_device(call);
  const Tensor line = call.x.clone().contiguous().view({-1}), places = call.places(), elements = call.elements();
  if (combine == Combine::replace)
    line.index_put_({places}, elements);
  else if (combine == Combine::add)
    line.index_add_(0, places, elements);
  else
    multiply_on_host(line, places, elements);
  return line.view(call.x.sizes());
}

/// A number in the place of a source.
Tensor as_source(const Tensor& x, const Tensor& index, const Scalar& value) {
  return torch::full({}, value, torch::dtype(x.scalar_type()).device(x.device())).expand(index.sizes());
}

Combine combination(const char* call, std::string_view reduce) {
  if (reduce == "add") return Combine::add;
  if (reduce == "multiply") return Combine::multiply;
  fail(call, "reduce argument must be either add or multiply.");
}

Tensor scattered(const char* call, const Tensor& x, std::int64_t dimension, const Tensor& index, const Tensor& source,
                 Combine combine) {
  return scattered(Scatter(call, x, dimension, index, source), combine).view(x.sizes());
}

Tensor scattered(const char* call, const Tensor& x, std::int64_t dimension, const Tensor& index, const Scalar& value,
                 Combine combine) {
  const Scatter scatter(call, x, dimension, index, as_source(x, index, value));
  if (x.is_cpu() || combine != Combine::replace || index.numel() == 0)
    return scattered(scatter, combine).view(x.sizes());
  const Tensor named = is_named(x, x.numel(), scatter.places()).view(x.sizes());
  return x.masked_fill(named, value);
}

/// What an in-place form may not be asked for is said before anything is computed.
void overwrite(const char* call, const Tensor& x, const std::function<Tensor()>& result) {
  tensor::check_in_place(call, x, impl_of(x).sizes, x.scalar_type(), {});
  x.copy_(result());
}

}  // namespace

Tensor Tensor::scatter(std::int64_t dimension, const Tensor& index, const Tensor& source, Where where) const {
  const tensor::HostCall here("scatter", where);
  return scattered("scatter", *this, dimension, index, source, Combine::replace);
}
Tensor Tensor::scatter(std::int64_t dimension, const Tensor& index, const Scalar& value, Where where) const {
  const tensor::HostCall here("scatter", where);
  return scattered("scatter", *this, dimension, index, value, Combine::replace);
}
Tensor Tensor::scatter(std::int64_t dimension, const Tensor& index, const Tensor& source, std::string_view reduce,
                       Where where) const {
  const tensor::HostCall here("scatter", where);
  return scattered("scatter", *this, dimension, index, source, combination("scatter", reduce));
}
Tensor Tensor::scatter(std::int64_t dimension, const Tensor& index, const Scalar& value, std::string_view reduce,
                       Where where) const {
  const tensor::HostCall here("scatter", where);
  return scattered("scatter", *this, dimension, index, value, combination("scatter", reduce));
}
const Tensor& Tensor::scatter_(std::int64_t dimension, const Tensor& index, const Tensor& source, Where where) const {
  const tensor::HostCall here("scatter_", where);
  overwrite("scatter_", *this,
            [&] { return scattered("scatter_", *this, dimension, index, source, Combine::replace); });
  return *this;
}
const Tensor& Tensor::scatter_(std::int64_t dimension, const Tensor& index, const Scalar& value, Where where) const {
  const tensor::HostCall here("scatter_", where);
  overwrite("scatter_", *this, [&] { return scattered("scatter_", *this, dimension, index, value, Combine::replace); });
  return *this;
}
const Tensor& Tensor::scatter_(std::int64_t dimension, const Tensor& index, const Tensor& source,
                               std::string_view reduce, Where where) const {
  const tensor::HostCall here("scatter_", where);
  overwrite("scatter_", *this,
            [&] { return scattered("scatter_", *this, dimension, index, source, combination("scatter_", reduce)); });
  return *this;
}
const Tensor& Tensor::scatter_(std::int64_t dimension, const Tensor& index, const Scalar& value,
                               std::string_view reduce, Where where) const {
  const tensor::HostCall here("scatter_", where);
  overwrite("scatter_", *this,
            [&] { return scattered("scatter_", *this, dimension, index, value, combination("scatter_", reduce)); });
  return *this;
}
Tensor Tensor::scatter_add(std::int64_t dimension, const Tensor& index, const Tensor& source, Where where) const {
  const tensor::HostCall here("scatter_add", where);
  return scattered("scatter_add", *this, dimension, index, source, Combine::add);
}
const Tensor& Tensor::scatter_add_(std::int64_t dimension, const Tensor& index, const Tensor& source,
                                   Where where) const {
  const tensor::HostCall here("scatter_add_", where);
  overwrite("scatter_add_", *this,
            [&] { return scattered("scatter_add_", *this, dimension, index, source, Combine::add); });
  return *this;
}

// ---- slices by index -------------------------------------------------------------------------------------------

namespace {

void check_list(const char* call, const Tensor& index) {
  check_long(call, index);
  if (index.dim() > 1)
    fail(call, fmt::format("Index has to be a vector/scalar, but it is {}", tensor::describe(index)));
}

/// `x` with the chosen slices filled; `value` has no dimensions.
Tensor filled(const char* call, const Tensor& given, std::int64_t dimension, const Tensor& index, const Tensor& value) {
  tensor::place_of(call, {given, index, value});
  check_list(call, index);
  if (value.dim() != 0) {
    fail(call,
         fmt::format("only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).", value.dim()));
  }
  const Tensor x = at_least_a_line(given), list = index.reshape({-1});
  const std::size_t at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(x.dim()));
  if (list.numel() == 0) return given.clone();
  if (x.is_cpu()) {
    const Tensor result = x.clone();
    result.movedim(static_cast<std::int64_t>(at), 0).index_put_({list}, value.to(x.scalar_type()));
    return result.view(given.sizes());
  }
  Extents shape(static_cast<std::size_t>(x.dim()), 1);
  shape[at] = x.size(static_cast<std::int64_t>(at));
  const Tensor named = is_named(x, shape[at], wrapped(list, shape[at])).view(shape);
  return x.masked_fill(named, value).view(given.sizes());
}

Tensor number(const Tensor& x, const Scalar& value) {
  return torch::full({}, value, x.scalar_type());
}

}  // namespace

Tensor Tensor::index_fill(std::int64_t dimension, const Tensor& index, const Scalar& value, Where where) const {
  const tensor::HostCall here("index_fill", where);
  return filled("index_fill", *this, dimension, index, number(*this, value));
}
Tensor Tensor::index_fill(std::int64_t dimension, const Tensor& index, const Tensor& value, Where where) const {
  const tensor::HostCall here("index_fill", where);
  return filled("index_fill", *this, dimension, index, value);
}
const Tensor& Tensor::index_fill_(std::int64_t dimension, const Tensor& index, const Scalar& value, Where where) const {
  const tensor::HostCall here("index_fill_", where);
  return index_fill_(dimension, index, number(*this, value));
}
const Tensor& Tensor::index_fill_(std::int64_t dimension, const Tensor& index, const Tensor& value, Where where) const {
  const tensor::HostCall here("index_fill_", where);
  overwrite("index_fill_", *this, [&] { return filled("index_fill_", *this, dimension, index, value); });
  return *this;
}

Tensor Tensor::index_copy(std::int64_t dimension, const Tensor& index, const Tensor& source, Where where) const {
  const tensor::HostCall here("index_copy", where);
  Tensor result = clone();
  return result.index_copy_(dimension, index, source);
}

const Tensor& Tensor::index_copy_(std::int64_t dimension, const Tensor& index, const Tensor& source,
                                  Where where) const {
  constexpr const char* kCall = "index_copy_";
  const tensor::HostCall here(kCall, where);
  const tensor::ComputePlace place = tensor::place_of(kCall, {*this, index, source});
  check_list(kCall, index);
  check_same_type(kCall, *this, source);
  tensor::check_in_place(kCall, *this, impl_of(*this).sizes, scalar_type(), {});
  const Tensor x = at_least_a_line(*this), list = index.reshape({-1});
  const Tensor from = source.dim() == 0 ? source.expand({list.numel()}) : source;
  const std::size_t at = tensor::wrap_dimension(dimension, static_cast<std::size_t>(x.dim()));
  Extents expected = impl_of(x).sizes;
  expected[at] = list.numel();
  if (impl_of(from).sizes != expected) {
    fail(kCall, fmt::format("the source must have the sizes of self, and along dimension {} as many as there are "
                            "indices: {}, but is {}",
                            at, text_of(expected), tensor::describe(source)));
  }
  if (list.numel() == 0) return *this;
  if (place.on_device()) fail_on_device(kCall);
  const auto along = static_cast<std::int64_t>(at);
  check_bounds(list, x.size(along), at);
  x.movedim(along, 0).index_put_({list}, from.movedim(along, 0).clone());
  return *this;
}

// ---- elements by their place -----------------------------------------------------------------------------------

Tensor Tensor::take(const Tensor& index, Where where) const {
  const tensor::HostCall here("take", where);
  tensor::place_of("take", {*this, index});
  check_long("take", index);
  if (numel() == 0 && index.numel() != 0) throw IndexError("take(): tried to take from an empty tensor");
  if (index.numel() == 0) return torch::empty(index.sizes(), torch::dtype(scalar_type()).device(device()));
  return reshape({-1}).index({index.reshape({-1})}).view(index.sizes());
}

Tensor Tensor::put(const Tensor& index, const Tensor& source, bool accumulate, Where where) const {
  constexpr const char* kCall = "put_";
  const tensor::HostCall here("put", where);
  const tensor::ComputePlace place = tensor::place_of(kCall, {*this, index, source});
  check_long(kCall, index);
  check_same_type(kCall, *this, source);
  if (index.numel() != source.numel()) {
    fail(kCall, fmt::format("Expected source and index to have the same number of elements, but got source.numel() = "
                            "{}, index.numel() = {}",
                            source.numel(), index.numel()));
  }
  if (index.numel() == 0) return clone();
  if (numel() == 0) throw IndexError("put_(): Tried to put elements into an empty tensor");
  const Tensor line = clone().contiguous().view({-1}), places = wrapped(index.reshape({-1}), numel());
  check_bounds(places, numel(), 0);
  if (accumulate)
    line.index_add_(0, places, source.reshape({-1}));
  else if (place.on_device())
    fail_on_device(kCall);
  else
    line.index_put_({places}, source.reshape({-1}));
  return line.view(sizes());
}
const Tensor& Tensor::put_(const Tensor& index, const Tensor& source, bool accumulate, Where where) const {
  const tensor::HostCall here("put_", where);
  overwrite("put_", *this, [&] { return put(index, source, accumulate); });
  return *this;
}

}  // namespace kernbench::torch
