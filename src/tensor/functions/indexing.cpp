// index, index_put_, index_select, gather, nonzero, masked_select of kernbench/torch/tensor.h.
#include "kernbench/torch/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "numerics/conversion.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"
#include "tensor/strided.h"

namespace kernbench::torch {

namespace indexing {

TensorIndex::TensorIndex(const char* text) : kind_(Kind::ellipsis) {
  if (std::string_view(text) != "...")
    throw ValueError(fmt::format("Expected \"...\" to represent an ellipsis index, but got \"{}\"", text));
}

}  // namespace indexing

using indexing::TensorIndex;
using tensor::Extents;
using tensor::impl_of;
using tensor::TensorImpl;

namespace {

/// The elements of an index tensor on the host, row-major.
std::vector<std::int64_t> index_values(const Tensor& index) {
  const Tensor dense = index.contiguous();
  std::vector<std::int64_t> values(static_cast<std::size_t>(dense.numel()));
  numerics::convert(kLong, reinterpret_cast<std::byte*>(values.data()), dense.scalar_type(), impl_of(dense).data(),
                    dense.numel());
  return values;
}

/// 0 <= index < extent; negative indices count from the end.
std::int64_t checked_index(std::int64_t index, std::int64_t extent, std::size_t dimension) {
  if (index < -extent || index >= extent) {
    throw IndexError(fmt::format("index {} is out of bounds for dimension {} with size {}", index, dimension, extent));
  }
  return index < 0 ? index + extent : index;
}

/// Where a mask is true: one list of indices for each of its dimensions.
std::vector<Tensor> positions_of(const Tensor& mask) {
  const std::vector<std::int64_t> values = index_values(mask);
  const auto rank = static_cast<std::size_t>(mask.dim());
  std::vector<std::vector<std::int64_t>> lists(rank);
  Extents at(rank, 0);
  for (const std::int64_t value : values) {
    for (std::size_t d = 0; value != 0 && d < rank; ++d) lists[d].push_back(at[d]);
    for (std::size_t d = rank; d-- > 0;) {
      if (++at[d] < impl_of(mask).sizes[d]) break;
      at[d] = 0;
    }
  }
  std::vector<Tensor> result;
  for (const auto& list : lists) result.push_back(torch::tensor(list, kLong));
  return result;
}

/// A view by integers, slices, None and Ellipsis, and the tensors that are left to choose its elements.
struct Indexed {
  Tensor view;
  std::vector<std::optional<Tensor>> tensors;  // by dimension of the view
  bool by_boolean = false;                     // of a device: what is read so is no view
  bool advanced() const {
    return std::ranges::any_of(tensors, [](const auto& tensor) { return tensor.has_value(); });
  }
};

/// Takes a tensor's dimensions one after another as its indices say.
class Indexer {
 public:
  Indexer(const Tensor& tensor, std::span<const TensorIndex> indices) : tensor_(tensor), indexed_{tensor, {}, false} {
    std::int64_t taken = 0;
    for (const TensorIndex& index : indices) taken += dimensions_of(index);
    if (taken > tensor.dim())
      throw IndexError(fmt::format("too many indices for tensor of dimension {}: {} are given", tensor.dim(), taken));
    whole_ = tensor.dim() - taken;
    for (const TensorIndex& index : indices) apply(index);
    indexed_.tensors.resize(static_cast<std::size_t>(indexed_.view.dim()));
  }
  Indexed result() { return std::move(indexed_); }

 private:
  static std::int64_t dimensions_of(const TensorIndex& index) {
    switch (index.kind()) {
      case TensorIndex::Kind::integer:
      case TensorIndex::Kind::slice:
        return 1;
      case TensorIndex::Kind::tensor:
        // A mask stands for as many dimensions as it has.
        return index.tensor().scalar_type() == kBool ? index.tensor().dim() : 1;
      default:
        return 0;
    }
  }

  void apply(const TensorIndex& index) {
    switch (index.kind()) {
      case TensorIndex::Kind::none:
        indexed_.view = indexed_.view.unsqueeze(at_++);
        break;
      case TensorIndex::Kind::ellipsis:
        at_ += std::exchange(whole_, 0);
        break;
      case TensorIndex::Kind::integer:
        take(index.integer());
        break;
      case TensorIndex::Kind::boolean:
        take_boolean(index.integer() != 0);
        break;
      case TensorIndex::Kind::slice:
        if (index.slice().step() < 0)
          throw ValueError("index: a slice's step must be positive; a reversed order needs a tensor of indices");
        indexed_.view = indexed_.view.slice(at_++, index.slice().start(), index.slice().stop(), index.slice().step());
        break;
      case TensorIndex::Kind::tensor:
        take_tensor(index.tensor());
        break;
    }
  }

