// Builds the result of a launch that has completed.
#pragma once

#include "hardware/launch/launch.h"
#include "hardware/machine.h"
#include "kernbench/result.h"
#include "runtime/streams/launches.h"
#include "tile/explain/explainer.h"
#include "tile/program/launch_record.h"

namespace kernbench::runtime {

/// Without an explainer, what only explains is left out: breakdown, critical path, waits, operations.
/// The lists are cut: what is beyond them is summed up in one last entry, so that sums stay right.
LaunchResult launch_result(const LaunchPlan& plan, const hardware::Machine& machine, const hardware::LaunchTimes& times,
                           const tile::LaunchRecord& record, tile::Explainer* explainer);

}  // namespace kernbench::runtime
