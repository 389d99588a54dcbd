#include "tile/program/environment.h"

namespace kernbench::tile {

DeviceBytes::DeviceBytes(numerics::Executor& executor, const topology::Topology& topology)
    : executor_(executor),
      cubes_(topology.sip.cubes.count()),
      pes_(topology.cube.pes.count()),
      slices_(static_cast<std::size_t>(topology.system.sips) * static_cast<std::size_t>(topology.pes_per_sip())) {}

numerics::Memory& DeviceBytes::slice(PeCoordinate at) {
  const std::int64_t index = (std::int64_t{at.sip.value} * cubes_ + at.cube.value) * pes_ + at.pe.value;
  auto& memory = slices_[static_cast<std::size_t>(index)];
  if (!memory) memory = std::make_unique<numerics::Memory>(executor_);
  return *memory;
}

}  // namespace kernbench::tile
