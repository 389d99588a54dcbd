// The figures of kernbench/memory.h.
#include "kernbench/memory.h"
#include "runtime/context.h"
#include "runtime/simulated_devices.h"

namespace kernbench::torch::ahbm {

namespace {

runtime::MemoryStatistics& statistics(const char* call, int device) {
  auto& context = runtime::current_context(call);
  if (device < 0) device = context.device;
  runtime::check_device(context.simulation, device);
  return context.simulation.memory().statistics(SipId{device});
}

void insert(std::map<std::string, std::int64_t>& figures, const std::string& kind, const runtime::MemoryCount& count) {
  figures[kind + ".all.current"] = count.current;
  figures[kind + ".all.peak"] = count.peak;
  figures[kind + ".all.allocated"] = count.allocated;
  figures[kind + ".all.freed"] = count.freed;
}

}  // namespace

std::int64_t memory_allocated(int device) {
  return statistics("memory_allocated", device).allocated.current;
}

std::int64_t max_memory_allocated(int device) {
  return statistics("max_memory_allocated", device).allocated.peak;
}

std::int64_t memory_reserved(int device) {
  return statistics("memory_reserved", device).allocated.current;
}

std::int64_t max_memory_reserved(int device) {
  return statistics("max_memory_reserved", device).allocated.peak;
}

std::map<std::string, std::int64_t> memory_stats(int device) {
  const auto& counts = statistics("memory_stats", device);
  std::map<std::string, std::int64_t> figures;
  insert(figures, "allocation", counts.tensors);
  insert(figures, "requested_bytes", counts.requested);
  insert(figures, "allocated_bytes", counts.allocated);
  insert(figures, "reserved_bytes", counts.allocated);
  figures["num_ooms"] = counts.out_of_memory;
  figures["num_alloc_retries"] = 0;
  return figures;
}

void reset_peak_memory_stats(int device) {
  statistics("reset_peak_memory_stats", device).reset_peak();
}

void reset_accumulated_memory_stats(int device) {
  statistics("reset_accumulated_memory_stats", device).reset_accumulated();
}

void empty_cache() {
  runtime::require_host_context("empty_cache");
}

std::pair<std::int64_t, std::int64_t> get_memory_info(int device) {
  const std::int64_t held = statistics("get_memory_info", device).allocated.current;
  const std::int64_t total = runtime::current_context("get_memory_info").simulation.memory().sip_capacity().count();
  return {total - held, total};
}

std::pair<std::int64_t, std::int64_t> mem_get_info(int device) {
  return get_memory_info(device);
}

}  // namespace kernbench::torch::ahbm
