#include "tensor/functions/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "kernbench/error.h"
#include "numerics/conversion.h"
#include "tensor/dimensions.h"
#include "tensor/promotion.h"

namespace kernbench::tensor {

using torch::Tensor;

void fail(const char* call, const std::string& what) {
  throw ValueError(fmt::format("{}: {}", call, what));
}

void fail_type(const char* call, DType type, const char* fix) {
  fail(call, fmt::format("not implemented for '{}'; {}", text_of(type), fix));
}

std::string describe(const Tensor& tensor) {
  const TensorImpl& impl = impl_of(tensor);
  return fmt::format("{} {} on {}", text_of(impl.sizes), text_of(impl.dtype), impl.device.str());
}

ComputePlace place_of(const char* call, std::span<const DeviceOperand> operands) {
  require_host_context(call);
  ComputePlace place;
  const Tensor* first = nullptr;
  bool host_with_dimensions = false;
  const Tensor* host = nullptr;
  for (const DeviceOperand& operand : operands) {
    const auto* tensor = std::get_if<Tensor>(&operand);
    if (tensor == nullptr) continue;
    const TensorImpl& impl = impl_of(*tensor);
    if (impl.device.is_cpu()) {
      host_with_dimensions = host_with_dimensions || !impl.sizes.empty();
      if (!impl.sizes.empty()) host = tensor;
    } else if (first == nullptr) {
      first = tensor;
      place = {impl.device, impl.policy};
    } else if (impl.device != place.device) {
      fail(call,
           fmt::format("Expected all tensors to be on the same device, but found at least two devices, {} and "
                       "{}: operands {} and {}; move one with .to(\"{}\")",
                       place.device.str(), impl.device.str(), describe(*first), describe(*tensor), place.device.str()));
    }
  }
  if (first != nullptr && host_with_dimensions) {
    fail(call, fmt::format("Expected all tensors to be on the same device, but found at least two devices, {} and cpu: "
                           "operands {} and {}; move the host tensor with .to(\"{}\")",
                           place.device.str(), describe(*first), describe(*host), place.device.str()));
  }
  return place;
}

ComputePlace place_of(const char* call, std::initializer_list<Tensor> tensors) {
  std::vector<DeviceOperand> operands(tensors.begin(), tensors.end());
  return place_of(call, operands);
}

DeviceOperations& device_kernels(const char* call) {
  return current_backend(call).operations();
}

Tensor new_result(const char* call, const ComputePlace& place, std::span<const std::int64_t> sizes, DType dtype) {
  if (!place.on_device()) return new_host_tensor(sizes, dtype);
  return new_device_tensor(current_backend(call), sizes, dtype, place.device, place.policy);
}

Tensor new_elementwise_result(const char* call, const ComputePlace& place, std::span<const std::int64_t> sizes,
                              DType dtype, std::span<const DeviceOperand> operands) {
  Tensor result = new_result(call, place, sizes, dtype);
  if (place.on_device()) return result;
  std::vector<HostArray> arrays;
  for (const DeviceOperand& operand : operands) arrays.push_back(array_without_data(operand, sizes));
  impl_of(result).strides = elementwise_strides(sizes, arrays);
  return result;
}

Extents broadcast_shape(const char* call, std::span<const DeviceOperand> operands) {
  Extents shape;
  for (const DeviceOperand& operand : operands) {
    const auto* tensor = std::get_if<Tensor>(&operand);
    if (tensor == nullptr) continue;
    try {
      shape = broadcast_sizes(shape, impl_of(*tensor).sizes);
    } catch (const ValueError& error) {
      fail(call, error.what());
    }
  }
  return shape;
}

torch::Scalar host_number(const Tensor& tensor) {
  return tensor.item();
}

DeviceOperand device_operand(const DeviceOperand& operand, std::span<const std::int64_t> sizes) {
  const auto* tensor = std::get_if<Tensor>(&operand);
  if (tensor == nullptr) return operand;
  if (tensor->is_cpu()) return host_number(*tensor);
  return tensor->expand({sizes.data(), sizes.size()});
}

namespace {

bool same_view(const TensorImpl& a, const TensorImpl& b) {
  return a.storage == b.storage && a.offset == b.offset && a.sizes == b.sizes && a.strides == b.strides &&
         a.dtype == b.dtype;
}

/// First and last element of a view, in elements of its storage.
std::pair<std::int64_t, std::int64_t> span_of(const TensorImpl& impl) {
  std::int64_t last = impl.offset;
  for (std::size_t d = 0; d < impl.sizes.size(); ++d) last += (impl.sizes[d] - 1) * impl.strides[d];
  return {impl.offset, last};
}

/// Whether distance = sum of k[d] * strides[d] with |k[d]| < sizes[d] has a solution, from dimension `at` on.
bool reachable(std::int64_t distance, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  if (sizes.empty()) return distance == 0;
  if (strides[0] == 0 || sizes[0] == 1) return reachable(distance, sizes.subspan(1), strides.subspan(1));
  const std::int64_t near = distance / strides[0];
  for (const std::int64_t k : {near - 1, near, near + 1}) {
    if (std::abs(k) < sizes[0] && reachable(distance - k * strides[0], sizes.subspan(1), strides.subspan(1)))
      return true;
  }
  return false;
}

/// Whether each stride goes beyond all that the smaller ones reach, and they descend.
bool nested(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  std::int64_t reach = 0;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (strides[d] <= reach) return false;
    reach += (sizes[d] - 1) * strides[d];
  }
  return true;
}

/// Whether writing `out` element by element may change an element of `in` before it is read. Never false when it may.
bool overlaps_partly(const TensorImpl& out, const TensorImpl& in) {
  if (out.storage != in.storage || same_view(out, in) || out.numel() == 0 || in.numel() == 0) return false;
  const auto [first, last] = span_of(out);
  const auto [other_first, other_last] = span_of(in);
  if (first > other_last || other_first > last) return false;
  if (out.sizes != in.sizes || out.strides != in.strides || !nested(out.sizes, out.strides)) return true;
  return reachable(out.offset - in.offset, out.sizes, out.strides);
}

bool both_contiguous(const TensorImpl& a, const TensorImpl& b) {
  return a.is_contiguous() && b.is_contiguous();
}

}  // namespace

