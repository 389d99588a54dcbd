// The devices of a simulation as host tensors see them: allocation, copies, the host-read barrier.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/devices/simulated_storage.h"
#include "runtime/functions/device_kernels.h"
#include "runtime/simulation.h"
#include "tensor/device_backend.h"

namespace kernbench::runtime {

class SimulatedDevices final : public tensor::DeviceBackend {
 public:
  explicit SimulatedDevices(Simulation& simulation) : simulation_(simulation) {}
  ~SimulatedDevices() override;
  SimulatedDevices(const SimulatedDevices&) = delete;
  SimulatedDevices& operator=(const SimulatedDevices&) = delete;

  int device_count() const override;
  int current_device() const override;
  bool data_enabled() const override;
  std::shared_ptr<tensor::DeviceStorage> allocate(std::string name, std::span<const std::int64_t> sizes, DType dtype,
                                                  int device, const DPPolicy& policy) override;
  void initialise(const std::shared_ptr<tensor::DeviceStorage>& storage, const tensor::ElementSource& source) override;
  void fill(const std::shared_ptr<tensor::DeviceStorage>& storage, std::span<const tensor::DeviceBox> boxes,
            std::span<const std::byte> element) override;
  void write(const std::shared_ptr<tensor::DeviceStorage>& storage, std::span<const tensor::DeviceBox> boxes,
             std::vector<tensor::HostBytes> contents) override;
  std::optional<std::vector<tensor::HostBytes>> try_read(const std::shared_ptr<tensor::DeviceStorage>& storage,
                                                         std::span<const tensor::DeviceBox> boxes,
                                                         tensor::HostRead why) override;

  bool connects_devices() const override { return true; }
  void copy_on_device(const std::shared_ptr<tensor::DeviceStorage>& destination,
                      std::span<const tensor::DeviceBox> destination_boxes,
                      const std::shared_ptr<tensor::DeviceStorage>& source,
                      std::span<const tensor::DeviceBox> source_boxes) override;

  void synchronize_current_stream(int device) override;

  tensor::DeviceOperations& operations() override { return operations_; }

  /// The storage as this simulation's own; ValueError when it belongs to one that has ended.
  SimulatedStorageRef own(const std::shared_ptr<tensor::DeviceStorage>& storage) const;

 private:
  Simulation& simulation_;
  SimulatedOperations operations_{simulation_};
  std::shared_ptr<StorageRegistry> registry_ = std::make_shared<StorageRegistry>();
};

/// Throws ValueError unless 0 <= device < the number of SIPs.
void check_device(const Simulation& simulation, int device);

}  // namespace kernbench::runtime
