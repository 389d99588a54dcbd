// The interface of host tensors to a simulation, and the only way in which they touch the bytes of a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "addressing/tensor_descriptor.h"
#include "base/aligned_bytes.h"
#include "kernbench/coordinates.h"
#include "kernbench/dtype.h"
#include "kernbench/placement.h"
#include "tensor/random.h"

namespace kernbench::tensor {

/// A device tensor's memory, shared by all views of it. The backend derives its own, which frees the memory and keeps
/// who produces its contents.
class DeviceStorage {
 public:
  virtual ~DeviceStorage() = default;
  /// Shape, dtype and shards of the tensor as it was allocated.
  virtual const std::shared_ptr<const addressing::TensorDescriptor>& descriptor() const = 0;
};

/// A box of a storage's tensor, in elements.
struct DeviceBox {
  std::vector<std::int64_t> offset, shape;
  std::int64_t numel() const;
};

/// Dense row-major elements of one box.
using HostBytes = AlignedBytes;

/// The closed list of what reads device values on the host (contract 7). Their names are those in error texts.
enum class HostRead : std::uint8_t { item, cpu, to, copy_, print, equal, allclose, check, save };
const char* name(HostRead read);
/// True if the value read can steer control flow.
bool decides(HostRead read);
/// The error of a host read of values that are not computed: none are under --no-data, or they were left out
/// (skip_floating_point_ops). `tensor`: "device tensor \"x\"".
[[noreturn]] void throw_no_values(HostRead read, const std::string& tensor, bool left_out);

class DeviceOperations;

/// The devices of the calling fiber's simulation.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual int device_count() const = 0;
  virtual int current_device() const = 0;
  /// False under --no-data: element values of device tensors do not exist.
  virtual bool data_enabled() const = 0;

  /// A new tensor on `device`. With an empty name the backend gives one ("tensor#12").
  virtual std::shared_ptr<DeviceStorage> allocate(std::string name, std::span<const std::int64_t> sizes, DType dtype,
                                                  int device, const DPPolicy& policy) = 0;

  /// The initial contents of a freshly allocated tensor (linspace, eye), made on the host. `source` is not called under
  /// --no-data.
  virtual void initialise(const std::shared_ptr<DeviceStorage>& storage, const ElementSource& source) = 0;
  /// Sets every element of the boxes to `element` (the bytes of one item).
  virtual void fill(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
                    std::span<const std::byte> element) = 0;
  /// Host to device: `contents[i]` are the elements of `boxes[i]`, all empty under --no-data. Reaches every replica.
  /// With data an empty one stands for elements that were left out.
  virtual void write(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
                     std::vector<HostBytes> contents) = 0;
  /// Device to host, the host-read barrier: waits in simulated time for what produces the storage, then for the copy.
  /// Nothing under --no-data, after the same time. The contents of a box are empty when some of its elements derive
  /// from operations that were left out (skip_floating_point_ops).
  virtual std::optional<std::vector<HostBytes>> try_read(const std::shared_ptr<DeviceStorage>& storage,
                                                         std::span<const DeviceBox> boxes, HostRead why) = 0;
  /// Whether bytes go from device to device without the host, and kernels on either side make them ready for it.
  virtual bool connects_devices() const { return false; }
  /// Device to device, of equal dtype; boxes pair up with equal shapes. Unless overridden it goes through the host.
  virtual void copy_on_device(const std::shared_ptr<DeviceStorage>& destination,
                              std::span<const DeviceBox> destination_boxes,
                              const std::shared_ptr<DeviceStorage>& source, std::span<const DeviceBox> source_boxes);

  /// Waits in simulated time until the commands in the calling fiber's current stream of `device` have completed; does
  /// nothing unless overridden.
  virtual void synchronize_current_stream(int device);

  /// The kernels that compute on the devices (device_operations.h); unless overridden there are none.
  virtual DeviceOperations& operations();
};

// The three that follow are defined by the runtime's context (context.cpp); a test of host tensors defines its own.

/// Throws ProgramError when `call` is made where the host API must not be used: outside of kernbench::simulate, or
/// inside a kernel.
void require_host_context(const char* call);
/// The calling fiber's devices; throws like require_host_context.
DeviceBackend& current_backend(const char* call);
/// The calling fiber's random-number generator.
Generator& current_generator();

}  // namespace kernbench::tensor
