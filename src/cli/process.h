// The program as a process: its standard streams, its signals, its terminal.
#pragma once

#include <vector>

#include "cli/environment.h"

namespace kernbench::cli {

/// The body of main. Nothing escapes it: every error is a message on standard error and a documented exit code.
int run_process(int argc, char** argv, std::vector<Bench> benches, Execute execute) noexcept;

}  // namespace kernbench::cli
