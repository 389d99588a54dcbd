#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output_file.h"
#include "cli/version.h"
#include "report/json.h"
#include "report/outcome.h"
#include "report/table.h"

namespace kernbench::cli {
namespace {

// Where the result goes besides the terminal. Made before the run, so that a bad path is found before the work.
class Outputs {
 public:
  explicit Outputs(const RunCommand& command) {
    if (!command.json.empty() && command.json != "-") json_.emplace("--json", command.json);
    if (command.options.op_log.empty()) return;
    const OutputFile op_log("--op-log", command.options.op_log);
    if (json_ && json_->same_file_as(op_log)) {
      throw ConfigurationError("--json and --op-log name the same file, \"" + command.options.op_log + "\"");
    }
  }

  std::optional<OutputFile>& json() { return json_; }

 private:
  std::optional<OutputFile> json_;
};

const Bench& find_bench(const std::vector<Bench>& benches, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Bench& bench : benches) {
    if (bench.name == name) return bench;
    names.push_back(bench.name);
  }
  const std::string_view near = nearest(name, names);
  const std::string hint =
      near.empty() ? "; \"kernbench list\" shows all" : fmt::format(", did you mean \"{}\"?", near);
  throw ConfigurationError(fmt::format("there is no bench {}{}", in_quotes(name), hint));
}

report::RunResult execute_bench(const RunCommand& command, const Environment& environment) {
  const Bench& bench = find_bench(environment.benches, command.bench);
  const Parameters parameters(bench.name, bench.parameters, command.options.parameters);
  RunOptions options = command.options;
  options.stop_requested = environment.stop_requested;
  options.on_stuck = environment.on_stuck;
  const DivertStandardOutput divert(environment.owns_process && command.json == "-");
  report::RunResult result = environment.execute(bench, options);
  result.parameters = parameters.values();
  return result;
}

// What the command line says holds whether or not the run came so far as to note it.
void complete(report::RunResult& result, const RunCommand& command, double seconds) {
  result.version = version();
  result.bench = command.bench;
  if (result.topology.empty()) result.topology = command.options.topology;
  if (result.parameters.empty()) result.parameters = command.options.parameters;
  result.seed = command.options.seed;
  result.correlation_id = command.options.correlation_id;
  if (result.wall_time_s <= 0) result.wall_time_s = seconds;
  result.status = report::status_of(result);
}

report::RunResult guarded_run(const RunCommand& command, const Environment& environment) {
  const auto start = std::chrono::steady_clock::now();
  report::RunResult result;
  try {
    result = execute_bench(command, environment);
  } catch (...) {
    result = {};
    result.error = report::error_result(std::current_exception());
  }
  complete(result, command, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

void show_problems(const report::RunResult& result, bool with_checks, const Environment& environment, bool colour) {
  if (result.error) environment.err(error_message(*result.error, colour));
  if (!with_checks) return;
  for (const report::CheckResult& check : result.checks) {
    if (check.status == report::CheckStatus::failed) environment.err(failed_check_message(check, colour));
  }
}

}  // namespace

ExitCode run(const RunCommand& command, const Environment& environment) {
  Outputs outputs(command);
  const report::RunResult result = guarded_run(command, environment);
  const bool json_only = command.json == "-";
  const bool table = !command.quiet && !json_only;
  // A run that failed before anything was simulated has nothing that a table could show.
  const bool empty = result.error && result.launches.empty() && result.simulated_time == Time::zero();
  if (table && !empty) {
    environment.out(report::to_table(result, {use_colour(command.colour, environment.out_is_terminal)}));
  }
  show_problems(result, !table, environment, use_colour(command.colour, environment.err_is_terminal));
  if (outputs.json()) outputs.json()->write(report::to_json(result));
  if (json_only) environment.out(report::to_json(result));
  return exit_code_of(result);
}

}  // namespace kernbench::cli
