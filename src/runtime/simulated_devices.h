// The devices of a simulation as host tensors see them: allocation, copies over PCIe, the host-read barrier.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/device_backend.h"
#include "runtime/device_kernels.h"
#include "runtime/device_memory.h"
#include "runtime/simulation.h"
#include "runtime/stream.h"

namespace kernbench::runtime {

class SimulatedStorage;

/// The device tensors of one simulation that are alive.
struct StorageRegistry {
  std::set<SimulatedStorage*> live;  // only counted and cleared, never walked in an order that shows
};

/// A device tensor's memory and who produces its contents.
class SimulatedStorage final : public DeviceStorage {
 public:
  SimulatedStorage(std::shared_ptr<const DeviceAllocation> allocation, int device,
                   const std::shared_ptr<StorageRegistry>& registry);
  ~SimulatedStorage() override;
  SimulatedStorage(const SimulatedStorage&) = delete;
  SimulatedStorage& operator=(const SimulatedStorage&) = delete;

  const std::shared_ptr<const kernel::TensorDescriptor>& descriptor() const override { return descriptor_; }
  /// REQUIRES: belongs_to the simulation that runs.
  const DeviceAllocation& allocation() const { return *allocation_; }
  int device() const { return device_; }
  bool belongs_to(const std::shared_ptr<StorageRegistry>& registry) const { return registry_.lock() == registry; }
  /// Gives the memory back; a handle that outlives its simulation keeps only the descriptor.
  void detach() { allocation_.reset(); }

  /// From now on a host read waits for `writer`.
  void add_producer(CompletionRef writer);
  /// Suspends the calling fiber until all producers so far have completed.
  void wait_for_producers();

 private:
  std::shared_ptr<const DeviceAllocation> allocation_;
  std::shared_ptr<const kernel::TensorDescriptor> descriptor_;
  int device_;
  std::weak_ptr<StorageRegistry> registry_;
  std::vector<CompletionRef> producers_;
};
using SimulatedStorageRef = std::shared_ptr<SimulatedStorage>;

class SimulatedDevices final : public DeviceBackend {
 public:
  explicit SimulatedDevices(Simulation& simulation) : simulation_(simulation) {}
  ~SimulatedDevices() override;
  SimulatedDevices(const SimulatedDevices&) = delete;
  SimulatedDevices& operator=(const SimulatedDevices&) = delete;

  int device_count() const override;
  int current_device() const override;
  bool data_enabled() const override;
  std::shared_ptr<DeviceStorage> allocate(std::string name, std::span<const std::int64_t> sizes, DType dtype,
                                          int device, const DPPolicy& policy) override;
  void initialise(const std::shared_ptr<DeviceStorage>& storage, const ElementSource& source) override;
  void fill(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
            std::span<const std::byte> element) override;
  void write(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
             std::vector<HostBytes> contents) override;
  std::optional<std::vector<HostBytes>> try_read(const std::shared_ptr<DeviceStorage>& storage,
                                                 std::span<const DeviceBox> boxes, HostRead why) override;

  void synchronize_current_stream(int device) override;

  DeviceOperations& operations() override { return operations_; }

  /// The storage as this simulation's own; ValueError when it belongs to one that has ended.
  SimulatedStorageRef own(const std::shared_ptr<DeviceStorage>& storage) const;

 private:
  Simulation& simulation_;
  SimulatedOperations operations_{simulation_};
  std::shared_ptr<StorageRegistry> registry_ = std::make_shared<StorageRegistry>();
};

/// Throws ValueError unless 0 <= device < the number of SIPs.
void check_device(const Simulation& simulation, int device);

}  // namespace kernbench::runtime
