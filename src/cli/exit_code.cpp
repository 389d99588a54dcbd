#include "cli/exit_code.h"

#include "report/outcome.h"

namespace kernbench::cli {

ExitCode exit_code_of(const report::ErrorResult& error) {
  // A log or a timeline that could not be written is not the simulated program's fault.
  if (error.type == "ConfigurationError" || error.type == "OutputError") return ExitCode::usage;
  if (report::is_internal(error.type)) return ExitCode::internal;
  if (error.type == report::kInterrupted) return ExitCode::interrupted;
  return ExitCode::program;
}

ExitCode exit_code_of(const report::RunResult& result) {
  if (result.error) return exit_code_of(*result.error);
  return report::status_of(result) == report::RunStatus::ok ? ExitCode::ok : ExitCode::check_failed;
}

}  // namespace kernbench::cli