  void take(std::int64_t index) {
    const std::int64_t extent = indexed_.view.size(at_);
    checked_index(index, extent, static_cast<std::size_t>(at_));
    indexed_.view = indexed_.view.select(at_, index);
  }

  void record(const Tensor& index) {
    indexed_.tensors.resize(static_cast<std::size_t>(at_) + 1);
    indexed_.tensors[static_cast<std::size_t>(at_++)] = index;
  }

  // On a device no list of indices is made for it: its dimension is there, or empty.
  void take_boolean(bool kept) {
    indexed_.view = indexed_.view.unsqueeze(at_);
    if (tensor_.is_cpu()) return record(kept ? torch::zeros({1}, kLong) : torch::zeros({0}, kLong));
    if (!kept) indexed_.view = indexed_.view.slice(at_, 0, 0);
    indexed_.by_boolean = true;
    ++at_;
  }

  void take_tensor(const Tensor& index) {
    const ScalarType type = index.scalar_type();
    if (type != kBool && type != kLong && type != kInt) {
      throw IndexError(
          fmt::format("tensors used as indices must be long, int or bool tensors, not {}; convert with "
                      ".to(torch::kLong)",
                      tensor::text_of(type)));
    }
    if (index.dim() == 0) {
      const Scalar value = index.item();
      return type == kBool ? take_boolean(value.toBool()) : take(value.toLong());
    }
    if (type != kBool) return record(index);
    if (!index.is_cpu()) {
      throw ValueError(
          "index: a mask on a device would make a tensor whose size only the device knows; use torch::where or "
          "masked_fill, or take the mask to the host with .cpu()");
    }
    for (std::int64_t d = 0; d < index.dim(); ++d) {
      if (index.size(d) == indexed_.view.size(at_ + d)) continue;
      throw IndexError(
          fmt::format("The shape of the mask {} at index {} does not match the shape of the indexed "
                      "tensor {} at index {}",
                      tensor::text_of(impl_of(index).sizes), d, tensor::text_of(impl_of(tensor_).sizes), at_ + d));
    }
    for (const Tensor& positions : positions_of(index)) record(positions);
  }

  Tensor tensor_;
  Indexed indexed_;
  std::int64_t whole_ = 0;  // dimensions that an ellipsis stands for
  std::int64_t at_ = 0;     // next dimension of the view
};

/// The elements that tensors of indices choose: for each position of the broadcast indices, an offset into the view,
/// and the dimensions that no tensor indexes.
struct Choice {
  Extents positions;                  // shape of the broadcast indices
  std::vector<std::int64_t> offsets;  // in elements, row-major over `positions`
  Extents rest_sizes, rest_strides;   // the other dimensions of the view
  std::size_t place = 0;              // where among them the dimensions of `positions` go

