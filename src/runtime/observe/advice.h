// Warnings about the performance of a run: idle PEs, uneven devices, late members, small transfers, short accesses,
// bytes fetched from afar, one slice that has what all ask for.
#pragma once

#include <string>
#include <vector>

#include "kernbench/result.h"
#include "runtime/observe/slice_hints.h"

namespace kernbench::runtime {

/// Warnings about the kernels that took at least a tenth of the launches' time in the region of interest, the longest
/// first; of each kernel the launch that took longest. `marked`: the run has such a region; else all of it is.
std::vector<std::string> advice(const RunResult& result, const SliceHintsLog& hints, bool marked);

}  // namespace kernbench::runtime
