// What a collective algorithm does on a group: neighbours, and who sends how much in which step.
#pragma once

#include <string>

#include "distributed/algorithm_description.h"

namespace kernbench::cli {

/// For a terminal: a table of the neighbour registers of each rank's PEs, and one of the steps. Of
/// many ranks, links of a way and messages it has the first ones and a count.
std::string algorithm_table(const distributed::AlgorithmDescription& description, bool colour);

/// The same as one JSON object; times are in nanoseconds.
std::string algorithm_json(const distributed::AlgorithmDescription& description);

}  // namespace kernbench::cli
