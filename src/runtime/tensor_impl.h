// What a torch::Tensor handle shares: a strided view of a storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "runtime/device_backend.h"

namespace kernbench::runtime {

/// The elements that views share: host bytes, or a device tensor.
struct Storage {
  std::shared_ptr<void> host;  // host elements; null for a device tensor
  std::int64_t host_bytes = 0;
  std::shared_ptr<DeviceStorage> device;  // null for a host tensor
};

class TensorImpl {
 public:
  std::shared_ptr<Storage> storage;
  std::vector<std::int64_t> sizes, strides;  // in elements
  std::int64_t offset = 0;                   // in elements
  DType dtype = DType::f32;
  torch::Device device = torch::kCPU;  // with an index when it is a device
  DPPolicy policy;                     // of a device tensor

  std::int64_t numel() const;
  bool is_contiguous() const;
  std::byte* data() const { return static_cast<std::byte*>(storage->host.get()) + offset * item_size(dtype); }
};

/// The tensor that a kernel sees when `tensor` is a launch argument. A whole device tensor, or a range of its first
/// dimension; any other view is a ValueError that names `parameter` ("argument 1 of scaled_add").
std::shared_ptr<const kernel::TensorDescriptor> launch_descriptor(const torch::Tensor& tensor,
                                                                  const std::string& parameter);

/// The device storage behind a tensor, for dependency tracking. Null for a host tensor.
const std::shared_ptr<DeviceStorage>& device_storage(const torch::Tensor& tensor);

/// A dense host copy of any tensor, as double or in its own dtype; reads a device tensor as a host read. For checks.
torch::Tensor host_copy(const torch::Tensor& tensor, HostRead why);

}  // namespace kernbench::runtime
