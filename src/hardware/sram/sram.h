// The SRAM that the PEs of a cube share.
#pragma once

#include "hardware/fabric/fabric.h"
#include "kernbench/coordinates.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// One server for the whole cube; reads and writes share it.
ServerSpec sram_spec(const topology::CubeSpec& cube, CubeCoordinate at, sim::AgentId agent);

}  // namespace kernbench::hardware
