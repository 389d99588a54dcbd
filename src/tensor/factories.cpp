#include "kernbench/torch/factories.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "numerics/conversion.h"
#include "tensor/device_operations.h"
#include "tensor/dimensions.h"
#include "tensor/element.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"
#include "tensor/random.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch {

using tensor::Distribution;
using tensor::ElementSource;
using tensor::Generator;
using tensor::impl_of;
using tensor::RandomNumbers;
using tensor::TensorImpl;

namespace {

/// A tensor whose elements are not set yet.
Tensor allocate(IntArrayRef size, ScalarType dtype, const TensorOptions& options, const char* call) {
  tensor::require_host_context(call);
  tensor::check_sizes(size);
  const std::span sizes(size.begin(), size.size());
  if (options.device().is_cpu()) return tensor::new_host_tensor(sizes, dtype);
  return tensor::new_device_tensor(tensor::current_backend(call), sizes, dtype, options.device(),
                                   options.placement_opt().value_or(DPPolicy{}), options.name_or_empty());
}

Tensor allocate_like(const Tensor& other, const TensorOptions& options, const char* call) {
  tensor::require_host_context(call);
  return tensor::new_tensor_like(other, options.dtype_opt().value_or(other.scalar_type()),
                                 options.device_opt().value_or(other.device()), options.placement_opt(),
                                 options.name_or_empty(), call);
}

/// Sets the elements of a tensor that was just allocated, in the row-major order of `source`.
Tensor initialised(Tensor tensor, const ElementSource& source, const char* call) {
  const TensorImpl& impl = impl_of(tensor);
  if (impl.numel() == 0) return tensor;
  if (impl.storage->device) {
    tensor::current_backend(call).initialise(impl.storage->device, source);
  } else if (impl.is_contiguous()) {
    impl.storage->make_by(source, impl.dtype);
  } else {
    tensor.copy_(initialised(tensor::new_host_tensor(impl.sizes, impl.dtype), source, call));
  }
  return tensor;
}

Scalar largest_integer(ScalarType dtype) {
  switch (dtype) {
    case kBool:
      return {true};
    case kByte:
      return {UINT8_MAX};
    case kChar:
      return {INT8_MAX};
    case kInt:
      return {INT32_MAX};
    default:
      return {std::int64_t{INT64_MAX}};
  }
}

/// NaN or the largest integer, so that the use of an element that was never written shows.
Tensor poisoned(Tensor tensor) {
  const TensorImpl& impl = impl_of(tensor);
  if (impl.storage->device) return tensor;
  if (is_floating_point(impl.dtype)) {
    const auto source = [size = item_size(impl.dtype)](std::int64_t, std::int64_t count, std::byte* out) {
      std::memset(out, 0xFF, static_cast<std::size_t>(count * size));
    };
    impl.storage->make_by(source, impl.dtype);
    return tensor;
  }
  return tensor.fill_(largest_integer(impl.dtype));
}

void require_floating(ScalarType dtype, const char* call) {
  if (is_floating_point(dtype)) return;
  std::ostringstream text;
  text << call << " is not implemented for '" << dtype << "': use a floating-point dtype, or randint";
  throw ValueError(text.str());
}

/// The next numbers of the generator, one for each element.
Generator::Draw draw_for(const Tensor& tensor) {
  return tensor::current_generator().take(tensor.numel());
}

RandomNumbers normal_numbers(const char* name, Generator::Draw draw, ScalarType dtype) {
  return {name, Distribution::normal, false, draw, [=](std::int64_t first, std::int64_t count, std::byte* out) {
            tensor::fill_normal(draw, dtype, first, count, out);
          }};
}

RandomNumbers integers(const char* name, Generator::Draw draw, std::int64_t low, std::int64_t high, ScalarType dtype) {
  return {name, Distribution::integers, false, draw, [=](std::int64_t first, std::int64_t count, std::byte* out) {
            tensor::fill_integers(draw, low, high, dtype, first, count, out);
          }};
}

/// Makes the numbers on the device of `tensor`; false when it has none, or cannot.
bool random_on_device(const Tensor& tensor, const RandomNumbers& numbers, const char* call) {
  if (!impl_of(tensor).storage->device || tensor.numel() == 0) return false;
  return tensor::current_backend(call).operations().random(numbers, tensor);
}

/// A tensor that was just allocated.
Tensor random(const Tensor& tensor, const RandomNumbers& numbers, const char* call) {
  return random_on_device(tensor, numbers, call) ? tensor : initialised(tensor, numbers.elements, call);
}

Tensor random_uniform(const Tensor& tensor, const char* call) {
  require_floating(tensor.scalar_type(), call);
  return random(tensor, tensor::uniform_numbers("rand", draw_for(tensor), tensor.scalar_type()), call);
}

Tensor random_normal(const Tensor& tensor, const char* call) {
  require_floating(tensor.scalar_type(), call);
  return random(tensor, normal_numbers("randn", draw_for(tensor), tensor.scalar_type()), call);
}

/// Elements low + scale * x, computed in double and rounded once.
template <class Fill>
ElementSource scaled(const Fill& fill, double low, double scale, ScalarType dtype) {
  return [=](std::int64_t first, std::int64_t count, std::byte* out) {
    std::array<double, 1024> block;
    auto* const bytes = reinterpret_cast<std::byte*>(block.data());
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t n = std::min<std::int64_t>(count - done, static_cast<std::int64_t>(block.size()));
      fill(first + done, n, bytes);
      for (double& x : std::span(block).first(static_cast<std::size_t>(n))) x = low + scale * x;
      numerics::convert(dtype, out + done * item_size(dtype), kDouble, bytes, n);
      done += n;
    }
  };
}

