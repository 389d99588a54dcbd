#include "cli/program.h"

#include <exception>

#include "cli/commands.h"
#include "cli/messages.h"
#include "report/outcome.h"

namespace kernbench::cli {
namespace {

struct Dispatch {
  const Environment& environment;

  ExitCode operator()(const ShowText& show) const {
    environment.out(show.text);
    return ExitCode::ok;
  }
  ExitCode operator()(const ListCommand& command) const { return list(command, environment); }
  ExitCode operator()(const DescribeCommand& command) const { return describe(command, environment); }
  ExitCode operator()(const RunCommand& command) const { return run(command, environment); }
  ExitCode operator()(const DiffCommand& command) const { return diff(command, environment); }
  ExitCode operator()(const SweepCommand& command) const { return sweep_bench(command, environment); }
  ExitCode operator()(const CclCommand& command) const { return measure_collective(command, environment); }
};

// Inside a handler of any exception: its message, its code.
ExitCode report_current_exception(const Environment& environment) {
  const report::ErrorResult error = report::error_result(std::current_exception());
  environment.err(error_message(error, use_colour(ColourMode::automatic, environment.err_is_terminal)));
  return exit_code_of(error);
}

}  // namespace

ExitCode run_program(const std::vector<std::string>& arguments, const Environment& environment) noexcept {
  try {
    return std::visit(Dispatch{environment}, parse_command_line(arguments));
  } catch (const UsageError& error) {
    const ExitCode code = report_current_exception(environment);
    const std::string command = error.command().empty() ? "" : " " + error.command();
    environment.err("Try \"kernbench" + command + " --help\".\n");
    return code;
  } catch (...) {
    return report_current_exception(environment);
  }
}

}  // namespace kernbench::cli
