// The grid of a SIP's routers, one for each PE: see Network.
#pragma once

#include <cstdint>

#include "kernbench/coordinates.h"
#include "topology/spec.h"

namespace kernbench::topology {

/// A router's place in the grid: x to the east, y to the south.
struct RouterPlace {
  std::int32_t x = 0;
  std::int32_t y = 0;
};

inline RouterPlace router_place(const Topology& topology, CubeId cube, PeId pe) {
  const MeshExtent cubes = topology.sip.cubes, pes = topology.cube.pes;
  return {cube.value % cubes.width * pes.width + pe.value % pes.width,
          cube.value / cubes.width * pes.height + pe.value / pes.width};
}

}  // namespace kernbench::topology
