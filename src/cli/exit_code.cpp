#include "cli/exit_code.h"

#include <algorithm>
#include <string_view>

#include "report/outcome.h"

namespace kernbench::cli {

namespace {

constexpr std::string_view kConfigurationError = "ConfigurationError";

/// Whether it is one, or what all failed ranks of a spawn say.
bool is_usage(const report::ErrorResult& error) {
  const auto configuration = [](const auto& each) { return each.type == kConfigurationError; };
  if (!error.rank_errors.empty()) return std::ranges::all_of(error.rank_errors, configuration);
  return configuration(error);
}

}  // namespace

ExitCode exit_code_of(const report::ErrorResult& error) {
  // A log or a timeline that could not be written is not the simulated program's fault.
  if (is_usage(error) || error.type == "OutputError") return ExitCode::usage;
  if (report::is_internal(error.type)) return ExitCode::internal;
  if (error.type == report::kInterrupted) return ExitCode::interrupted;
  return ExitCode::program;
}

ExitCode exit_code_of(const report::RunResult& result) {
  if (result.error) return exit_code_of(*result.error);
  return report::status_of(result) == report::RunStatus::ok ? ExitCode::ok : ExitCode::check_failed;
}

}  // namespace kernbench::cli
