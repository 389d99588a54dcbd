// The exit codes of the program (docs/cli.md).
#pragma once

#include "report/result.h"

namespace kernbench::cli {

enum class ExitCode : int {
  ok = 0,
  check_failed = 1,
  differs = 1,
  usage = 2,
  program = 3,
  internal = 4,
  interrupted = 130,
  terminated = 143
};

/// The code for an error, by its type: ConfigurationError (also of all failed ranks of a spawn) and OutputError 2, an
/// internal one 4, Interrupted 130 (terminated is the process's affair: cli/interrupt.h), any other 3.
ExitCode exit_code_of(const report::ErrorResult& error);

/// The code for a finished run.
ExitCode exit_code_of(const report::RunResult& result);

}  // namespace kernbench::cli
