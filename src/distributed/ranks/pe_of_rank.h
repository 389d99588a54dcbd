// Where ranks lie that have a PE each.
#pragma once

#include <cstdint>

#include "kernbench/coordinates.h"
#include "topology/spec.h"

namespace kernbench::distributed {

/// The PE of that number in the machine: SIP by SIP, cube by cube, PE by PE.
inline PeCoordinate pe_of_rank(int rank, const topology::Topology& topology) {
  const std::int64_t pes = topology.pes_per_sip(), in_sip = rank % pes, pes_of_cube = topology.cube.pes.count();
  return {SipId{static_cast<std::int32_t>(rank / pes)}, CubeId{static_cast<std::int32_t>(in_sip / pes_of_cube)},
          PeId{static_cast<std::int32_t>(in_sip % pes_of_cube)}};
}

}  // namespace kernbench::distributed