  Extents shape() const {
    Extents result(rest_sizes.begin(), rest_sizes.begin() + static_cast<std::ptrdiff_t>(place));
    result.insert(result.end(), positions.begin(), positions.end());
    result.insert(result.end(), rest_sizes.begin() + static_cast<std::ptrdiff_t>(place), rest_sizes.end());
    return result;
  }
};

Extents broadcast_positions(const Indexed& indexed) {
  Extents positions;
  for (const auto& tensor : indexed.tensors) {
    if (!tensor) continue;
    try {
      positions = tensor::broadcast_sizes(positions, impl_of(*tensor).sizes);
    } catch (const ValueError&) {
      throw IndexError(
          fmt::format("shape mismatch: indexing tensors could not be broadcast together with shapes {}, {}",
                      tensor::text_of(positions), tensor::text_of(impl_of(*tensor).sizes)));
    }
  }
  return positions;
}

Choice chosen_elements(const Indexed& indexed) {
  const TensorImpl& view = impl_of(indexed.view);
  Choice choice{.positions = broadcast_positions(indexed), .offsets = {}, .rest_sizes = {}, .rest_strides = {}};
  std::int64_t count = 1;
  for (const std::int64_t extent : choice.positions) count *= extent;
  choice.offsets.assign(static_cast<std::size_t>(count), 0);
  std::vector<std::size_t> at;
  for (std::size_t d = 0; d < view.sizes.size(); ++d) {
    if (!indexed.tensors[d]) {
      choice.rest_sizes.push_back(view.sizes[d]);
      choice.rest_strides.push_back(view.strides[d]);
      continue;
    }
    if (at.empty()) choice.place = choice.rest_sizes.size();
    at.push_back(d);
    const auto values = index_values(indexed.tensors[d]->cpu().expand(choice.positions));
    for (std::size_t i = 0; i < values.size(); ++i)
      choice.offsets[i] += checked_index(values[i], view.sizes[d], d) * view.strides[d];
  }
  // Indices with other dimensions between them put their own dimensions first.
  if (at.back() - at.front() + 1 != at.size()) choice.place = 0;
  return choice;
}

/// Row-major strides of a dense tensor of `choice.shape()`, with those of the positions apart.
struct ResultStrides {
  Extents positions, rest;
};
ResultStrides result_strides(const Choice& choice) {
  const Extents strides = tensor::dense_strides(choice.shape());
  ResultStrides result;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const bool position = d >= choice.place && d < choice.place + choice.positions.size();
    (position ? result.positions : result.rest).push_back(strides[d]);
  }
  return result;
}

/// Calls visit(offset in the view, offset in a dense tensor of the choice's shape) for each position.
template <class Visit>
void for_each_position(const Choice& choice, const ResultStrides& strides, Visit&& visit) {
  Extents at(choice.positions.size(), 0);
  std::int64_t dense = 0;
  for (const std::int64_t offset : choice.offsets) {
    visit(offset, dense);
    for (std::size_t d = at.size(); d-- > 0;) {
      dense += strides.positions[d];
      if (++at[d] < choice.positions[d]) break;
      dense -= strides.positions[d] * choice.positions[d];
      at[d] = 0;
    }
  }
}

Tensor taken(const Indexed& indexed) {
  const Choice choice = chosen_elements(indexed);
  const TensorImpl& view = impl_of(indexed.view);
  const Tensor out = tensor::new_host_tensor(choice.shape(), view.dtype);
  const ResultStrides strides = result_strides(choice);
  const std::int64_t item = item_size(view.dtype);
  for_each_position(choice, strides, [&](std::int64_t from, std::int64_t to) {
    tensor::copy_strided({impl_of(out).data() + to * item, strides.rest},
                         {view.data() + from * item, choice.rest_strides}, choice.rest_sizes, item);
  });
  return out;
}

/// Those of `list`, of one dimension, along dimension `at` of a device tensor; `from_end`: negative ones count from
/// there.
Tensor selected_on_device(const char* call, const Tensor& x, std::size_t at, const Tensor& list, bool from_end) {
  Extents sizes = impl_of(x).sizes;
  sizes[at] = list.numel();
  Tensor out = tensor::new_result(call, tensor::place_of(call, {x, list}), sizes, x.scalar_type());
  if (out.numel() != 0)
    tensor::device_kernels(call).index_select(x, static_cast<std::int64_t>(at), list, from_end, out);
  return out;
}

/// One device tensor of indices along one dimension is a kernel; anything more is refused.
Tensor taken_on_device(const Indexed& indexed) {
  std::optional<std::size_t> at;
  for (std::size_t d = 0; d < indexed.tensors.size(); ++d) {
    if (!indexed.tensors[d]) continue;
    if (at) {
      tensor::fail("index",
                   "device tensors take one tensor of indices, not several; index step by step, or on the "
                   "host with .cpu()");
    }
    at = d;
  }
  const Tensor& index = *indexed.tensors[*at];
  const Tensor flat = selected_on_device("index", indexed.view, *at, index.reshape({-1}), true);
  Extents sizes = impl_of(flat).sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(*at));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(*at), impl_of(index).sizes.begin(),
               impl_of(index).sizes.end());
  return flat.view(sizes);
}

Tensor indexed_tensor(const Tensor& tensor, std::span<const TensorIndex> indices) {
  tensor::place_of("index", {tensor});
  const Indexed indexed = Indexer(tensor, indices).result();
  if (!indexed.advanced() && indexed.by_boolean) return indexed.view.clone();
  if (!indexed.advanced()) return indexed.view.is_same(tensor) ? tensor.alias() : indexed.view;
  return tensor.is_cpu() ? taken(indexed) : taken_on_device(indexed);
}

