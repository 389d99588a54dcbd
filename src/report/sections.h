// The sections of the table for people. Each is "" when the result has nothing for it, else text that ends in a
// newline.
#pragma once

#include <string>

#include "report/result.h"
#include "report/text_table.h"

namespace kernbench::report {

/// Name, device, start, time, share of the run and programs of each launch; of many, a summary by name.
std::string launches_section(const RunResult& result, const Palette& palette);

/// Where the time of each launch went.
std::string breakdown_section(const RunResult& result, const Palette& palette);

/// FLOP/s and HBM bandwidth of each launch against one device's peaks.
std::string achieved_section(const RunResult& result, const Palette& palette);

/// The roofline of the launches: intensity, attained, roofs of the used parts and of the device.
std::string roofline_section(const RunResult& result, const Palette& palette);

/// What determined the end of the launches, what their operations waited for, and their kinds of operation. Of many
/// launches, of the longest one of each of the kernels that took most.
std::string explanation_sections(const RunResult& result, const Palette& palette);

/// Kinds of resource ("sip*.cube*.pe*.gemm"), the busiest first.
std::string resources_section(const RunResult& result, const Palette& palette);

}  // namespace kernbench::report
