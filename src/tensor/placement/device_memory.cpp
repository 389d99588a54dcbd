#include "tensor/placement/device_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/name_format.h"
#include "base/text.h"
#include "kernbench/error.h"
#include "kernbench/placement.h"
#include "tensor/placement/work_boxes.h"

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

/// A tensor on its way to its memory.
struct DeviceMemory::Layout {
  std::shared_ptr<addressing::TensorDescriptor> descriptor = std::make_shared<addressing::TensorDescriptor>();
  SipId sip;
  Bytes total, allocated;
  std::vector<std::uint64_t> addresses;
  std::vector<DeviceAllocation::Held> held;
  std::vector<addressing::Mapping> mappings;
  std::map<BoxKey, std::uint64_t> offset_of_box;  // replicas of one box share their place in the range
  std::int64_t cursor = 0, end = 0;

  /// The place of a box in the range; a page begins there.
  std::uint64_t place_in_range(const ShardSpec& box, std::int64_t page) {
    const auto [place, first] = offset_of_box.try_emplace(BoxKey{box.offset, box.shape}, cursor);
    if (first) {
      end = cursor + box.bytes;
      cursor = round_up(end, page);
    }
    return place->second;
  }
};

void DeviceMemory::place(const ShardSpec& box, Layout& layout) {
  const PeCoordinate owner{box.sip, box.cube, box.pe};
  const Bytes bytes(box.bytes);
  const auto address = slice(owner).allocate(bytes);
  if (!address) fail(layout, owner, bytes);
  layout.addresses.push_back(*address);
  layout.held.push_back({owner, *address, bytes});
  layout.allocated += slice(owner).rounded(bytes);
  const std::uint64_t offset = layout.place_in_range(box, topology_.pe.mmu.page.count());
  layout.mappings.push_back({.offset = offset, .bytes = bytes, .slice = owner, .address = *address});
  layout.descriptor->shards.push_back({.owner = owner, .offset = box.offset, .shape = box.shape, .va = offset});
}

void DeviceMemory::place(const ShardSpec& box, const Interleaving& how, Layout& layout) {
  const InterleavedRegion region({box.sip, box.cube, box.pe}, how);
  const Bytes bytes(box.bytes), share = region.share_of(bytes);
  const auto address = common_room(region, share);
  if (!address) fail(layout, region, share);
  layout.addresses.push_back(*address);
  for (std::int32_t i = 0; i < how.slices(); ++i) {
    const PeCoordinate at = region.slice(static_cast<std::uint32_t>(i));
    slice(at).allocate_at(*address, share);
    layout.held.push_back({at, *address, share});
    layout.allocated += slice(at).rounded(share);
  }
  const std::uint64_t offset = layout.place_in_range(box, topology_.pe.mmu.page.count());
  layout.mappings.push_back(
      {.offset = offset, .bytes = bytes, .slice = region.first(), .address = *address, .interleaving = how});
  layout.descriptor->arrays.push_back(
      {.owner = region.first(), .offset = box.offset, .shape = box.shape, .va = offset});
}

// From the top of the slices downwards: shards fill them from below, so that the two seldom meet.
std::optional<std::uint64_t> DeviceMemory::common_room(const InterleavedRegion& region, Bytes share) {
  if (share > usable_slice_capacity()) return std::nullopt;  // also keeps the rounding from overflowing
  const auto size = static_cast<std::uint64_t>(SliceAllocator(Bytes(0), topology_.pe.mmu.page).rounded(share).count());
  auto end = static_cast<std::uint64_t>(usable_slice_capacity().count());
  const std::int32_t slices = region.how().slices();
  std::int32_t index = 0;
  for (std::int32_t agreed = 0; agreed < slices; index = (index + 1) % slices) {
    const auto room = slice(region.slice(static_cast<std::uint32_t>(index))).highest_room(share, end);
    if (!room) return std::nullopt;
    agreed = *room + size == end ? agreed + 1 : 1;
    end = *room + size;
  }
  return end - size;
}

