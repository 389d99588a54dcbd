// Functions that copy or set elements: copy_, fill_, to, clone, contiguous.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "base/name_format.h"
#include "kernbench/torch/tensor.h"
#include "numerics/conversion.h"
#include "tensor/device_operations.h"
#include "tensor/device_view.h"
#include "tensor/dimensions.h"
#include "tensor/element.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tensor {

using torch::Tensor;

namespace {

/// Rows of a view, one after the other: all its dimensions but the last.
class ViewRows {
 public:
  explicit ViewRows(const TensorImpl& view) : sizes_(view.sizes), strides_(view.strides), offset_(view.offset) {}

  std::int64_t length() const { return sizes_.back(); }
  /// Where row `index` begins in the storage.
  std::int64_t begin(std::int64_t index) const {
    std::int64_t at = offset_;
    for (std::size_t d = sizes_.size() - 1; d-- > 0; index /= sizes_[d]) at += index % sizes_[d] * strides_[d];
    return at;
  }

 private:
  Extents sizes_, strides_;
  std::int64_t offset_;
};

/// To ask a source for a row costs about as much as to make so many elements. assumption
constexpr std::int64_t kAskedFor = 256;

/// The elements of a view in their row-major order, of those of its storage that `source` makes.
ElementSource viewed(ElementSource source, const TensorImpl& view) {
  return [source = std::move(source), rows = ViewRows(view), item = item_size(view.dtype)](
             std::int64_t first, std::int64_t count, std::byte* out) {
    for (std::int64_t at = first; at < first + count;) {
      const std::int64_t inside = at % rows.length(), n = std::min(rows.length() - inside, first + count - at);
      source(rows.begin(at / rows.length()) + inside, n, out + (at - first) * item);
      at += n;
    }
  };
}

/// What makes the elements of a view in their row-major order, and no others, where nobody has made them yet and that
/// takes no longer; else nothing.
ElementSource source_of(const TensorImpl& view) {
  if (!view.storage->may_be_source()) return {};
  if (view.is_whole()) return view.storage->source();
  if (view.numel() < Storage::kFewElements || view.strides.back() != 1) return {};
  const std::int64_t rows = view.numel() / view.sizes.back();
  if (rows * kAskedFor + view.numel() > view.storage->host_bytes / item_size(view.dtype)) return {};
  return viewed(view.storage->source(), view);
}

Tensor dense_host(const TensorImpl& source) {
  Tensor result = new_host_tensor(source.sizes, source.dtype);
  const TensorImpl& target = impl_of(result);
  if (ElementSource later = source_of(source))
    target.storage->make_from(*source.storage, std::move(later), source.dtype);
  else
    copy_strided({target.data(), target.strides}, {source.data(), source.strides}, source.sizes,
                 item_size(source.dtype));
  target.storage->left_out = source.storage->left_out;
  return result;
}

/// The elements that `source` makes, as another type.
ElementSource converting(ElementSource source, DType from, DType to) {
  if (from == to) return source;
  return [=, source = std::move(source)](std::int64_t first, std::int64_t count, std::byte* out) {
    constexpr std::int64_t kBlock = 4096;
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(count, kBlock) * item_size(from)));
    for (std::int64_t done = 0; done < count; done += kBlock) {
      const std::int64_t n = std::min(count - done, kBlock);
      source(first + done, n, block.data());
      numerics::convert(to, out + done * item_size(to), from, block.data(), n);
    }
  };
}

/// A dense host tensor as another element type. Of elements that nobody has made yet it makes none.
Tensor converted(const Tensor& dense, DType dtype) {
  const TensorImpl& source = impl_of(dense);
  if (source.dtype == dtype) return dense;
  Tensor result = new_host_tensor(source.sizes, dtype);
  if (ElementSource later = source_of(source))
    impl_of(result).storage->make_from(*source.storage, converting(std::move(later), source.dtype, dtype), dtype);
  else
    numerics::convert(dtype, impl_of(result).data(), source.dtype, source.data(), source.numel());
  impl_of(result).storage->left_out = source.storage->left_out;
  return result;
}

