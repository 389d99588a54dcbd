#include <functional>
#include <optional>
#include <string>

#include "cli/ccl/output.h"
#include "cli/ccl/sweep.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/status_line.h"
#include "kernbench/error.h"
#include "kernbench/simulate.h"

namespace kernbench::cli {

ExitCode measure_collective(const CclCommand& command, const Environment& environment) {
  std::optional<OutputFile> json, csv;
  if (!command.json.empty() && command.json != "-") json.emplace("--json", command.json);
  if (!command.csv.empty() && command.csv != "-") csv.emplace("--csv", command.csv);
  if (json && csv && json->same_file_as(*csv)) throw ConfigurationError("--json and --csv name the same file");

  const ccl::Test& test = ccl::find_test(command.request.operation);
  SimulateOptions options = command.options;
  options.stop_requested = environment.stop_requested;
  options.on_stuck = environment.on_stuck;
  StatusLine status(environment.err, environment.err_is_terminal);
  status.show("measuring " + std::string(test.name));
  const ccl::Sweep sweep =
      ccl::sweep(test, command.request, options,
                 [](const SimulateOptions& how, const std::function<void()>& program) { simulate(how, program); });
  status.clear();

  for (const std::string& note : command.notes) environment.err("note: " + note + "\n");
  if (json) json->write(ccl::to_json(test, command.request, sweep));
  if (csv) csv->write(ccl::to_csv(test, sweep));
  if (command.json == "-") {
    environment.out(ccl::to_json(test, command.request, sweep));
  } else if (command.csv == "-") {
    environment.out(ccl::to_csv(test, sweep));
  } else {
    environment.out(command.compare ? ccl::to_comparison(sweep) : ccl::to_table(test, command.request, sweep));
  }
  return sweep.wrong() > 0 ? ExitCode::check_failed : ExitCode::ok;
}

}  // namespace kernbench::cli