std::shared_ptr<const DeviceAllocation> DeviceMemory::allocate(const DevicePart& part, Name name, DType dtype,
                                                               std::span<const std::int64_t> shape,
                                                               const DPPolicy& policy) {
  const auto interleaving = interleaving_on(part, policy, topology_);
  const auto specs = interleaving ? arrays_on(part, policy, shape, item_size(dtype), topology_)
                                  : shards_on(part, policy, shape, item_size(dtype), topology_);
  Layout layout;
  addressing::TensorDescriptor& descriptor = *layout.descriptor;
  descriptor.name = std::move(name);
  descriptor.dtype = dtype;
  descriptor.shape.assign(shape.begin(), shape.end());
  layout.sip = part.sip();
  layout.total = total_of(specs);
  for (const ShardSpec& spec : specs) interleaving ? place(spec, *interleaving, layout) : place(spec, layout);
  descriptor.va_bytes = Bytes(layout.end);
  descriptor.va = addresses_.map(descriptor.name, descriptor.va_bytes, std::move(layout.mappings));
  for (auto* boxes : {&descriptor.shards, &descriptor.arrays})
    for (addressing::Shard& box : *boxes) box.va += descriptor.va;
  if (interleaving) {
    descriptor.interleaving = *interleaving;
    descriptor.shards = work_boxes(descriptor);
  }

  std::shared_ptr<DeviceAllocation> allocation(new DeviceAllocation(*this));
  allocation->number_ = next_number_++;
  allocation->sip_ = layout.sip;
  allocation->requested_ = layout.total;
  allocation->allocated_ = layout.allocated;
  allocation->descriptor_ = std::move(layout.descriptor);
  allocation->addresses_ = std::move(layout.addresses);
  allocation->held_ = std::move(layout.held);
  live_.emplace(allocation->number_, allocation.get());
  auto& counts = statistics(layout.sip);
  counts.tensors.add(1);
  counts.shards.add(std::ssize(allocation->held_));
  counts.requested.add(layout.total.count());
  counts.allocated.add(layout.allocated.count());
  if (listener_ != nullptr) {
    TensorRange range{allocation->descriptor_};
    for (const auto& [at, address, bytes] : allocation->held_) {
      listener_->on_map(at, address, bytes, range);
      ++range.number;
    }
  }
  return allocation;
}

void DeviceMemory::release(DeviceAllocation& allocation) {
  live_.erase(allocation.number_);
  auto& counts = statistics(allocation.sip_);
  counts.tensors.remove(1);
  counts.shards.remove(std::ssize(allocation.held_));
  counts.requested.remove(allocation.requested_.count());
  counts.allocated.remove(allocation.allocated_.count());
  for (const auto& [at, address, bytes] : allocation.held_) {
    if (listener_ != nullptr) listener_->on_unmap(at, address, bytes);
    slice(at).free(address, bytes);
  }
  addresses_.unmap(allocation.descriptor_->va);
}