void check_in_place(const char* call, const Tensor& out, std::span<const std::int64_t> shape, DType type,
                    std::span<const DeviceOperand> operands) {
  const TensorImpl& target = impl_of(out);
  if (!std::ranges::equal(target.sizes, shape)) {
    fail(call, fmt::format("output with shape {} doesn't match the broadcast shape {}; an in-place function keeps its "
                           "tensor's shape",
                           text_of(target.sizes), text_of(shape)));
  }
  if (!can_cast(type, target.dtype)) {
    fail(call, fmt::format("result type {} can't be cast to the desired output type {}; use the form that returns a "
                           "new tensor, or convert with .to(…) first",
                           text_of(type), text_of(target.dtype)));
  }
  for (std::size_t d = 0; d < target.sizes.size(); ++d) {
    if (target.sizes[d] > 1 && target.strides[d] == 0) {
      fail(call,
           "unsupported operation: more than one element of the written-to tensor refers to a single memory "
           "location. Please clone() the tensor before performing the operation.");
    }
  }
  for (const DeviceOperand& operand : operands) {
    const auto* tensor = std::get_if<Tensor>(&operand);
    if (tensor != nullptr && both_contiguous(target, impl_of(*tensor)) && overlaps_partly(target, impl_of(*tensor))) {
      fail(call,
           "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
           "memory location. Please clone() the tensor before performing the operation.");
    }
  }
}

DeviceOperand apart(const Tensor& out, const DeviceOperand& operand) {
  const auto* tensor = std::get_if<Tensor>(&operand);
  return tensor != nullptr && overlaps_partly(impl_of(out), impl_of(*tensor)) ? tensor->clone() : operand;
}

void check_floats(const char* call, const torch::Tensor& x) {
  if (!x.is_floating_point()) fail_type(call, x.scalar_type(), "convert to a floating-point type first");
}

void check_same_types(const char* call, const torch::Tensor& expected, const torch::Tensor& found) {
  if (expected.scalar_type() == found.scalar_type()) return;
  fail(call, fmt::format("expected scalar type {} but found {}; convert one with .to(…)",
                         text_of(expected.scalar_type()), text_of(found.scalar_type())));
}

}  // namespace kernbench::tensor
