// Builds the result of a launch that has completed.
#pragma once

#include <array>
#include <vector>

#include "hardware/launch/launch.h"
#include "hardware/machine.h"
#include "kernbench/result.h"
#include "runtime/streams/launches.h"
#include "tile/explain/explainer.h"
#include "tile/explain/text_store.h"
#include "tile/program/launch_record.h"

namespace kernbench::runtime {

/// Without an explainer, what only explains is left out: breakdown, critical path, waits, operations.
/// The lists are cut: what is beyond them is summed up in one last entry, so that sums stay right.
LaunchResult launch_result(const LaunchPlan& plan, const hardware::Machine& machine, const hardware::LaunchTimes& times,
                           const tile::LaunchRecord& record, const tile::Explainer* explainer, tile::TextStore& texts);

/// What the time of a launch is divided into, from its request to its completion.
inline constexpr std::array<const char*, 7> kBreakdownCategories{"dispatch", "gemm",    "vector",    "dma",
                                                                 "messages", "control", "completion"};
/// The time of each. REQUIRES: the launch is explained.
std::array<Time, kBreakdownCategories.size()> breakdown_of(const hardware::LaunchTimes& times,
                                                           const tile::LaunchRecord& record);
/// All waits and operations, the longest first; of the waits the last one stands for what is beyond the limit.
std::vector<WaitResult> waits_of(const tile::LaunchAccount& account, tile::TextStore& texts);
std::vector<OperationResult> operations_of(const tile::LaunchAccount& account);

}  // namespace kernbench::runtime
