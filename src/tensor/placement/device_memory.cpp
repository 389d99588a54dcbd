#include "tensor/placement/device_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "kernbench/error.h"
#include "kernbench/placement.h"

namespace kernbench::tensor {

namespace {

constexpr std::size_t kTensorsInErrors = 5;

std::int64_t round_up(std::int64_t value, std::int64_t granule) {
  return (value + granule - 1) / granule * granule;
}

using BoxKey = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;

/// Also of a request that no machine could meet: replicas can make it more than can be counted.
Bytes total_of(const std::vector<ShardSpec>& specs) {
  std::int64_t sum = 0;
  for (const ShardSpec& spec : specs) sum += std::min(spec.bytes, std::numeric_limits<std::int64_t>::max() - sum);
  return Bytes(sum);
}

}  // namespace

void MemoryCount::add(std::int64_t amount) {
  current += amount;
  allocated += amount;
  peak = std::max(peak, current);
}

void MemoryCount::remove(std::int64_t amount) {
  current -= amount;
  freed += amount;
}

void MemoryStatistics::reset_peak() {
  for (MemoryCount* count : {&tensors, &shards, &requested, &allocated}) count->peak = count->current;
}

void MemoryStatistics::reset_accumulated() {
  for (MemoryCount* count : {&tensors, &shards, &requested, &allocated}) count->allocated = count->freed = 0;
  out_of_memory = 0;
}

DeviceAllocation::~DeviceAllocation() {
  memory_.release(*this);
}

Bytes DeviceAllocation::shard_bytes(std::size_t shard) const {
  const auto& shape = descriptor_->shards[shard].shape;
  return Bytes(std::accumulate(shape.begin(), shape.end(), item_size(descriptor_->dtype), std::multiplies<>()));
}

DeviceMemory::DeviceMemory(const topology::Topology& topology, addressing::VirtualAddressSpace& addresses,
                           MemoryListener* listener)
    : topology_(topology),
      addresses_(addresses),
      listener_(listener),
      slice_capacity_(topology.cube.hbm.capacity.count() / topology.cube.pes.count()) {}

SliceAllocator& DeviceMemory::slice(PeCoordinate at) {
  return slices_.try_emplace(at, slice_capacity_, topology_.pe.mmu.page).first->second;
}

Bytes DeviceMemory::free_bytes(PeCoordinate at) const {
  const auto found = slices_.find(at);
  return found == slices_.end() ? usable_slice_capacity() : found->second.free_bytes();
}

Bytes DeviceMemory::least_free_bytes(SipId sip) const {
  Bytes least = usable_slice_capacity();  // that of a slice which nobody has used yet
  for (auto at = slices_.lower_bound({sip, CubeId{0}, PeId{0}}); at != slices_.end() && at->first.sip == sip; ++at)
    least = std::min(least, at->second.free_bytes());
  return least;
}

Bytes DeviceMemory::sip_capacity() const {
  return Bytes(usable_slice_capacity().count() * topology_.pes_per_sip());
}

std::shared_ptr<const DeviceAllocation> DeviceMemory::allocate(const DevicePart& part, Name name, DType dtype,
                                                               std::span<const std::int64_t> shape,
                                                               const DPPolicy& policy) {
  const SipId sip = part.sip();
  const auto specs = shards_on(part, policy, shape, item_size(dtype), topology_);
  auto descriptor = std::make_shared<addressing::TensorDescriptor>();
  descriptor->name = std::move(name);
  descriptor->dtype = dtype;
  descriptor->shape.assign(shape.begin(), shape.end());
  const Bytes total = total_of(specs);

  Bytes allocated;
  std::vector<std::uint64_t> physical;
  std::vector<addressing::Mapping> mappings;
  std::map<BoxKey, std::uint64_t> offset_of_box;  // replicas of one box share their place in the range
  std::int64_t cursor = 0, end = 0;
  for (const ShardSpec& spec : specs) {
    const PeCoordinate owner{spec.sip, spec.cube, spec.pe};
    const auto address = slice(owner).allocate(Bytes(spec.bytes));
    if (!address) {
      for (std::size_t i = 0; i < physical.size(); ++i)
        slice({specs[i].sip, specs[i].cube, specs[i].pe}).free(physical[i], Bytes(specs[i].bytes));
      ++statistics(sip).out_of_memory;
      fail(descriptor->name, owner, Bytes(spec.bytes), total);
    }
    physical.push_back(*address);
    allocated += slice(owner).rounded(Bytes(spec.bytes));
    const auto [place, first] = offset_of_box.try_emplace(BoxKey{spec.offset, spec.shape}, cursor);
    if (first) {
      end = cursor + spec.bytes;
      cursor = round_up(end, topology_.pe.mmu.page.count());
    }
    mappings.push_back({.offset = place->second, .bytes = Bytes(spec.bytes), .slice = owner, .address = *address});
    descriptor->shards.push_back({.owner = owner, .offset = spec.offset, .shape = spec.shape, .va = place->second});
  }
  descriptor->va_bytes = Bytes(end);
  descriptor->va = addresses_.map(descriptor->name, descriptor->va_bytes, std::move(mappings));
  for (addressing::Shard& shard : descriptor->shards) shard.va += descriptor->va;

  std::shared_ptr<DeviceAllocation> allocation(new DeviceAllocation(*this));
  allocation->number_ = next_number_++;
  allocation->sip_ = sip;
  allocation->requested_ = total;
  allocation->allocated_ = allocated;
  allocation->descriptor_ = std::move(descriptor);
  allocation->addresses_ = std::move(physical);
  live_.emplace(allocation->number_, allocation.get());
  auto& counts = statistics(sip);
  counts.tensors.add(1);
  counts.shards.add(static_cast<std::int64_t>(specs.size()));
  counts.requested.add(total.count());
  counts.allocated.add(allocated.count());
  if (listener_ != nullptr)
    for (std::size_t i = 0; i < specs.size(); ++i)
      listener_->on_map(allocation->descriptor_->shards[i].owner, allocation->addresses_[i], Bytes(specs[i].bytes));
  return allocation;
}

void DeviceMemory::release(DeviceAllocation& allocation) {
  live_.erase(allocation.number_);
  auto& counts = statistics(allocation.sip_);
  const auto& shards = allocation.descriptor_->shards;
  counts.tensors.remove(1);
  counts.shards.remove(static_cast<std::int64_t>(shards.size()));
  counts.requested.remove(allocation.requested_.count());
  counts.allocated.remove(allocation.allocated_.count());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Bytes bytes = allocation.shard_bytes(i);
    if (listener_ != nullptr) listener_->on_unmap(shards[i].owner, allocation.addresses_[i], bytes);
    slice(shards[i].owner).free(allocation.addresses_[i], bytes);
  }
  addresses_.unmap(allocation.descriptor_->va);
}

