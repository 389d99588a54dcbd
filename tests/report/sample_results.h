// Results of runs that never happened, for the tests of what shows results.
#pragma once

#include <random>
#include <string>

#include "report/result.h"

namespace kernbench::report::samples {

/// One GEMM on one device: every section of the table has something to show.
RunResult gemm();
/// A handful of launches on two devices, a failed and a skipped check.
RunResult training_step();
/// A thousand launches of thirty names.
RunResult thousand_launches();
/// A run that ended in a deadlock after its first launch.
RunResult deadlock();
/// Nothing but a name.
RunResult empty();

/// Anything that the types allow and a run can yield: extreme values, odd names, any number of anything.
RunResult random(std::mt19937_64& generator);

}  // namespace kernbench::report::samples
