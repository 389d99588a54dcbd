// The figures of kernbench/memory.h.
#include <fmt/format.h>

#include "kernbench/error.h"
#include "kernbench/memory.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"

namespace kernbench::torch::ahbm {

DeviceIndex::DeviceIndex(const Device& device) : value_(device.index()) {
  if (!device.is_ahbm())
    throw ValueError(fmt::format("memory of {} is not counted: give an index, or an \"ahbm\" device", device.str()));
}

namespace {

/// The device that a call is about.
SipId device_of(const char* call, const DeviceIndex& device) {
  const auto& context = runtime::current_context(call);
  const int index = device.value() < 0 ? context.device : device.value();
  runtime::check_device(context.simulation, index);
  return SipId{index};
}

tensor::DeviceMemory& memory(const char* call) {
  return runtime::current_context(call).simulation.memory();
}

tensor::MemoryStatistics& statistics(const char* call, const DeviceIndex& device) {
  const SipId sip = device_of(call, device);
  return memory(call).statistics(sip);
}

void insert(std::map<std::string, std::int64_t>& figures, const std::string& kind, const tensor::MemoryCount& count) {
  figures[kind + ".all.current"] = count.current;
  figures[kind + ".all.peak"] = count.peak;
  figures[kind + ".all.allocated"] = count.allocated;
  figures[kind + ".all.freed"] = count.freed;
}

}  // namespace

std::int64_t memory_allocated(const DeviceIndex& device) {
  return statistics("memory_allocated", device).allocated.current;
}

std::int64_t max_memory_allocated(const DeviceIndex& device) {
  return statistics("max_memory_allocated", device).allocated.peak;
}

std::int64_t memory_reserved(const DeviceIndex& device) {
  return statistics("memory_reserved", device).allocated.current;
}

std::int64_t max_memory_reserved(const DeviceIndex& device) {
  return statistics("max_memory_reserved", device).allocated.peak;
}

std::map<std::string, std::int64_t> memory_stats(const DeviceIndex& device) {
  const auto& counts = statistics("memory_stats", device);
  std::map<std::string, std::int64_t> figures;
  insert(figures, "allocation", counts.tensors);
  insert(figures, "active", counts.tensors);
  insert(figures, "segment", counts.shards);
  insert(figures, "inactive_split", {});
  insert(figures, "requested_bytes", counts.requested);
  for (const char* kind : {"allocated_bytes", "active_bytes", "reserved_bytes"})
    insert(figures, kind, counts.allocated);
  insert(figures, "inactive_split_bytes", {});
  figures["num_ooms"] = counts.out_of_memory;
  figures["num_device_alloc"] = counts.shards.allocated;
  figures["num_device_free"] = counts.shards.freed;
  for (const char* never : {"num_alloc_retries", "num_sync_all_streams"}) figures[never] = 0;
  figures["max_split_size"] = -1;
  return figures;
}

void reset_peak_memory_stats(const DeviceIndex& device) {
  statistics("reset_peak_memory_stats", device).reset_peak();
}

void reset_accumulated_memory_stats(const DeviceIndex& device) {
  statistics("reset_accumulated_memory_stats", device).reset_accumulated();
}

void empty_cache() {
  tensor::require_host_context("empty_cache");
}

std::pair<std::int64_t, std::int64_t> get_memory_info(const DeviceIndex& device) {
  const std::int64_t held = statistics("get_memory_info", device).allocated.current;
  const std::int64_t total = memory("get_memory_info").sip_capacity().count();
  return {total - held, total};
}

std::pair<std::int64_t, std::int64_t> mem_get_info(const DeviceIndex& device) {
  return get_memory_info(device);
}

std::pair<std::int64_t, std::int64_t> get_fullest_slice_info(const DeviceIndex& device) {
  const SipId sip = device_of("get_fullest_slice_info", device);
  const auto& slices = memory("get_fullest_slice_info");
  return {slices.least_free_bytes(sip).count(), slices.usable_slice_capacity().count()};
}

}  // namespace kernbench::torch::ahbm
