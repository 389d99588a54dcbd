#include "hardware/layout.h"

#include <string>

#include "kernbench/error.h"

namespace kernbench::hardware {
namespace {

void require_indexable(std::int64_t count, const std::string& what) {
  if (count <= kAgentIndexLimit) return;
  throw ConfigurationError("the machine has " + std::to_string(count) + " " + what + ", but at most " +
                           std::to_string(kAgentIndexLimit) + " are possible: describe a smaller machine");
}

std::int32_t channels_per_slice(const topology::CubeSpec& cube) {
  if (cube.hbm.channels >= cube.pes.count() && cube.hbm.channels % cube.pes.count() == 0) {
    return cube.hbm.channels / cube.pes.count();
  }
  throw ConfigurationError("cube.hbm.channels is " + std::to_string(cube.hbm.channels) + ", but each of the " +
                           std::to_string(cube.pes.count()) +
                           " PEs of a cube owns an equal number of channels: make it a multiple of the PE count");
}

}  // namespace

Layout::Layout(const topology::Topology& topology, std::size_t links, bool alike)
    : alike_(alike),
      sips_(topology.system.sips),
      cubes_per_sip_(topology.sip.cubes.count()),
      pes_per_cube_(topology.cube.pes.count()),
      links_(static_cast<std::int64_t>(links)),
      channels_(channels_per_slice(topology.cube)),
      contexts_(topology.pe.contexts),
      queues_(topology.pe.ipcq.queues) {
  require_indexable(server_count(), "links, HBM channels, TCM ports and SRAMs");
  require_indexable(pe_count() * (2 * queues_ + 1), "inter-PE queues");
  require_indexable(pe_count() * contexts_, "program contexts");
  require_indexable(2 * sips_ + cube_count() + 2 * pe_count(), "processors");
}

bool Layout::contains(PeCoordinate at) const {
  return at.sip.value >= 0 && at.sip.value < sips_ && at.cube.value >= 0 && at.cube.value < cubes_per_sip_ &&
         at.pe.value >= 0 && at.pe.value < pes_per_cube_;
}

CubeCoordinate Layout::cube_at(std::int64_t index) const {
  return {SipId{static_cast<std::int32_t>(index / cubes_per_sip_)},
          CubeId{static_cast<std::int32_t>(index % cubes_per_sip_)}};
}

PeCoordinate Layout::pe_at(std::int64_t index) const {
  const CubeCoordinate cube = cube_at(index / pes_per_cube_);
  return {cube.sip, cube.cube, PeId{static_cast<std::int32_t>(index % pes_per_cube_)}};
}

ServerId Layout::channel(PeCoordinate slice, std::int32_t channel) const {
  return {static_cast<std::uint32_t>(links_ + pe_index(slice) * (channels_ + 1) + channel)};
}

ServerId Layout::sram(CubeCoordinate cube) const {
  return {static_cast<std::uint32_t>(links_ + pe_count() * (channels_ + 1) + cube_index(cube))};
}

sim::AgentId Layout::ipcq_agent(PeCoordinate pe, std::int32_t entry, bool receives) const {
  return make_agent(AgentKind::ipcq, pe_index(pe) * (2 * queues_ + 1) + (receives ? queues_ : 0) + entry);
}

sim::AgentId Layout::window_agent(PeCoordinate pe) const {
  return make_agent(AgentKind::ipcq, pe_index(pe) * (2 * queues_ + 1) + 2 * queues_);
}

sim::AgentId Layout::program_agent(PeCoordinate pe, std::int32_t context) const {
  return make_agent(AgentKind::program, pe_index(pe) * contexts_ + context);
}

sim::AgentId Layout::m_cpu_agent(CubeCoordinate cube) const {
  return make_agent(AgentKind::cpu, 2 * sips_ + cube_index(cube));
}

sim::AgentId Layout::control_agent(PeCoordinate pe) const {
  return make_agent(AgentKind::cpu, 2 * sips_ + cube_count() + pe_index(pe));
}

sim::AgentId Layout::scheduler_agent(PeCoordinate pe) const {
  return make_agent(AgentKind::cpu, 2 * sips_ + cube_count() + pe_count() + pe_index(pe));
}

sim::AgentId Layout::host_agent(std::int32_t rank) const {
  if (rank < -1 || rank + std::int64_t{1} >= kHostPorts) {
    throw ValueError("rank " + std::to_string(rank) + " is out of range: at most " + std::to_string(kHostPorts - 1) +
                     " host workers are possible");
  }
  return make_agent(AgentKind::host, rank + std::int64_t{1});
}

}  // namespace kernbench::hardware
