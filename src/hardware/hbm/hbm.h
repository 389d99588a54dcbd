// A PE's HBM slice: its own channels of the cube's HBM stack.
#pragma once

#include <cstdint>

#include "base/coordinates.h"
#include "hardware/fabric/fabric.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// One channel of a slice. Reads and writes share it.
ServerSpec hbm_channel_spec(const topology::HbmSpec& hbm, PeCoordinate slice, std::int32_t channel,
                            event::AgentId agent);

}  // namespace kernbench::hardware