/// Elements that nobody has made yet are made where they go, once they are asked for. Returns whether they will be.
bool make_there(const TensorImpl& target, const TensorImpl& from) {
  if (target.storage->is_made() || !target.is_whole() || from.storage == target.storage) return false;
  ElementSource later = source_of(from);
  if (!later) return false;
  target.storage->make_from(*from.storage, converting(std::move(later), from.dtype, target.dtype), target.dtype);
  target.storage->left_out = from.storage->left_out;
  return true;
}

void write_host(const TensorImpl& target, const Tensor& source) {
  const TensorImpl& from = impl_of(source);
  if (make_there(target, from)) return;
  // The sides of a strided copy must not overlap.
  const bool direct = from.dtype == target.dtype && from.storage != target.storage;
  const Tensor values = direct ? source : converted(dense_host(from), target.dtype);
  const TensorImpl& in = impl_of(values);
  copy_strided({target.data_to_write(), target.strides}, {in.data(), in.strides}, target.sizes,
               item_size(target.dtype));
  if (from.storage->left_out) target.storage->left_out = true;
}

/// `tensor` with repeated elements once: dimensions of stride 0 have extent 1.
Tensor without_repeats(Tensor tensor) {
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) > 1 && tensor.stride(d) == 0) tensor = tensor.narrow(d, 0, 1);
  }
  return tensor;
}

/// From device to device, without the host: what does not fit is converted and packed by kernels on either side, so
/// that each element crosses once and in the smaller of the two types.
void copy_between_devices(const Tensor& to, const Tensor& source) {
  const TensorImpl& target = impl_of(to);
  if (source.scalar_type() == target.dtype && copy_view(target, impl_of(source), "copy_")) return;
  Tensor part = without_repeats(source);
  const bool narrow_source = item_size(part.scalar_type()) < item_size(target.dtype);
  const DType travels = narrow_source ? part.scalar_type() : target.dtype;
  DeviceBackend& backend = current_backend("copy_");
  std::optional<Extents> box = shape_of_one_box(impl_of(part));
  if (part.scalar_type() != travels || !box) {
    const TensorImpl& from = impl_of(part);
    box = from.sizes;
    part = new_device_tensor(backend, from.sizes, travels, from.device, from.policy).copy_(part);
  }
  if (part.sizes() == to.sizes() && travels == target.dtype && copy_view(target, impl_of(part), "copy_")) return;
  const Tensor arrived = new_device_tensor(backend, *box, travels, target.device, target.policy);
  [[maybe_unused]] const bool moved = copy_view(impl_of(arrived), impl_of(part), "copy_");
  assert(moved);
  to.copy_(arrived.view(part.sizes()).expand(to.sizes()));
}

void write_device(const Tensor& to, const Tensor& source) {
  const TensorImpl &target = impl_of(to), &from = impl_of(source);
  if (target.numel() == 0) return;
  if (from.storage == target.storage) {
    // A kernel reads and writes at once; elements that are both must be read first.
    const Tensor apart = source.clone();
    return write_device(to, apart);
  }
  if (from.device == target.device && current_backend("copy_").operations().copy(source, to)) return;
  if (from.storage->device && from.device != target.device && current_backend("copy_").connects_devices())
    return copy_between_devices(to, source);
  if (from.storage->device && from.dtype == target.dtype && copy_view(target, from, "copy_")) return;
  std::optional<Tensor> values;
  if (from.storage->device)
    values = try_host_copy(source, HostRead::copy_);
  else if (current_backend("copy_").data_enabled())
    values = host_copy(source, HostRead::copy_);
  if (values) values = converted(*values, target.dtype);
  write_view(target, values, "copy_");
}

/// A launch that repeats elements takes about as long as to upload so many bytes. An assumption.
constexpr std::int64_t kWorthRepeating = 1 << 17;