std::string DeviceMemory::largest_tensors(PeCoordinate at) const {
  struct Holder {
    Bytes bytes;
    std::uint64_t number;
    std::string name;
  };
  std::vector<Holder> largest;
  for (const auto& [number, allocation] : live_) {
    for (const auto& held : allocation->held_)
      if (held.slice == at) largest.push_back({held.bytes, number, allocation->descriptor()->name});
  }
  std::ranges::sort(largest, [](const Holder& a, const Holder& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.number < b.number;
  });
  std::vector<std::string> texts;
  for (const Holder& holder : largest) {
    if (texts.size() == kTensorsInErrors) break;
    texts.push_back(fmt::format("\"{}\" {}", holder.name, to_text(holder.bytes)));
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

namespace {

bool holds(std::uint64_t first, Bytes bytes, std::uint64_t address) {
  return address >= first && address - first < static_cast<std::uint64_t>(bytes.count());
}

}  // namespace

std::string element_text(const addressing::TensorDescriptor& tensor, std::size_t part, std::int64_t offset) {
  if (tensor.is_interleaved()) return tensor.name;
  const addressing::Shard& box = tensor.shards[part];
  std::int64_t element = offset / item_size(tensor.dtype);
  std::vector<std::int64_t> index = box.offset;
  for (std::size_t dim = index.size(); dim-- > 0; element /= box.shape[dim]) index[dim] += element % box.shape[dim];
  return fmt::format("element [{}] of {}", fmt::join(index, ", "), tensor.name);
}

std::string DeviceMemory::tensor_at(PeCoordinate at, std::uint64_t address) const {
  for (const auto& [number, allocation] : live_) {
    for (const auto& held : allocation->held_)
      if (held.slice == at && holds(held.address, held.bytes, address)) return allocation->descriptor()->name;
  }
  return {};
}

std::string DeviceMemory::place_text(PeCoordinate at, std::uint64_t address) const {
  for (const auto& [number, allocation] : live_) {
    const addressing::TensorDescriptor& tensor = *allocation->descriptor();
    if (tensor.is_interleaved()) {
      for (const auto& held : allocation->held_)
        if (held.slice == at && holds(held.address, held.bytes, address)) return tensor.name;
      continue;
    }
    for (std::size_t shard = 0; shard < tensor.shards.size(); ++shard) {
      const addressing::Shard& box = tensor.shards[shard];
      const std::uint64_t first = allocation->addresses_[shard];
      if (box.owner != at || !holds(first, allocation->shard_bytes(shard), address)) continue;
      return element_text(tensor, shard, static_cast<std::int64_t>(address - first));
    }
  }
  return {};
}

void DeviceMemory::give_up(Layout& layout, const std::string& message) {
  for (const auto& [at, address, bytes] : layout.held) slice(at).free(address, bytes);
  ++statistics(layout.sip).out_of_memory;
  throw OutOfMemoryError(message);
}

void DeviceMemory::fail(Layout& layout, PeCoordinate at, Bytes request) {
  for (const auto& [held_at, address, bytes] : std::exchange(layout.held, {})) slice(held_at).free(address, bytes);
  const SliceAllocator& memory = slice(at);
  give_up(layout, fmt::format("out of HBM on {}: tensor \"{}\" ({} in all) needs {} there, and {} of {} are free "
                              "(largest block {}; a shard "
                              "takes whole pages of {}); largest live tensors there: {}. Free tensors, make it "
                              "smaller, or spread it over more PEs with a DPPolicy",
                              to_text(at), layout.descriptor->name, to_text(layout.total), to_text(request),
                              to_text(memory.free_bytes()), to_text(slice_capacity_), to_text(memory.largest_free()),
                              to_text(topology_.pe.mmu.page), largest_tensors(at)));
}

void DeviceMemory::fail(Layout& layout, const InterleavedRegion& region, Bytes share) {
  for (const auto& [at, address, bytes] : std::exchange(layout.held, {})) slice(at).free(address, bytes);
  PeCoordinate fullest = region.first();
  for (std::int32_t i = 1; i < region.how().slices(); ++i) {
    const PeCoordinate at = region.slice(static_cast<std::uint32_t>(i));
    if (slice(at).largest_free() < slice(fullest).largest_free()) fullest = at;
  }
  const SliceAllocator& memory = slice(fullest);
  give_up(layout,
          fmt::format("out of HBM: the interleaved tensor \"{}\" ({} in all) needs {} at one and the same address of "
                      "each of {} slices from {} on, and no address has them free; on {}, the fullest, {} of {} are "
                      "free (largest block {}); largest live tensors there: {}. Free tensors, make it smaller, or "
                      "interleave it over more slices with a DPPolicy",
                      layout.descriptor->name, to_text(layout.total), to_text(share), region.how().slices(),
                      to_text(region.first()), to_text(fullest), to_text(memory.free_bytes()), to_text(slice_capacity_),
                      to_text(memory.largest_free()), largest_tensors(fullest)));
}

}  // namespace kernbench::tensor
