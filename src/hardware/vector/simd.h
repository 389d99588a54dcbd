// The "simd" vector engine: groups of lanes, one after the other, bounded by the TCM's bandwidth.
#pragma once

#include <cstdint>

#include "hardware/operation.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// startup + ceil(elements / lanes) * cycles_per_group + reduction_levels. Requires elements > 0.
std::int64_t simd_cycles(const topology::VectorSpec& spec, const VectorWork& work);

/// From the first clock edge at or after `start`, simd_cycles() later, or at the first edge at which the operands can
/// have passed the TCM port of the engines, whichever is later.
Time simd_end(const topology::PeSpec& pe, const Operation& operation, Time start);

}  // namespace kernbench::hardware