/// A host tensor that repeats in `to` is uploaded as it is; the device repeats it.
void write_repeated(const Tensor& to, const Tensor& source) {
  const TensorImpl& target = impl_of(to);
  const Tensor once =
      new_device_tensor(current_backend("copy_"), impl_of(source).sizes, target.dtype, target.device, DPPolicy{});
  write_device(once, source);
  write_device(to, once.expand(target.sizes));
}

void check_copy(const TensorImpl& target, const TensorImpl& source) {
  const Extents sizes = broadcast_sizes(target.sizes, source.sizes);
  if (sizes != target.sizes) {
    throw ValueError(fmt::format("output with shape {} doesn't match the broadcast shape {}", text_of(target.sizes),
                                 text_of(sizes)));
  }
  for (std::size_t i = 0; i < target.sizes.size(); ++i) {
    if (target.sizes[i] > 1 && target.strides[i] == 0) {
      throw ValueError(
          "unsupported operation: more than one element of the written-to tensor refers to a single memory "
          "location. Please clone() the tensor before performing the operation.");
    }
  }
}

/// Strides of a copy: those of `source` when its elements lie densely in some order of dimensions, else row-major.
Extents preserved_strides(const TensorImpl& source) {
  std::vector<std::size_t> order(source.sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(source.strides[i], i); });
  std::int64_t expected = 1;
  for (const std::size_t i : order) {
    if (source.sizes[i] == 1) continue;
    if (source.strides[i] != expected) return dense_strides(source.sizes);
    expected *= source.sizes[i];
  }
  return source.strides;
}

}  // namespace

Tensor new_tensor_like(const Tensor& other, DType dtype, torch::Device device, const std::optional<DPPolicy>& policy,
                       std::string name, const char* call) {
  const TensorImpl& source = impl_of(other);
  if (device.is_ahbm()) {
    return new_device_tensor(current_backend(call), source.sizes, dtype, device, policy.value_or(source.policy),
                             std::move(name));
  }
  Tensor result = new_host_tensor(source.sizes, dtype);
  impl_of(result).strides = preserved_strides(source);
  return result;
}

std::optional<Tensor> try_host_copy(const Tensor& tensor, HostRead why) {
  const TensorImpl& impl = impl_of(tensor);
  if (impl.storage->device) return try_read_view(impl, why);
  if (impl.storage->left_out && decides(why)) return std::nullopt;
  return impl.is_contiguous() ? tensor : dense_host(impl);
}

Tensor host_copy(const Tensor& tensor, HostRead why) {
  if (auto host = try_host_copy(tensor, why)) return *host;
  const auto& device = impl_of(tensor).storage->device;
  throw_no_values(why, device ? fmt::format("device tensor \"{}\"", device->descriptor()->name) : "a host tensor",
                  current_backend(name(why)).data_enabled());
}

}  // namespace kernbench::tensor

namespace kernbench::tensor {
namespace {

/// One element again and again.
ElementSource repeating(const Element& element) {
  return [element](std::int64_t, std::int64_t count, std::byte* out) {
    const Extents sizes{count}, next{1}, same{0};
    copy_strided({out, next}, {element.bytes.data(), same}, sizes, element.size);
  };
}

}  // namespace
}  // namespace kernbench::tensor

