// A device tensor's memory as a simulation keeps it: the allocation, and who produces its contents.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "runtime/streams/stream.h"
#include "tensor/device_backend.h"
#include "tensor/placement/device_memory.h"

namespace kernbench::runtime {

class SimulatedStorage;

/// The device tensors of one simulation that are alive.
struct StorageRegistry {
  std::set<SimulatedStorage*> live;  // only counted and cleared, never walked in an order that shows
};

/// A device tensor's memory and who produces its contents.
class SimulatedStorage final : public tensor::DeviceStorage {
 public:
  SimulatedStorage(std::shared_ptr<const tensor::DeviceAllocation> allocation, int device,
                   const std::shared_ptr<StorageRegistry>& registry);
  ~SimulatedStorage() override;
  SimulatedStorage(const SimulatedStorage&) = delete;
  SimulatedStorage& operator=(const SimulatedStorage&) = delete;

  const std::shared_ptr<const addressing::TensorDescriptor>& descriptor() const override { return descriptor_; }
  /// REQUIRES: belongs_to the simulation that runs.
  const tensor::DeviceAllocation& allocation() const { return *allocation_; }
  int device() const { return device_; }
  bool belongs_to(const std::shared_ptr<StorageRegistry>& registry) const { return registry_.lock() == registry; }
  /// Gives the memory back; a handle that outlives its simulation keeps only the descriptor.
  void detach() { allocation_.reset(); }

  /// From now on a host read waits for `writer`.
  void add_producer(CompletionRef writer);
  /// Suspends the calling fiber until all producers so far have completed.
  void wait_for_producers();

 private:
  std::shared_ptr<const tensor::DeviceAllocation> allocation_;
  std::shared_ptr<const addressing::TensorDescriptor> descriptor_;
  int device_;
  std::weak_ptr<StorageRegistry> registry_;
  std::vector<CompletionRef> producers_;  // in order; some may have completed
  std::size_t pending_at_sweep_ = 0;      // how many of them had not, when that was last looked at
};
using SimulatedStorageRef = std::shared_ptr<SimulatedStorage>;

}  // namespace kernbench::runtime
