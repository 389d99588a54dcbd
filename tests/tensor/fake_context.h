// Devices without time: what host tensors need of a simulation, for their tests.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "addressing/page_table.h"
#include "tensor/device_backend.h"
#include "tensor/device_operations.h"
#include "tensor/placement/device_memory.h"

namespace kernbench::tensor {

/// Two SIPs of two cubes of two PEs with 1 MiB each; bytes are kept for each slice, so that a wrong address shows.
class FakeDevices final : public DeviceBackend {
 public:
  FakeDevices();
  int device_count() const override { return 2; }
  int current_device() const override { return device; }
  bool data_enabled() const override { return data; }
  std::shared_ptr<DeviceStorage> allocate(std::string name, std::span<const std::int64_t> sizes, DType dtype,
                                          int device_index, const DPPolicy& policy) override;
  void initialise(const std::shared_ptr<DeviceStorage>& storage, const ElementSource& source) override;
  void fill(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
            std::span<const std::byte> element) override;
  void write(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
             std::vector<HostBytes> contents) override;
  DeviceOperations& operations() override { return kernels != nullptr ? *kernels : DeviceBackend::operations(); }
  std::optional<std::vector<HostBytes>> try_read(const std::shared_ptr<DeviceStorage>& storage,
                                                 std::span<const DeviceBox> boxes, HostRead why) override;

  int device = 0;
  bool data = true;
  std::vector<HostRead> reads;
  std::vector<std::int64_t> elements_read;
  std::int64_t fills = 0, writes = 0, initialisations = 0;

  DeviceOperations* kernels = nullptr;  // a test's own

 private:
  void write_box(const addressing::TensorDescriptor& tensor, const DeviceBox& box, const HostBytes& content);
  std::byte* bytes(PeCoordinate slice, std::uint64_t address);

  addressing::VirtualAddressSpace addresses_{Bytes(4096)};
  std::unique_ptr<DeviceMemory> memory_;
  std::map<PeCoordinate, std::vector<std::byte>> slices_;
  int next_name_ = 0;
};

/// Installs a host context for the life of the object.
class FakeContext {
 public:
  FakeContext();
  ~FakeContext();
  FakeContext(const FakeContext&) = delete;
  FakeContext& operator=(const FakeContext&) = delete;

  FakeDevices devices;
  Generator generator;
};

}  // namespace kernbench::tensor
