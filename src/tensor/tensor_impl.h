// The state behind a torch::Tensor handle: a strided view of a storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "tensor/device_backend.h"

namespace kernbench::tensor {

/// The elements that views share: host bytes, or a device tensor. Host elements are made when they are first looked at:
/// until then a storage knows how to make them, and has no memory.
class Storage {
 public:
  std::int64_t host_bytes = 0;
  std::shared_ptr<DeviceStorage> device = nullptr;  // null for a host tensor
  /// Host elements that stand for what a device left out (skip_floating_point_ops).
  bool left_out = false;
  /// Memory of the caller's that is not to be written (from_blob of const memory).
  bool read_only = false;

  /// The host elements, which exist from now on: whoever has the pointer may keep it.
  std::byte* host();
  bool is_made() const { return host_ != nullptr; }
  /// How the elements, in their order in memory, are made; instead of what was said before. REQUIRES: !is_made().
  void make_by(ElementSource source, DType dtype);
  /// What makes the elements, or empty: they are made, or nobody has said yet.
  const ElementSource& source() const { return source_; }
  /// Fewer elements than that are not worth a source made of another one. assumption
  static constexpr std::int64_t kFewElements = 4096;
  /// Whether other elements may be made of these, once they are asked for: there is a source, and few sources stand
  /// behind it, since they call each other.
  bool may_be_source() const { return source_ && behind_ < kMostBehind; }
  /// Like make_by; `source` asks that of `other`. REQUIRES: other.may_be_source().
  void make_from(const Storage& other, ElementSource source, DType dtype);
  /// Memory that exists.
  void use(std::shared_ptr<void> memory) { host_ = std::move(memory); }

 private:
  static constexpr int kMostBehind = 16;  // assumption: more than it takes to say initial values

  std::shared_ptr<void> host_;
  ElementSource source_;
  int behind_ = 0;  // the sources that this one asks, one behind the other
  std::int64_t elements_ = 0;
};

class TensorFunctions;

/// The gradient of a tensor, which no copy of its state has: a view has none, and set_data leaves it.
class Gradient {
 public:
  Gradient() = default;
  Gradient(const Gradient&) {}
  Gradient& operator=(const Gradient&) { return *this; }  // NOLINT(cert-oop54-cpp): nothing is copied
  ~Gradient() = default;

  torch::Tensor tensor;
};

class TensorImpl {
 public:
  std::shared_ptr<Storage> storage;
  std::vector<std::int64_t> sizes, strides;  // in elements
  std::int64_t offset = 0;                   // in elements
  DType dtype = DType::f32;
  torch::Device device = torch::kCPU;          // with an index when it is a device
  DPPolicy policy;                             // of a device tensor
  std::shared_ptr<TensorFunctions> functions;  // null for host and device tensors (tensor/tensor_functions.h)
  Gradient gradient;

  std::int64_t numel() const;
  bool is_contiguous() const;
  /// The first element of a host tensor, to be read.
  std::byte* data() const { return storage->host() + offset * item_size(dtype); }
  /// Likewise, to be written: ValueError for memory that must not be (from_blob).
  std::byte* data_to_write() const;
  /// The elements are all of the storage, in its order.
  bool is_whole() const;
};

/// The state behind a handle; ValueError when the tensor is undefined.
TensorImpl& impl_of(const torch::Tensor& tensor);

/// Tensors whose elements are not set yet, dense and row-major.
torch::Tensor new_host_tensor(std::span<const std::int64_t> sizes, DType dtype);
torch::Tensor new_device_tensor(DeviceBackend& backend, std::span<const std::int64_t> sizes, DType dtype,
                                torch::Device device, const DPPolicy& policy, std::string name = {});

/// A tensor of the sizes of `other`, its elements not set. On the host it keeps the order of `other`'s dimensions in
/// memory where that is dense, as PyTorch does; on a device it takes `other`'s placement unless `policy` is given.
torch::Tensor new_tensor_like(const torch::Tensor& other, DType dtype, torch::Device device,
                              const std::optional<DPPolicy>& policy, std::string name, const char* call);

/// The tensor that a kernel sees when `tensor` is a launch argument. A whole device tensor, or a range of its first
/// dimension; any other view is a ValueError that names `parameter` ("argument 1 of scaled_add").
std::shared_ptr<const addressing::TensorDescriptor> launch_descriptor(const torch::Tensor& tensor,
                                                                      const std::string& parameter);

/// The device storage behind a tensor, for dependency tracking. Null for a host tensor.
const std::shared_ptr<DeviceStorage>& device_storage(const torch::Tensor& tensor);

/// The elements of any tensor, dense and row-major on the host, in its own dtype; reads a device tensor as a host read.
/// May share a host tensor's elements.
torch::Tensor host_copy(const torch::Tensor& tensor, HostRead why);
/// Likewise, but nothing when element values are not computed (--no-data, or left out by skip_floating_point_ops where
/// `why` cannot do with infinities); the times are the same.
std::optional<torch::Tensor> try_host_copy(const torch::Tensor& tensor, HostRead why);

}  // namespace kernbench::tensor
