// Finds the best algorithm of each size by measurement, for a file that collectives files name (`tune: FILE`).
#pragma once

#include <string>

#include "cli/ccl/sweep.h"
#include "cli/ccl/tests.h"
#include "kernbench/simulate.h"

namespace kernbench::cli::ccl {

/// The text of a file that says what `before` (of the file `path`; empty: nothing) says, and for the sweep's operation
/// and ranks the algorithm that took the least time, of the rank that was through last, over all of its rows of a size.
/// From one size to the next the algorithm changes in the middle, by factors.
std::string to_tuning(const Test& test, const Sweep& sweep, const SimulateOptions& options, const std::string& before,
                      const std::string& path, const Simulate& simulate);

}  // namespace kernbench::cli::ccl
