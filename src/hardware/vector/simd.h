// The "simd" vector engine: groups of lanes, one after the other, bounded by the TCM's bandwidth.
#pragma once

#include <cstdint>

#include "hardware/command.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// startup + groups * cycles[command] + levels * cycles[reduce_level], at least 1, with
///   width  = max(item_bytes, narrowest)
///   groups = ceil(elements * width / (4 B * lanes))           a 64-bit element takes two lanes
///   levels = ceil(log2(min(reduced, 4 B * lanes / width)))    0 unless it is a reduction
/// Of a fused command: startup once, and once more behind each reduction, scan, gather or sort, and the rest of each
/// operation.
std::int64_t simd_cycles(const topology::VectorSpec& spec, const VectorWork& work);

/// From the first clock edge at or after `start`, simd_cycles() later, or at the first edge at which the operands can
/// have passed the TCM port of the engines, whichever is later.
Time simd_end(const topology::PeSpec& pe, const Command& command, Time start);

}  // namespace kernbench::hardware