/// Writes the numbers in row-major order; of host elements that nobody has looked at it makes none.
void write_all(const Tensor& tensor, const RandomNumbers& numbers, const char* call) {
  const TensorImpl& target = impl_of(tensor);
  const ElementSource& source = numbers.elements;
  if (target.storage->device) tensor::check_in_place(call, tensor, target.sizes, target.dtype, {});
  if (random_on_device(tensor, numbers, call)) return;
  if (!target.storage->device && !target.storage->is_made() && target.is_whole()) {
    target.storage->make_by(source, target.dtype);
  } else {
    tensor.copy_(initialised(tensor::new_host_tensor(target.sizes, target.dtype), source, call));
  }
}

Tensor random_integers(const Tensor& tensor, std::int64_t low, std::int64_t high, const char* call) {
  return random(tensor, integers("randint", draw_for(tensor), low, high, tensor.scalar_type()), call);
}

void check_range(std::int64_t low, std::int64_t high) {
  if (low >= high)
    throw ValueError(fmt::format("random_ expects 'from' to be less than 'to', but got from={} >= to={}", low, high));
}

/// One beyond the numbers that random_ draws: all that the type has, or counts up to exactly.
std::int64_t end_of_range(ScalarType type) {
  switch (type) {
    case kBool:
      return 2;
    case kByte:
      return std::int64_t{std::numeric_limits<std::uint8_t>::max()} + 1;
    case kChar:
      return std::int64_t{std::numeric_limits<std::int8_t>::max()} + 1;
    case kInt:
      return std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
    case kHalf:
      return (std::int64_t{1} << 11) + 1;
    case kBFloat16:
      return (std::int64_t{1} << 8) + 1;
    case kFloat:
      return (std::int64_t{1} << 24) + 1;
    case kDouble:
      return (std::int64_t{1} << 53) + 1;
    case kLong:
      return std::numeric_limits<std::int64_t>::max();
    default:
      tensor::fail_type("random_", type, "give a range");
  }
}

/// Elements first + i * step, computed as double or as 64-bit integers.
template <class T>
ElementSource ramp(T start, T step, ScalarType dtype) {
  return [=](std::int64_t first, std::int64_t count, std::byte* out) {
    std::array<T, 1024> block;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t n = std::min<std::int64_t>(count - done, static_cast<std::int64_t>(block.size()));
      for (std::int64_t i = 0; i < n; ++i)
        block[static_cast<std::size_t>(i)] = start + static_cast<T>(first + done + i) * step;
      numerics::convert(dtype, out + done * item_size(dtype), scalar_type_of<T>(),
                        reinterpret_cast<const std::byte*>(block.data()), n);
      done += n;
    }
  };
}

