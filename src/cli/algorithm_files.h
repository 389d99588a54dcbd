// C++ files of the user's that --load names: the collective algorithms that they register.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_file/bench_file.h"
#include "cli/environment.h"
#include "cli/status_line.h"
#include "kernbench/collective_registry.h"

namespace kernbench::cli {

/// Compiles and loads the files, in their order. Errors are those of load_algorithm_file.
CollectiveRegistry algorithms_of(const std::vector<std::string>& files, const BenchFileOptions& options, bool colour,
                                 const Environment& environment, StatusLine& status);

}  // namespace kernbench::cli
