// What the tensors of a device hold of its HBM, in PyTorch's words. What Python has in torch.cuda and
// torch.accelerator is here torch::ahbm::… and torch::accelerator::….
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace kernbench::torch::ahbm {

// A negative device is the current one. All of this is known at once, takes no simulated time, and is right in every
// mode (also under --no-data). Memory of a tensor counts until the last handle is gone and the last command that uses
// it has completed.

/// Bytes that tensors of the device take now: all shards and replicas, in whole pages (`pe.mmu.page`).
std::int64_t memory_allocated(int device = -1);
/// The most that it ever was, or since reset_peak_memory_stats.
std::int64_t max_memory_allocated(int device = -1);
/// What the allocator holds of the device. It keeps nothing back for later, so this is memory_allocated.
std::int64_t memory_reserved(int device = -1);
std::int64_t max_memory_reserved(int device = -1);
/// Figures by PyTorch's names: KIND.all.{current,peak,allocated,freed} for the kinds `allocation` (tensors),
/// `requested_bytes` (of elements), `allocated_bytes` and `reserved_bytes` (in whole pages); `num_ooms`, and
/// `num_alloc_retries`, which is always 0.
std::map<std::string, std::int64_t> memory_stats(int device = -1);
/// The peaks begin again at what is held now.
void reset_peak_memory_stats(int device = -1);
/// `allocated` and `freed` of memory_stats, and num_ooms, begin again at 0.
void reset_accumulated_memory_stats(int device = -1);
/// Nothing: no memory is kept back. It is there for programs that call it.
void empty_cache();
/// Free and total bytes of the device's HBM, over all its slices; a tensor may still be too large for one of them.
std::pair<std::int64_t, std::int64_t> get_memory_info(int device = -1);
/// The same, as torch.cuda calls it.
std::pair<std::int64_t, std::int64_t> mem_get_info(int device = -1);

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
