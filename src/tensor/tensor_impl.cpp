#include "tensor/tensor_impl.h"

#include <functional>
#include <numeric>

#include "base/aligned_bytes.h"
#include "kernbench/error.h"
#include "tensor/strided.h"

namespace kernbench::tensor {

std::int64_t TensorImpl::numel() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::byte* Storage::host() {
  if (host_) return static_cast<std::byte*>(host_.get());
  const std::shared_ptr<std::byte> memory = AlignedBytes(host_bytes).share();
  host_ = memory;
  if (const auto source = std::exchange(source_, nullptr); source && elements_ > 0) source(0, elements_, memory.get());
  return memory.get();
}

void Storage::make_by(ElementSource source, DType dtype) {
  source_ = std::move(source);
  behind_ = 0;
  elements_ = host_bytes / item_size(dtype);
}

void Storage::make_from(const Storage& other, ElementSource source, DType dtype) {
  const int behind = other.behind_ + 1;
  make_by(std::move(source), dtype);
  behind_ = behind;
}

std::byte* TensorImpl::data_to_write() const {
  if (storage->read_only) {
    throw ValueError(
        "the tensor is a view of read-only memory (torch::from_blob of const memory), which must not be written: "
        "clone() it first");
  }
  return data();
}

bool TensorImpl::is_whole() const {
  return offset == 0 && is_contiguous() && numel() * item_size(dtype) == storage->host_bytes;
}

bool TensorImpl::is_contiguous() const {
  return is_dense(sizes, strides);
}

TensorImpl& impl_of(const torch::Tensor& tensor) {
  if (!tensor.defined()) throw ValueError("a defined tensor is needed here, but this one is undefined");
  return *tensor.impl();
}

const std::shared_ptr<DeviceStorage>& device_storage(const torch::Tensor& tensor) {
  return impl_of(tensor).storage->device;
}

torch::Tensor new_host_tensor(std::span<const std::int64_t> sizes, DType dtype) {
  auto impl = std::make_shared<TensorImpl>();
  const std::int64_t bytes = checked_numel(sizes) * item_size(dtype);
  impl->storage = std::make_shared<Storage>();
  impl->storage->host_bytes = bytes;
  impl->sizes.assign(sizes.begin(), sizes.end());
  impl->strides = dense_strides(sizes);
  impl->dtype = dtype;
  return torch::Tensor(std::move(impl));
}

torch::Tensor new_device_tensor(DeviceBackend& backend, std::span<const std::int64_t> sizes, DType dtype,
                                torch::Device device, const DPPolicy& policy, std::string name) {
  if (!device_supports(dtype)) {
    throw ValueError(
        "devices have no double-precision lanes: use torch::kFloat, torch::kHalf or torch::kBFloat16 for a device "
        "tensor, or keep it on the CPU");
  }
  checked_numel(sizes);
  auto impl = std::make_shared<TensorImpl>();
  impl->device = torch::Device(torch::kAHBM, device.has_index() ? device.index() : backend.current_device());
  impl->storage = std::make_shared<Storage>();
  impl->storage->device = backend.allocate(std::move(name), sizes, dtype, impl->device.index(), policy);
  impl->sizes.assign(sizes.begin(), sizes.end());
  impl->strides = dense_strides(sizes);
  impl->dtype = dtype;
  impl->policy = policy;
  return torch::Tensor(std::move(impl));
}

}  // namespace kernbench::tensor