/// Made by the device where its 32-bit integers hold all elements and what they are counted from; else nothing happens.
bool ramp_on_device(const Tensor& out, const Scalar& start, const Scalar& step) {
  if (!out.device().is_ahbm() || out.numel() == 0) return false;
  const double from = start.toDouble(), by = step.toDouble(), to = from + by * static_cast<double>(out.numel());
  const auto fits = [](double value) { return std::abs(value) < 0x1p31 && value == std::floor(value); };
  if (!fits(from) || !fits(by) || !fits(to) || out.numel() >= std::int64_t{1} << 31) return false;
  return tensor::current_backend("arange").operations().ramp({"arange", from, by, true}, out);
}

/// Numbers of floats that the device makes in f32, where that counts them exactly; else nothing happens.
bool floats_on_device(const Tensor& out, const tensor::Ramp& ramp) {
  constexpr std::int64_t kCounted = std::int64_t{1} << 24;
  constexpr double kLargest = 1e38;  // of f32
  if (!out.device().is_ahbm() || !out.is_floating_point() || out.numel() == 0 || out.numel() > kCounted) return false;
  if (std::max({std::abs(ramp.start), std::abs(ramp.step), std::abs(ramp.end)}) > kLargest) return false;
  return tensor::current_backend(ramp.name).operations().ramp(ramp, out);
}

/// Number of elements of arange.
std::int64_t ramp_length(const Scalar& start, const Scalar& end, const Scalar& step, bool exact) {
  const double low = start.toDouble(), high = end.toDouble(), by = step.toDouble();
  if (by == 0) throw ValueError("step must be nonzero");
  if (!std::isfinite(low) || !std::isfinite(high))
    throw ValueError(fmt::format("unsupported range: {} -> {}", low, high));
  if (by > 0 ? high < low : high > low) throw ValueError("upper bound and larger bound inconsistent with step sign");
  if (exact) {
    const std::int64_t a = start.toLong(), b = end.toLong(), c = step.toLong();
    if (c == 0) throw ValueError("step must be nonzero");
    __extension__ using int128 = __int128;
    const int128 distance = static_cast<int128>(b) - a;
    const int128 count = (distance + c - (c > 0 ? 1 : -1)) / c;
    return static_cast<std::int64_t>(std::max<int128>(count, 0));
  }
  const double count = std::ceil((high - low) / by);
  if (!(count < 0x1p59))
    throw ValueError(fmt::format("invalid size, possible overflow? arange would have {} elements", count));
  return static_cast<std::int64_t>(count);
}

ScalarType inferred_type(const Scalar& value) {
  return value.isFloatingPoint() ? kFloat : value.type();
}

}  // namespace

Tensor empty(IntArrayRef size, const TensorOptions& options, Where where) {
  const tensor::HostCall here("empty", where);
  return poisoned(allocate(size, options.dtype(), options, "empty"));
}
Tensor zeros(IntArrayRef size, const TensorOptions& options, Where where) {
  const tensor::HostCall here("zeros", where);
  return allocate(size, options.dtype(), options, "zeros").fill_(0);
}
Tensor ones(IntArrayRef size, const TensorOptions& options, Where where) {
  const tensor::HostCall here("ones", where);
  return allocate(size, options.dtype(), options, "ones").fill_(1);
}
Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& options, Where where) {
  const tensor::HostCall here("full", where);
  const ScalarType dtype = options.dtype_opt().value_or(inferred_type(value));
  return allocate(size, dtype, options, "full").fill_(value);
}

