// C++ files of the user's that --load names: the collective algorithms and the component models that they register.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_file/bench_file.h"
#include "cli/environment.h"
#include "cli/status_line.h"
#include "kernbench/models.h"

namespace kernbench::cli {

/// Compiles and loads the files, in their order. Errors are those of load_extension_file; a name that two files
/// register is one, too.
Extensions extensions_of(const std::vector<std::string>& files, const BenchFileOptions& options, bool colour,
                         const Environment& environment, StatusLine& status);

/// Puts all models of `more` into `models`. ValueError for a name that is taken.
void add_models(ModelRegistry& models, const ModelRegistry& more);

}  // namespace kernbench::cli
