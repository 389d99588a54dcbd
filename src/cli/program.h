// The program without its process: arguments in, text and a code out.
#pragma once

#include <string>
#include <vector>

#include "cli/environment.h"
#include "cli/exit_code.h"

namespace kernbench::cli {

/// Runs one command line. Every error becomes a message on standard error and its exit code; nothing is thrown.
ExitCode run_program(const std::vector<std::string>& arguments, const Environment& environment) noexcept;

}  // namespace kernbench::cli
