#include "perf/credibility/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "perf/credibility/random_choice.h"

namespace kernbench::credibility {

namespace {

/// A value of the shipped machines beside its halves and doubles.
struct Varied {
  const char* key;
  std::vector<const char*> values;
};

const std::vector<Varied>& varied() {
  static const std::vector<Varied> all{
      {"cube.noc.link.bandwidth", {"64GB/s", "256GB/s"}},
      {"cube.noc.link.latency", {"1ns", "4ns", "10ns"}},
      {"sip.cubes.link.bandwidth", {"64GB/s", "128GB/s", "512GB/s"}},
      {"sip.cubes.link.latency", {"4ns", "20ns"}},
      {"system.sips.link.bandwidth", {"50GB/s", "100GB/s", "400GB/s"}},
      {"system.sips.link.latency", {"250ns", "1us"}},
      {"host.link.bandwidth", {"32GB/s", "128GB/s"}},
      {"host.launch_overhead", {"1us", "4us"}},
      {"cube.hbm.latency", {"45ns", "200ns"}},
      {"cube.hbm.access", {"32B", "128B"}},
      {"pe.clock", {"500MHz", "1.5GHz", "2GHz"}},
      {"pe.gemm.array", {"[32, 32]", "[128, 128]", "[64, 32]"}},
      {"pe.vector.lanes", {"64", "256"}},
      {"pe.tcm.bandwidth", {"256GB/s", "1TB/s"}},
      {"pe.tcm.capacity", {"2MiB", "8MiB"}},
      {"pe.control.issue", {"2ns", "10ns"}},
      {"pe.dma.setup", {"15ns", "100ns"}},
      {"pe.dma.queues", {"2", "8"}},
      {"pe.dma.outstanding", {"2", "8"}},
      {"pe.mmu.miss", {"60ns", "240ns"}},
  };
  return all;
}

/// Bandwidth of a cube: what a PE of the shipped machines has, halved, or doubled.
std::string hbm_bandwidth(std::mt19937_64& random, int pes_of_cube) {
  return fmt::format("cube.hbm.bandwidth={}GB/s",
                     pes_of_cube * one_of(random, std::vector<int>{25, 75, 150, 150, 300}));
}

}  // namespace

Machine random_machine(std::mt19937_64& random, int sips) {
  Machine machine;
  int pes_of_cube = 2;
  if (one_of(random, std::vector<int>{0, 1}) == 0) {
    machine.topology = "tiny";
    if (sips <= 4)
      machine.overrides.push_back(
          fmt::format("sip.cubes.mesh={}", one_of(random, std::vector<const char*>{"[1, 1]", "[2, 1]", "[2, 2]"})));
  } else {
    machine.topology = "ahbm-1sip";
    pes_of_cube = sips == 1 ? 8 : 4;
    machine.overrides.emplace_back(
        sips == 1   ? one_of(random, std::vector<const char*>{"sip.cubes.mesh=[2, 1]", "sip.cubes.mesh=[2, 2]",
                                                              "sip.cubes.mesh=[4, 1]"})
        : sips <= 4 ? "sip.cubes.mesh=[2, 1]"
                    : "sip.cubes.mesh=[1, 1]");
    if (sips > 1) machine.overrides.emplace_back("cube.pes.mesh=[2, 2]");
  }
  machine.overrides.push_back(hbm_bandwidth(random, pes_of_cube));
  const std::size_t changes = random() % 5;
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t index = random() % varied().size();
    if (std::ranges::find(taken, index) != taken.end()) continue;
    taken.push_back(index);
    machine.overrides.push_back(fmt::format("{}={}", varied()[index].key, one_of(random, varied()[index].values)));
  }
  return with_sips(std::move(machine), sips);
}

const std::vector<Machine>& fixed_machines() {
  static const std::vector<Machine> all{
      {"tiny", {}},
      {"tiny", {"sip.cubes.mesh=[2, 2]"}},
      {"tiny", {"cube.hbm.bandwidth=50GB/s"}},
      {"tiny", {"pe.clock=2GHz", "pe.gemm.array=[32, 32]"}},
      {"tiny", {"sip.cubes.mesh=[2, 2]", "cube.noc.link.latency=10ns", "cube.hbm.latency=200ns"}},
      {"ahbm-1sip", {"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[2, 2]", "cube.hbm.bandwidth=600GB/s"}},
      {"ahbm-1sip", {"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[2, 2]", "cube.hbm.bandwidth=200GB/s"}},
      {"ahbm-1sip",
       {"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[4, 1]", "sip.cubes.link.bandwidth=64GB/s", "pe.gemm.array=[128, 128]",
        "cube.hbm.bandwidth=600GB/s"}},
  };
  return all;
}

Machine with_sips(Machine machine, int sips) {
  if (sips > 1) machine.overrides.push_back(fmt::format("system.sips.count={}", sips));
  return machine;
}

}  // namespace kernbench::credibility
