// Device tensors' memory: HBM of the slices, virtual ranges, and the errors when there is not enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "addressing/page_table.h"
#include "addressing/tensor_descriptor.h"
#include "kernbench/coordinates.h"
#include "kernbench/dtype.h"
#include "kernbench/placement.h"
#include "kernbench/units.h"
#include "tensor/placement/device_part.h"
#include "tensor/placement/slice_allocator.h"
#include "topology/spec.h"

namespace kernbench::tensor {

/// A part of a tensor's memory: of one that is not interleaved the shard of this number.
struct TensorRange {
  std::shared_ptr<const addressing::TensorDescriptor> tensor;
  std::size_t number = 0;
};

/// "element [0, 3] of x": byte number `offset` of a part; of an interleaved tensor its name.
std::string element_text(const addressing::TensorDescriptor& tensor, std::size_t part, std::int64_t offset);

/// Told which bytes of a slice come into use and go out of use, so that somebody can hold their contents.
class MemoryListener {
 public:
  virtual ~MemoryListener() = default;
  virtual void on_map(PeCoordinate slice, std::uint64_t address, Bytes bytes, const TensorRange& range) = 0;
  virtual void on_unmap(PeCoordinate slice, std::uint64_t address, Bytes bytes) = 0;
};

/// A quantity that goes up and down, with its history. PyTorch's four figures of one.
struct MemoryCount {
  std::int64_t current = 0, peak = 0;
  std::int64_t allocated = 0, freed = 0;  // all that was ever added, and taken away

  void add(std::int64_t amount);
  void remove(std::int64_t amount);
};

/// What the tensors of one SIP hold and held. Replicas count each; a tensor that could not be had does not.
struct MemoryStatistics {
  MemoryCount tensors;
  MemoryCount shards;     // pieces of slices
  MemoryCount requested;  // bytes of elements
  MemoryCount allocated;  // bytes in whole pages, as they are taken from the slices
  std::int64_t out_of_memory = 0;

  /// The peaks begin again at what is held now.
  void reset_peak();
  /// Likewise the sums of all that was ever allocated and freed, and the number of failures, at zero.
  void reset_accumulated();
};

class DeviceMemory;

/// The memory of one device tensor. Gives everything back when it dies.
class DeviceAllocation {
 public:
  ~DeviceAllocation();
  DeviceAllocation(const DeviceAllocation&) = delete;
  DeviceAllocation& operator=(const DeviceAllocation&) = delete;

  const std::shared_ptr<const addressing::TensorDescriptor>& descriptor() const { return descriptor_; }
  /// Slice-local address of each of the descriptor's stored() boxes: of an array the one that its shares have in all
  /// of its slices.
  const std::vector<std::uint64_t>& addresses() const { return addresses_; }
  Bytes shard_bytes(std::size_t shard) const;
  /// What it takes of slices.
  struct Held {
    PeCoordinate slice;
    std::uint64_t address = 0;
    Bytes bytes;
  };
  const std::vector<Held>& held() const { return held_; }

 private:
  friend class DeviceMemory;
  explicit DeviceAllocation(DeviceMemory& memory) : memory_(memory) {}

  DeviceMemory& memory_;
  std::uint64_t number_ = 0;
  SipId sip_;
  Bytes requested_, allocated_;
  std::shared_ptr<const addressing::TensorDescriptor> descriptor_;
  std::vector<std::uint64_t> addresses_;
  std::vector<Held> held_;
};

/// All HBM slices of the machine. Must outlive its allocations.
class DeviceMemory {
 public:
  /// `listener` may be null. Shards are aligned to the topology's MMU page.
  DeviceMemory(const topology::Topology& topology, addressing::VirtualAddressSpace& addresses,
               MemoryListener* listener = nullptr);

  /// Memory for a tensor on `part`, placed by `policy`. OutOfMemoryError says who asked for how much, what is free, and
  /// what the largest live tensors on that slice are.
  std::shared_ptr<const DeviceAllocation> allocate(const DevicePart& part, Name name, DType dtype,
                                                   std::span<const std::int64_t> shape, const DPPolicy& policy);

  /// Bytes of a slice that are no tensor's: slots of queues. Nothing when there is no block large enough.
  std::optional<std::uint64_t> reserve(PeCoordinate at, Bytes bytes) { return slice(at).allocate(bytes); }
  void give_back(PeCoordinate at, std::uint64_t address, Bytes bytes) { slice(at).free(address, bytes); }

  Bytes free_bytes(PeCoordinate slice) const;
  /// The least that is free in a slice of a SIP.
  Bytes least_free_bytes(SipId sip) const;
  Bytes slice_capacity() const { return slice_capacity_; }
  /// Of a slice, what tensors can have: whole pages.
  Bytes usable_slice_capacity() const { return SliceAllocator(slice_capacity_, topology_.pe.mmu.page).capacity(); }

  /// "element [0, 3] of x": what lies at an address of a slice; of an interleaved tensor its name. Empty: nothing.
  std::string place_text(PeCoordinate at, std::uint64_t address) const;
  /// "x": the tensor that has the address of a slice. Empty: none.
  std::string tensor_at(PeCoordinate at, std::uint64_t address) const;

  MemoryStatistics& statistics(SipId sip) { return statistics_[sip]; }
  /// HBM of a SIP that tensors can have: all whole pages of all its slices.
  Bytes sip_capacity() const;

 private:
  friend class DeviceAllocation;
  struct Layout;
  SliceAllocator& slice(PeCoordinate at);
  void release(DeviceAllocation& allocation);
  void place(const ShardSpec& box, Layout& layout);
  void place(const ShardSpec& box, const Interleaving& how, Layout& layout);
  std::optional<std::uint64_t> common_room(const InterleavedRegion& region, Bytes share);
  [[noreturn]] void give_up(Layout& layout, const std::string& message);
  std::string largest_tensors(PeCoordinate at) const;
  [[noreturn]] void fail(Layout& layout, PeCoordinate at, Bytes request);
  [[noreturn]] void fail(Layout& layout, const InterleavedRegion& region, Bytes share);

  const topology::Topology topology_;
  addressing::VirtualAddressSpace& addresses_;
  MemoryListener* listener_;
  Bytes slice_capacity_;
  std::uint64_t next_number_ = 0;
  std::map<PeCoordinate, SliceAllocator> slices_;
  std::map<std::uint64_t, const DeviceAllocation*> live_;  // by order of allocation
  std::map<SipId, MemoryStatistics> statistics_;
};

}  // namespace kernbench::tensor
