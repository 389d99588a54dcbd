#include "hardware/sram/sram.h"

#include "topology/buffers.h"

namespace kernbench::hardware {

ServerSpec sram_spec(const topology::CubeSpec& cube, CubeCoordinate at, sim::AgentId agent) {
  ServerSpec spec;
  spec.part = {PartKind::sram, at};
  spec.name = to_text(spec.part);
  spec.bandwidth = cube.sram.bandwidth;
  spec.latency = cube.sram.latency;
  spec.buffer = cube.noc.link.buffer.value_or(topology::derived_buffer(cube.sram.bandwidth, cube.sram.latency, cube));
  spec.agent = agent;
  return spec;
}

}  // namespace kernbench::hardware
