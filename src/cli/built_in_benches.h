// The benches that the program brings along: those of the files in benches/.
#pragma once

#include <vector>

#include "cli/bench.h"

namespace kernbench::cli {

/// In the order in which `kernbench list` shows them.
const std::vector<Bench>& built_in_benches();

}  // namespace kernbench::cli