/// Whether it is a mask of a device, of the first dimensions of `tensor`.
bool is_device_mask(const Tensor& tensor, const TensorIndex& index) {
  if (index.kind() != TensorIndex::Kind::tensor || index.tensor().scalar_type() != kBool) return false;
  const Tensor& mask = index.tensor();
  return !tensor.is_cpu() && !mask.is_cpu() && mask.dim() > 0 && mask.dim() <= tensor.dim() &&
         std::ranges::equal(impl_of(mask).sizes, std::span(impl_of(tensor).sizes).first(impl_of(mask).sizes.size()));
}

/// One number in the place of all chosen elements, on a device.
void fill_on_device(const Indexed& indexed, const Tensor& number) {
  const auto chosen = std::ranges::find_if(indexed.tensors, [](const auto& each) { return each.has_value(); });
  if (number.numel() != 1 || std::ranges::count_if(indexed.tensors, [](const auto& t) { return t.has_value(); }) != 1) {
    tensor::fail("index_put_",
                 "a device tensor takes one number through one tensor of indices, not values or several of these; use "
                 "torch::where, masked_fill, index_add_ or slices");
  }
  indexed.view.index_fill_(chosen - indexed.tensors.begin(), (*chosen)->reshape({-1}), number.reshape({}));
}

/// `number`: what `value` was made of, if it was a number.
void write_indexed(const Tensor& tensor, std::span<const TensorIndex> indices, const Tensor& value,
                   const std::optional<Scalar>& number = std::nullopt) {
  tensor::place_of("index_put_", {tensor});
  const bool is_number = value.numel() == 1 && value.is_cpu();
  if (indices.size() == 1 && is_number && is_device_mask(tensor, indices.front())) {
    Tensor mask = indices.front().tensor();
    while (mask.dim() < tensor.dim()) mask = mask.unsqueeze(-1);
    tensor.masked_fill_(mask, value.item());
    return;
  }
  const Indexed indexed = Indexer(tensor, indices).result();
  if (!indexed.advanced()) {
    if (number)
      indexed.view.fill_(*number);
    else
      indexed.view.copy_(value);
    return;
  }
  if (!tensor.is_cpu()) return fill_on_device(indexed, value);
  if (value.scalar_type() != tensor.scalar_type()) {
    tensor::fail("index_put_",
                 fmt::format("Index put requires the source and destination dtypes match, got {} for "
                             "the destination and {} for the source.",
                             tensor::text_of(tensor.scalar_type()), tensor::text_of(value.scalar_type())));
  }
  const Choice choice = chosen_elements(indexed);
  const TensorImpl& view = impl_of(indexed.view);
  const Tensor source = value.cpu().expand(choice.shape()).contiguous();
  const ResultStrides strides = result_strides(choice);
  const std::int64_t item = item_size(view.dtype);
  for_each_position(choice, strides, [&](std::int64_t to, std::int64_t from) {
    tensor::copy_strided({view.data_to_write() + to * item, choice.rest_strides},
                         {impl_of(source).data() + from * item, strides.rest}, choice.rest_sizes, item);
  });
}

}  // namespace

Tensor Tensor::index(std::initializer_list<TensorIndex> indices, Where where) const {
  const tensor::HostCall here("index", where);
  return indexed_tensor(*this, std::span(indices.begin(), indices.size()));
}
Tensor Tensor::index(const std::vector<TensorIndex>& indices, Where where) const {
  const tensor::HostCall here("index", where);
  return indexed_tensor(*this, indices);
}
const Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& value, Where where) const {
  const tensor::HostCall here("index_put_", where);
  return write_indexed(*this, std::span(indices.begin(), indices.size()), value), *this;
}
const Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value, Where where) const {
  const tensor::HostCall here("index_put_", where);
  return write_indexed(*this, std::span(indices.begin(), indices.size()), torch::full({}, value, scalar_type()), value),
         *this;
}

