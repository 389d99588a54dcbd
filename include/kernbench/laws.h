// Closed forms of the timing model (docs/model.md), for programs that compare a measured time with them.
#pragma once

#include <cstdint>

#include "kernbench/memory.h"
#include "kernbench/units.h"

namespace kernbench::torch::ahbm {

// All of this takes no simulated time. ProgramError outside of a simulation or inside a kernel.

/// From the end of a launch to the first instruction of the one that waits behind it in its stream, at the device: of
/// single programs on the PE of the device that this takes longest for, with nothing else under way.
Time launch_turn(const DeviceIndex& device = -1);

/// What the HBM of a device yields: its bandwidth times its efficiency.
Bandwidth hbm_bandwidth(const DeviceIndex& device = -1);

/// Launches that the calling worker has given to devices, those of functions and collectives among them, and those of a
/// graph at each replay.
std::int64_t launches_given();

}  // namespace kernbench::torch::ahbm
