#include "runtime/devices/simulated_storage.h"

#include <algorithm>
#include <utility>

namespace kernbench::runtime {

SimulatedStorage::SimulatedStorage(std::shared_ptr<const tensor::DeviceAllocation> allocation, int device,
                                   const std::shared_ptr<StorageRegistry>& registry)
    : allocation_(std::move(allocation)), descriptor_(allocation_->descriptor()), device_(device), registry_(registry) {
  registry->live.insert(this);
}

SimulatedStorage::~SimulatedStorage() {
  if (const auto registry = registry_.lock()) registry->live.erase(this);
}

void SimulatedStorage::add_producer(CompletionRef writer) {
  std::erase_if(producers_, [](const CompletionRef& earlier) { return earlier->is_set(); });
  if (!writer->is_set()) producers_.push_back(std::move(writer));
}

void SimulatedStorage::wait_for_producers() {
  const auto producers = producers_;
  for (const auto& producer : producers) producer->wait();
}

}  // namespace kernbench::runtime