void DeviceMemory::fail(const std::string& name, PeCoordinate at, Bytes request, Bytes total) {
  struct Holder {
    Bytes bytes;
    std::uint64_t number;
    std::string name;
  };
  std::vector<Holder> largest;
  for (const auto& [number, allocation] : live_) {
    const auto& shards = allocation->descriptor()->shards;
    for (std::size_t i = 0; i < shards.size(); ++i)
      if (shards[i].owner == at)
        largest.push_back({allocation->shard_bytes(i), number, allocation->descriptor()->name});
  }
  std::ranges::sort(largest, [](const Holder& a, const Holder& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.number < b.number;
  });
  std::vector<std::string> texts;
  for (const Holder& holder : largest) {
    if (texts.size() == kTensorsInErrors) break;
    texts.push_back(fmt::format("\"{}\" {}", holder.name, to_text(holder.bytes)));
  }
  const SliceAllocator& memory = slice(at);
  throw OutOfMemoryError(fmt::format(
      "out of HBM on {}: tensor \"{}\" ({} in all) needs {} there, and {} of {} are free (largest block {}); largest "
      "live tensors there: {}. Free tensors, make it smaller, or spread it over more PEs with a DPPolicy",
      to_text(at), name, to_text(total), to_text(request), to_text(memory.free_bytes()), to_text(slice_capacity_),
      to_text(memory.largest_free()), texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "))));
}

}  // namespace kernbench::tensor
