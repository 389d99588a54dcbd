// What the tensors of a device hold of its HBM, in PyTorch's words. What Python has in torch.cuda and
// torch.accelerator is here torch::ahbm::… and torch::accelerator::….
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "kernbench/torch/types.h"

namespace kernbench::torch::ahbm {

/// Which device is meant: its index (negative: the current one), a torch::Device or its text ("ahbm:1"). ValueError for
/// a device that is no ahbm.
class DeviceIndex {
 public:
  DeviceIndex(int index) : value_(index) {}                                      // NOLINT(google-explicit-constructor)
  DeviceIndex(const Device& device);                                             // NOLINT(google-explicit-constructor)
  DeviceIndex(const std::string& device) : DeviceIndex(Device(device)) {}        // NOLINT(google-explicit-constructor)
  DeviceIndex(const char* device) : DeviceIndex(Device(std::string(device))) {}  // NOLINT(google-explicit-constructor)
  /// Negative: the current one.
  int value() const { return value_; }

 private:
  int value_;
};

// All of this is known at once, takes no simulated time, and is right in every
// mode (also under --no-data). Memory of a tensor counts until the last handle is gone and the last command that uses
// it has completed.

/// Bytes that tensors of the device take now: all shards and replicas, in whole pages (`pe.mmu.page`).
std::int64_t memory_allocated(const DeviceIndex& device = -1);
/// The most that it ever was, or since reset_peak_memory_stats.
std::int64_t max_memory_allocated(const DeviceIndex& device = -1);
/// What the allocator holds of the device. It keeps nothing back for later, so this is memory_allocated.
std::int64_t memory_reserved(const DeviceIndex& device = -1);
std::int64_t max_memory_reserved(const DeviceIndex& device = -1);
/// Figures by PyTorch's names, KIND.all.{current,peak,allocated,freed}: `allocation` and `active` count tensors,
/// `segment` their shards and replicas; `requested_bytes` are those of elements, `allocated_bytes`, `active_bytes` and
/// `reserved_bytes` those of whole pages; `inactive_split` and `inactive_split_bytes` stay 0. Beside them `num_ooms`,
/// `num_device_alloc` and `num_device_free` (of shards), `num_alloc_retries` and `num_sync_all_streams` (0), and
/// `max_split_size` (-1). There is one pool, so that no key says `large_pool` or `small_pool`.
std::map<std::string, std::int64_t> memory_stats(const DeviceIndex& device = -1);
/// The peaks begin again at what is held now.
void reset_peak_memory_stats(const DeviceIndex& device = -1);
/// `allocated` and `freed` of memory_stats and all that begins with `num_` begin again at 0.
void reset_accumulated_memory_stats(const DeviceIndex& device = -1);
/// Nothing: no memory is kept back. It is there for programs that call it.
void empty_cache();
/// Free and total bytes of the device's HBM, over all its slices; a tensor may still be too large for one of them.
std::pair<std::int64_t, std::int64_t> get_memory_info(const DeviceIndex& device = -1);
/// Free and total bytes of the slice (a PE's part of the HBM) that has the least left: what a tensor of which every PE
/// holds a shard can count on. KernBench only.
std::pair<std::int64_t, std::int64_t> get_fullest_slice_info(const DeviceIndex& device = -1);
/// get_memory_info, as torch.cuda calls it.
std::pair<std::int64_t, std::int64_t> mem_get_info(const DeviceIndex& device = -1);

}  // namespace kernbench::torch::ahbm

namespace kernbench::torch::accelerator {
using ahbm::empty_cache;
using ahbm::get_memory_info;
using ahbm::max_memory_allocated;
using ahbm::max_memory_reserved;
using ahbm::memory_allocated;
using ahbm::memory_reserved;
using ahbm::memory_stats;
using ahbm::reset_accumulated_memory_stats;
using ahbm::reset_peak_memory_stats;
}  // namespace kernbench::torch::accelerator
