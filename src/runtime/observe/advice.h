// Warnings about the performance of a run: idle PEs, uneven devices, late members, small transfers, bytes fetched from
// afar.
#pragma once

#include <string>
#include <vector>

#include "kernbench/result.h"

namespace kernbench::runtime {

/// Warnings about the kernels that took at least a tenth of the launches' time in the region of interest, the longest
/// first; of each kernel the launch that took longest.
std::vector<std::string> advice(const RunResult& result);

}  // namespace kernbench::runtime
