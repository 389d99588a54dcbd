// Builds the result of a launch that has completed.
#pragma once

#include "hardware/launch/launch.h"
#include "hardware/machine.h"
#include "kernbench/result.h"
#include "runtime/streams/launches.h"
#include "tile/explain/explainer.h"
#include "tile/program/launch_record.h"

namespace kernbench::runtime {

constexpr std::size_t kMostWaits = 64;  // in the result of a launch, or of several that are added up

/// Without an explainer, what only explains is left out: breakdown, critical path, waits, operations.
/// The lists are cut: what is beyond them is summed up in one last entry, so that sums stay right.
LaunchResult launch_result(const LaunchPlan& plan, const hardware::Machine& machine, const hardware::LaunchTimes& times,
                           const tile::LaunchRecord& record, const tile::Explainer* explainer);

/// All waits and operations, the longest first; of the waits the last one stands for what is beyond the limit.
std::vector<WaitResult> waits_of(const tile::LaunchAccount& account);
std::vector<OperationResult> operations_of(const tile::LaunchAccount& account);

}  // namespace kernbench::runtime
