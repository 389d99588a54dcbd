#include "perf/credibility/resources.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>

namespace kernbench::credibility {

const std::vector<Resource>& resources() {
  static const std::vector<Resource> all{
      {"HBM bandwidth", {{"cube.hbm.bandwidth"}}},
      {"HBM channels", {{"cube.hbm.channels"}, {"cube.hbm.bandwidth"}}},  // each as fast as before
      {"HBM latency", {{"cube.hbm.latency", 0.5}}},
      {"HBM buffers", {{"cube.hbm.buffer"}}},
      {"NoC bandwidth", {{"cube.noc.link.bandwidth"}}},
      {"NoC latency", {{"cube.noc.link.latency", 0.5}}},
      {"NoC buffers", {{"cube.noc.link.buffer"}}},
      {"SRAM bandwidth", {{"cube.sram.bandwidth"}}},
      {"cube link bandwidth", {{"sip.cubes.link.bandwidth"}}},
      {"cube link latency", {{"sip.cubes.link.latency", 0.5}}},
      {"cube link buffers", {{"sip.cubes.link.buffer"}}},
      {"SIP link bandwidth", {{"system.sips.link.bandwidth"}}},
      {"SIP link latency", {{"system.sips.link.latency", 0.5}}},
      {"SIP link buffers", {{"system.sips.link.buffer"}}},
      {"host link bandwidth", {{"host.link.bandwidth"}}},
      {"host link latency", {{"host.link.latency", 0.5}}},
      {"host link buffers", {{"host.link.buffer"}}},
      {"launch overhead", {{"host.launch_overhead", 0.5}}},
      {"IO_CPU latency", {{"sip.io.cpu_latency", 0.5}}},
      {"M_CPU latency", {{"cube.m_cpu.latency", 0.5}}},
      {"clock", {{"pe.clock"}}},
      {"control issue", {{"pe.control.issue", 0.5}}},
      {"control start", {{"pe.control.start_latency", 0.5}}},
      {"scalar read", {{"pe.control.scalar_read", 0.5}}},
      {"TCM capacity", {{"pe.tcm.capacity"}}},
      {"TCM bandwidth", {{"pe.tcm.bandwidth"}}},
      {"TCM buffers", {{"pe.tcm.buffer"}}},
      {"array columns", {{"pe.gemm.array", 2, 0}}},
      {"array rows", {{"pe.gemm.array", 2, 1}}},
      {"GEMM queue", {{"pe.gemm.queue"}}},
      {"vector lanes", {{"pe.vector.lanes"}}},
      {"vector start-up", {{"pe.vector.startup_cycles", 0.5}}},
      {"vector queue", {{"pe.vector.queue"}}},
      {"DMA queues", {{"pe.dma.queues"}}},
      {"DMA depth", {{"pe.dma.depth"}}},
      {"DMA outstanding", {{"pe.dma.outstanding"}, {"pe.dma.depth"}}},
      {"DMA set-up", {{"pe.dma.setup", 0.5}}},
      {"IPCQ queues", {{"pe.ipcq.queues"}}},
      {"IPCQ depth", {{"pe.ipcq.depth"}}},
      {"IPCQ latencies", {{"pe.ipcq.meta_latency", 0.5}, {"pe.ipcq.wake", 0.5}, {"pe.ipcq.poll_interval", 0.5}}},
      {"TLB entries", {{"pe.mmu.tlb_entries"}}},
      {"TLB walkers", {{"pe.mmu.walkers"}}},
      {"TLB miss", {{"pe.mmu.miss", 0.5}}},
  };
  return all;
}

std::optional<std::string> scaled(const std::string& value, double factor, int element) {
  std::string result;
  int number = 0;
  std::size_t at = 0;
  bool changed = false;
  while (at < value.size()) {
    if (std::isdigit(static_cast<unsigned char>(value[at])) == 0) {
      result += value[at++];
      continue;
    }
    char* end = nullptr;
    const double old = std::strtod(value.c_str() + at, &end);
    const bool takes_part = element < 0 || element == number;
    changed = changed || (takes_part && old > 0);
    result += fmt::format("{:.12g}", takes_part ? old * factor : old);
    at = static_cast<std::size_t>(end - value.c_str());
    ++number;
  }
  return changed ? std::optional(result) : std::nullopt;
}

std::optional<std::vector<std::string>> doubled(const Resource& resource, const Values& values) {
  std::vector<std::string> overrides;
  for (const Change& change : resource.changes) {
    const auto found = values.find(change.key);
    if (found == values.end()) continue;
    const auto value = scaled(found->second, change.factor, change.element);
    // Half of an odd number of cycles is no number of cycles.
    const bool whole = change.key != "pe.vector.startup_cycles" || !value || value->find('.') == std::string::npos;
    if (value && whole) overrides.push_back(change.key + "=" + *value);
  }
  return overrides.empty() ? std::nullopt : std::optional(overrides);
}

}  // namespace kernbench::credibility
