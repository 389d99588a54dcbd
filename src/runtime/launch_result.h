// What a launch that has completed tells in the result.
#pragma once

#include "hardware/launch/launch.h"
#include "kernbench/result.h"
#include "kernel/program.h"
#include "topology/spec.h"

namespace kernbench::runtime {

/// The lists are cut: what is beyond them is summed up in one last entry, so that sums stay right.
LaunchResult launch_result(int device, const topology::Topology& topology, const hardware::LaunchTimes& times,
                           const kernel::LaunchRecord& record, const kernel::TraceStore& traces);

}  // namespace kernbench::runtime
