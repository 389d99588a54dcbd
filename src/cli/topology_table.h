// A machine on one page: counts, peaks, links and latencies.
#pragma once

#include <string>

#include "topology/spec.h"

namespace kernbench::cli {

/// The table of `describe`: what the machine is made of, and the peaks that follow from it. At most 100 columns wide.
std::string topology_table(const topology::Topology& topology, bool colour);

}  // namespace kernbench::cli