namespace kernbench::torch {

using tensor::impl_of;
using tensor::TensorImpl;

const Tensor& Tensor::copy_(const Tensor& source, Where where) const {
  const tensor::HostCall here("copy_", where);
  const tensor::TensorImpl& target = impl_of(*this);
  tensor::check_copy(target, impl_of(source));
  if (impl_ == source.impl_) return *this;
  if (target.storage->device) {
    const Tensor once = source.is_cpu() ? tensor::without_repeats(source) : source;
    if (source.is_cpu() && (numel() - once.numel()) * element_size() >= tensor::kWorthRepeating)
      tensor::write_repeated(*this, once);
    else
      tensor::write_device(*this, source.expand(target.sizes));
  } else {
    const Tensor host = source.is_cpu() ? source : tensor::host_copy(source, tensor::HostRead::copy_);
    tensor::write_host(target, host.expand(target.sizes));
  }
  return *this;
}

Tensor& Tensor::copy_(const Tensor& source, Where where) {
  const tensor::HostCall here("copy_", where);
  std::as_const(*this).copy_(source);
  return *this;
}

const Tensor& Tensor::copy_(const Tensor& source, bool non_blocking, Where where) const {
  const tensor::HostCall here("copy_", where);
  copy_(source);
  // The copy is the last command of the stream. One of no elements is no command, and waits for nothing.
  if (!non_blocking && source.is_cpu() && device().is_ahbm() && numel() > 0) {
    tensor::current_backend("copy_").synchronize_current_stream(device().index());
  }
  return *this;
}

Tensor& Tensor::copy_(const Tensor& source, bool non_blocking, Where where) {
  const tensor::HostCall here("copy_", where);
  std::as_const(*this).copy_(source, non_blocking);
  return *this;
}

const Tensor& Tensor::fill_(const Scalar& value, Where where) const {
  const tensor::HostCall here("fill_", where);
  const tensor::TensorImpl& target = impl_of(*this);
  const tensor::Element element = tensor::element_of(target.dtype, value);
  if (target.storage->device) {
    tensor::fill_view(target, element, "fill_");
    return *this;
  }
  if (!target.storage->is_made() && target.is_whole()) {
    target.storage->make_by(tensor::repeating(element), target.dtype);
    return *this;
  }
  const tensor::Extents same(target.sizes.size(), 0);
  tensor::copy_strided({target.data_to_write(), target.strides}, {element.bytes.data(), same}, target.sizes,
                       element.size);
  return *this;
}

Tensor& Tensor::fill_(const Scalar& value, Where where) {
  const tensor::HostCall here("fill_", where);
  std::as_const(*this).fill_(value);
  return *this;
}

Tensor Tensor::to(const TensorOptions& options, std::optional<bool> non_blocking, bool copy, Where where) const {
  const tensor::HostCall here("to", where);
  const tensor::TensorImpl& source = impl_of(*this);
  Device device = options.device_opt().value_or(source.device);
  if (device.is_ahbm() && !device.has_index()) device = Device(kAHBM, tensor::current_backend("to").current_device());
  const ScalarType type = options.dtype_opt().value_or(source.dtype);
  const bool same_device = device.is_ahbm() ? device == source.device : source.device.is_cpu();
  const bool same_place = !device.is_ahbm() || options.placement_opt().value_or(source.policy) == source.policy;
  if (!copy && same_device && same_place && type == source.dtype) return *this;
  if (device.is_cpu() && !source.device.is_cpu()) {
    const Tensor host = tensor::host_copy(*this, type == source.dtype ? tensor::HostRead::cpu : tensor::HostRead::to);
    return tensor::converted(host, type);
  }
  if (device.is_cpu() && type != source.dtype && source.storage->source() && source.is_whole()) {
    return tensor::converted(*this, type);
  }
  Tensor result = tensor::new_tensor_like(*this, type, device, options.placement_opt(), options.name_or_empty(), "to");
  return non_blocking ? result.copy_(*this, *non_blocking) : result.copy_(*this);
}

Tensor Tensor::clone(Where where) const {
  const tensor::HostCall here("clone", where);
  Tensor result = tensor::new_tensor_like(*this, scalar_type(), device(), std::nullopt, {}, "clone");
  return result.copy_(*this);
}

Tensor Tensor::contiguous(Where where) const {
  const tensor::HostCall here("contiguous", where);
  const tensor::TensorImpl& source = impl_of(*this);
  if (source.is_contiguous()) return *this;
  if (source.device.is_cpu()) return tensor::dense_host(source);
  return clone();
}

}  // namespace kernbench::torch