Tensor Tensor::index_select(std::int64_t dimension, const Tensor& index, Where where) const {
  const tensor::HostCall here("index_select", where);
  const tensor::ComputePlace place =
      tensor::place_of("index_select", {*this, index.dim() == 0 ? index.reshape({1}) : index});
  const std::size_t at = tensor::wrap_dimension(dimension, impl_of(*this).sizes.size());
  if (index.dim() > 1)
    throw IndexError("index_select: Index is supposed to be a vector, not " + tensor::describe(index));
  if (index.scalar_type() != kLong && index.scalar_type() != kInt)
    tensor::fail_type("index_select", index.scalar_type(), "the index must be Int or Long");
  const Tensor list = index.reshape({-1});
  if (dim() == 0) return reshape({1}).index_select(0, index).reshape({});
  if (!place.on_device()) {
    std::vector<std::optional<Tensor>> tensors(static_cast<std::size_t>(dim()));
    tensors[at] = list;
    for (const std::int64_t value : index_values(list))
      if (value < 0) throw IndexError(fmt::format("index_select: index {} out of range in self", value));
    return taken({*this, tensors, false});
  }
  return selected_on_device("index_select", *this, at, list, false);
}

Tensor Tensor::gather(std::int64_t dimension, const Tensor& index, Where where) const {
  const tensor::HostCall here("gather", where);
  const tensor::ComputePlace place = tensor::place_of("gather", {*this, index});
  const std::size_t at = tensor::wrap_dimension(dimension, impl_of(*this).sizes.size());
  const Extents &sizes = impl_of(*this).sizes, &wanted = impl_of(index).sizes;
  if (index.scalar_type() != kLong && !(place.on_device() && index.scalar_type() == kInt))
    tensor::fail_type("gather", index.scalar_type(), "the index must be Long");
  if (wanted.size() != sizes.size()) {
    tensor::fail("gather", fmt::format("Index tensor must have the same number of dimensions as input tensor, but they "
                                       "are {} and {}",
                                       tensor::describe(index), tensor::describe(*this)));
  }
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d == at || wanted[d] <= sizes[d]) continue;
    tensor::fail("gather", fmt::format("Size does not match at dimension {} expected index {} to be smaller than self "
                                       "{} apart from dimension {}",
                                       d, tensor::text_of(wanted), tensor::text_of(sizes), dimension));
  }
  Tensor out = tensor::new_result("gather", place, wanted, scalar_type());
  if (out.numel() == 0) return out;
  if (place.on_device()) {
    tensor::device_kernels("gather").gather(*this, static_cast<std::int64_t>(at), index, out);
    return out;
  }
  const TensorImpl& from = impl_of(*this);
  const std::int64_t item = item_size(from.dtype);
  std::byte* next = impl_of(out).data();
  Extents position(sizes.size(), 0);
  for (const std::int64_t value : index_values(index)) {
    if (value < 0 || (!sizes.empty() && value >= sizes[at]))
      tensor::fail("gather",
                   fmt::format("index {} is out of bounds for dimension {} with size {}", value, at, sizes[at]));
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) offset += (d == at ? value : position[d]) * from.strides[d];
    tensor::copy_strided({next, {}}, {from.data() + offset * item, {}}, {}, item);
    next += item;
    for (std::size_t d = position.size(); d-- > 0;) {
      if (++position[d] < wanted[d]) break;
      position[d] = 0;
    }
  }
  return out;
}

Tensor Tensor::nonzero(Where where) const {
  const tensor::HostCall here("nonzero", where);
  if (tensor::place_of("nonzero", {*this}).on_device()) {
    tensor::fail("nonzero",
                 "its size depends on values that only the device knows; use torch::where or masked_fill, or take the "
                 "tensor to the host with .cpu()");
  }
  const Tensor mask = ne(0);
  const std::int64_t count = mask.sum().item<std::int64_t>();
  // One list for each dimension in memory, as PyTorch's.
  const Tensor lists = dim() == 0 ? torch::empty({0}, kLong) : cat(positions_of(mask));
  return lists.as_strided({count, dim()}, {1, count});
}

Tensor Tensor::masked_select(const Tensor& mask, Where where) const {
  const tensor::HostCall here("masked_select", where);
  const tensor::ComputePlace place = tensor::place_of("masked_select", {*this, mask});
  if (mask.scalar_type() != kBool)
    tensor::fail_type("masked_select", mask.scalar_type(), "the mask must be a bool tensor, as x > 0 is");
  if (place.on_device()) {
    tensor::fail("masked_select",
                 "its size depends on values that only the device knows; use torch::where or "
                 "masked_fill, or take the tensors to the host with .cpu()");
  }
  const Extents shape = tensor::broadcast_sizes(impl_of(*this).sizes, impl_of(mask).sizes);
  return expand(shape).reshape({-1}).index({mask.expand(shape).reshape({-1})});
}

}  // namespace kernbench::torch