Tensor arange(const Scalar& end, const TensorOptions& options, Where where) {
  const tensor::HostCall here("arange", where);
  return arange(0, end, 1, options);
}
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options, Where where) {
  const tensor::HostCall here("arange", where);
  return arange(start, end, 1, options);
}
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options, Where where) {
  const tensor::HostCall here("arange", where);
  tensor::require_host_context("arange");
  const bool integers = start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
  const ScalarType dtype = options.dtype_opt().value_or(integers ? kLong : kFloat);
  const std::int64_t length = ramp_length(start, end, step, integers || dtype == kLong);
  const ElementSource source = is_floating_point(dtype) ? ramp<double>(start.toDouble(), step.toDouble(), dtype)
                                                        : ramp<std::int64_t>(start.toLong(), step.toLong(), dtype);
  Tensor out = allocate({length}, dtype, options, "arange");
  if (ramp_on_device(out, start, step) ||
      floats_on_device(out, {.name = "arange", .start = start.toDouble(), .step = step.toDouble(), .turn = length}))
    return out;
  return initialised(out, source, "arange");
}

Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps, const TensorOptions& options, Where where) {
  const tensor::HostCall here("linspace", where);
  tensor::require_host_context("linspace");
  if (steps < 0) throw ValueError("number of steps must be non-negative");
  const ScalarType dtype = options.dtype_opt().value_or(kFloat);
  const double from = start.toDouble(), to = end.toDouble();
  const double step = steps > 1 ? (to - from) / static_cast<double>(steps - 1) : 0;
  // From both ends to the middle, so that the last number is `end` itself.
  const auto source = [=](std::int64_t first, std::int64_t count, std::byte* out) {
    for (std::int64_t i = first; i < first + count; ++i) {
      const double value = i < steps / 2 || steps == 1 ? from + step * static_cast<double>(i)
                                                       : to - step * static_cast<double>(steps - 1 - i);
      numerics::convert(dtype, out + (i - first) * item_size(dtype), kDouble,
                        reinterpret_cast<const std::byte*>(&value), 1);
    }
  };
  const Tensor out = allocate({steps}, dtype, options, "linspace");
  const tensor::Ramp ramp{
      .name = "linspace", .start = from, .step = step, .end = to, .turn = steps == 1 ? 1 : steps / 2};
  return floats_on_device(out, ramp) ? out : initialised(out, source, "linspace");
}

Tensor eye(std::int64_t n, const TensorOptions& options, Where where) {
  const tensor::HostCall here("eye", where);
  return eye(n, n, options);
}
Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& options, Where where) {
  const tensor::HostCall here("eye", where);
  Tensor out = allocate({n, m}, options.dtype(), options, "eye");
  if (out.device().is_ahbm()) {
    out.zero_();
    if (out.numel() != 0) out.diagonal().fill_(1);
    return out;
  }
  const auto one = tensor::element_of(options.dtype(), 1);
  const auto source = [=](std::int64_t first, std::int64_t count, std::byte* bytes) {
    std::memset(bytes, 0, static_cast<std::size_t>(count * one.size));
    for (std::int64_t i = first; i < first + count; ++i)
      if (i / m == i % m) std::memcpy(bytes + (i - first) * one.size, one.bytes.data(), one.span().size());
  };
  return initialised(out, source, "eye");
}

Tensor rand(IntArrayRef size, const TensorOptions& options, Where where) {
  const tensor::HostCall here("rand", where);
  return random_uniform(allocate(size, options.dtype(), options, "rand"), "rand");
}
Tensor randn(IntArrayRef size, const TensorOptions& options, Where where) {
  const tensor::HostCall here("randn", where);
  return random_normal(allocate(size, options.dtype(), options, "randn"), "randn");
}
Tensor randint(std::int64_t high, IntArrayRef size, const TensorOptions& options, Where where) {
  const tensor::HostCall here("randint", where);
  return randint(0, high, size, options);
}
Tensor randint(std::int64_t low, std::int64_t high, IntArrayRef size, const TensorOptions& options, Where where) {
  const tensor::HostCall here("randint", where);
  check_range(low, high);
  return random_integers(allocate(size, options.dtype_opt().value_or(kLong), options, "randint"), low, high, "randint");
}

const Tensor& Tensor::uniform_(double from, double to, Where where) const {
  const tensor::HostCall here("uniform_", where);
  require_floating(impl_of(*this).dtype, "uniform_");
  if (!(from <= to))
    throw ValueError(fmt::format("uniform_ expects to return a [from, to) range, but found from={} > to={}", from, to));
  const Generator::Draw draw = draw_for(*this);
  const auto fill = [=, type = dtype()](std::int64_t first, std::int64_t count, std::byte* out) {
    tensor::fill_uniform(draw, from, to, type, first, count, out);
  };
  return write_all(*this, {"uniform", Distribution::uniform, true, draw, fill}, "uniform_"), *this;
}

