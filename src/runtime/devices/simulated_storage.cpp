#include "runtime/devices/simulated_storage.h"

#include <algorithm>
#include <utility>

namespace kernbench::runtime {

namespace {
constexpr std::size_t kFewProducers = 16;  // that are kept without a look at them
}

SimulatedStorage::SimulatedStorage(std::shared_ptr<const tensor::DeviceAllocation> allocation, int device,
                                   const std::shared_ptr<StorageRegistry>& registry)
    : allocation_(std::move(allocation)), descriptor_(allocation_->descriptor()), device_(device), registry_(registry) {
  registry->live.insert(this);
}

SimulatedStorage::~SimulatedStorage() {
  if (const auto registry = registry_.lock()) registry->live.erase(this);
}

void SimulatedStorage::add_producer(CompletionRef writer) {
  if (writer->is_set()) return;
  // Those that have completed are forgotten when there may be as many of them as others: at constant cost.
  if (producers_.size() > 2 * pending_at_sweep_ + kFewProducers) {
    std::erase_if(producers_, [](const CompletionRef& earlier) { return earlier->is_set(); });
    pending_at_sweep_ = producers_.size();
  }
  producers_.push_back(std::move(writer));
}

void SimulatedStorage::wait_for_producers() {
  const auto producers = producers_;
  for (const auto& producer : producers) producer->wait();
  std::erase_if(producers_, [](const CompletionRef& earlier) { return earlier->is_set(); });
  pending_at_sweep_ = producers_.size();
}

}  // namespace kernbench::runtime