const Tensor& Tensor::normal_(double mean, double std, Where where) const {
  const tensor::HostCall here("normal_", where);
  require_floating(impl_of(*this).dtype, "normal_");
  if (!(std >= 0)) throw ValueError(fmt::format("normal_ expects std >= 0.0, but found std {}", std));
  const Generator::Draw draw = draw_for(*this);
  const auto fill = [=](std::int64_t first, std::int64_t count, std::byte* out) {
    tensor::fill_normal(draw, kDouble, first, count, out);
  };
  const ElementSource elements = scaled(fill, mean, std, dtype());
  return write_all(*this, {"normal", Distribution::normal, true, draw, elements}, "normal_"), *this;
}

const Tensor& Tensor::random_(std::int64_t from, std::optional<std::int64_t> to, Where where) const {
  const tensor::HostCall here("random_", where);
  const std::int64_t end = to.value_or(end_of_range(scalar_type()));
  if (from >= end) {
    tensor::fail("random_",
                 fmt::format("random_ expects 'from' to be less than 'to', but got from={} >= to={}", from, end));
  }
  return write_all(*this, integers("random", draw_for(*this), from, end, scalar_type()), "random_"), *this;
}
const Tensor& Tensor::random_(Where where) const {
  const tensor::HostCall here("random_", where);
  return random_(0, std::nullopt);
}

void manual_seed(std::uint64_t seed) {
  tensor::require_host_context("manual_seed");
  tensor::current_generator().set_seed(seed);
}

Tensor empty_like(const TensorOperand& other, const TensorOptions& options) {
  const tensor::HostCall here("empty_like", other.where);
  return poisoned(allocate_like(other.tensor, options, "empty_like"));
}
Tensor zeros_like(const TensorOperand& other, const TensorOptions& options) {
  const tensor::HostCall here("zeros_like", other.where);
  return allocate_like(other.tensor, options, "zeros_like").fill_(0);
}
Tensor ones_like(const TensorOperand& other, const TensorOptions& options) {
  const tensor::HostCall here("ones_like", other.where);
  return allocate_like(other.tensor, options, "ones_like").fill_(1);
}
Tensor full_like(const TensorOperand& other, const Scalar& value, const TensorOptions& options) {
  const tensor::HostCall here("full_like", other.where);
  return allocate_like(other.tensor, options, "full_like").fill_(value);
}
Tensor rand_like(const TensorOperand& other, const TensorOptions& options) {
  const tensor::HostCall here("rand_like", other.where);
  return random_uniform(allocate_like(other.tensor, options, "rand_like"), "rand_like");
}
Tensor randn_like(const TensorOperand& other, const TensorOptions& options) {
  const tensor::HostCall here("randn_like", other.where);
  return random_normal(allocate_like(other.tensor, options, "randn_like"), "randn_like");
}
Tensor randint_like(const TensorOperand& other, std::int64_t low, std::int64_t high, const TensorOptions& options) {
  const tensor::HostCall here("randint_like", other.where);
  check_range(low, high);
  return random_integers(allocate_like(other.tensor, options, "randint_like"), low, high, "randint_like");
}

namespace {

/// Memory of the caller's as it is to be seen.
struct Blob {
  std::shared_ptr<void> memory;
  bool read_only = false;
};

Blob blob_of(void* data, const std::function<void(void*)>& deleter) {
  return {deleter ? std::shared_ptr<void>(data, deleter) : std::shared_ptr<void>(data, [](void*) {})};
}
Blob blob_of(const void* data, const std::function<void(const void*)>& deleter) {
  void* memory = const_cast<void*>(data);  // NOLINT(cppcoreguidelines-pro-type-const-cast): nobody writes through it
  return {std::shared_ptr<void>(memory, [deleter](void* mine) { deleter ? deleter(mine) : void(); }), true};
}

Tensor tensor_of(Blob blob, IntArrayRef sizes, IntArrayRef strides, std::int64_t storage_offset,
                 const TensorOptions& options) {
  tensor::require_host_context("from_blob");
  tensor::check_sizes(sizes);
  if (!options.device().is_cpu())
    throw ValueError("from_blob: the memory is the host's; make a CPU tensor of it and copy it with .to(\"ahbm\")");
  if (strides.size() != sizes.size())
    throw ValueError(fmt::format("from_blob: {} strides for {} dimensions", strides.size(), sizes.size()));
  if (storage_offset < 0) throw ValueError(fmt::format("from_blob: the storage offset {} is negative", storage_offset));
  auto impl = std::make_shared<TensorImpl>();
  impl->dtype = options.dtype();
  impl->sizes = sizes.vec();
  impl->strides = strides.vec();
  impl->offset = storage_offset;
  std::int64_t last = storage_offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] < 0)
      throw ValueError(fmt::format("from_blob: stride {} of dimension {} is negative", strides[i], i));
    last += (sizes[i] - 1) * strides[i];
  }
  impl->storage = std::make_shared<tensor::Storage>();
  impl->storage->use(std::move(blob.memory));
  impl->storage->read_only = blob.read_only;
  impl->storage->host_bytes = impl->numel() == 0 ? 0 : (last + 1) * item_size(impl->dtype);
  return Tensor(std::move(impl));
}

tensor::Extents dense(IntArrayRef sizes) {
  return tensor::dense_strides({sizes.begin(), sizes.size()});
}

}  // namespace

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options, Where where) {
  const tensor::HostCall here("from_blob", where);
  return tensor_of(blob_of(data, {}), sizes, dense(sizes), 0, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options, Where where) {
  const tensor::HostCall here("from_blob", where);
  return tensor_of(blob_of(data, {}), sizes, strides, 0, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter, const TensorOptions& options,
                 Where where) {
  const tensor::HostCall here("from_blob", where);
  return tensor_of(blob_of(data, deleter), sizes, dense(sizes), 0, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const std::function<void(void*)>& deleter,
                 const TensorOptions& options, Where where) {
  const tensor::HostCall here("from_blob", where);
  return tensor_of(blob_of(data, deleter), sizes, strides, 0, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::int64_t storage_offset,
                 const std::function<void(void*)>& deleter, const TensorOptions& options, Where where) {
  const tensor::HostCall here("from_blob", where);
  return tensor_of(blob_of(data, deleter), sizes, strides, storage_offset, options);
}
Tensor from_blob(const void* data, IntArrayRef sizes, const TensorOptions& options, Where where) {
  const tensor::HostCall here("from_blob", where);
  return tensor_of(blob_of(data, {}), sizes, dense(sizes), 0, options);
}
Tensor from_blob(const void* data, IntArrayRef sizes, IntArrayRef strides,
                 const std::function<void(const void*)>& deleter, const TensorOptions& options, Where where) {
  const tensor::HostCall here("from_blob", where);
  return tensor_of(blob_of(data, deleter), sizes, strides, 0, options);
}

namespace detail {

TensorData::TensorData(std::initializer_list<TensorData> list) : sizes_{static_cast<std::int64_t>(list.size())} {
  if (list.size() == 0) return;
  const TensorData& first = *list.begin();
  type_ = first.type_;
  sizes_.insert(sizes_.end(), first.sizes_.begin(), first.sizes_.end());
  for (const TensorData& item : list) {
    std::ostringstream text;
    if (item.sizes_ != first.sizes_) {
      text << "Expected all sub-lists to have sizes: " << tensor::text_of(first.sizes_)
           << ", but got a sub-list with sizes: " << tensor::text_of(item.sizes_);
      throw ValueError(text.str());
    }
    if (item.type_ != first.type_) {
      text << "Expected all elements of the tensor to have the same scalar type: " << first.type_
           << ", but got element of scalar type: " << item.type_;
      throw ValueError(text.str());
    }
    values_.insert(values_.end(), item.values_.begin(), item.values_.end());
  }
}

}  // namespace detail

Tensor tensor(const detail::TensorData& data, const TensorOptions& options, Where where) {
  const tensor::HostCall here("tensor", where);
  // Integers become Long, floating-point values the default type, whatever their width in C++.
  const ScalarType given = data.type();
  const ScalarType inferred = given == kInt ? kLong : given == kDouble ? kFloat : given;
  const ScalarType dtype = options.dtype_opt().value_or(inferred);
  const auto source = [dtype, values = data.values()](std::int64_t first, std::int64_t count, std::byte* out) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto element = tensor::element_of(dtype, values[static_cast<std::size_t>(first + i)]);
      std::memcpy(out + i * element.size, element.bytes.data(), element.span().size());
    }
  };
  return initialised(allocate(data.sizes(), dtype, options, "tensor"), source, "tensor");
}

}  // namespace kernbench::torch
