#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/ccl/algorithms.h"
#include "cli/ccl/output.h"
#include "cli/ccl/sweep.h"
#include "cli/ccl/tune.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/extension_files.h"
#include "cli/messages.h"
#include "cli/msccl_file.h"
#include "cli/output_file.h"
#include "cli/slow_run_hint.h"
#include "cli/status_line.h"
#include "distributed/algorithms/own_algorithm.h"
#include "kernbench/collectives.h"
#include "kernbench/error.h"
#include "kernbench/simulate.h"
#include "topology/files.h"
#include "topology/load.h"

namespace kernbench::cli {
namespace {

/// Makes the schedule of an MSCCL file one of the algorithms that are measured.
void measure_schedule(const std::string& file, const ccl::Test& test, CollectiveRegistry& algorithms,
                      ccl::Request& request) {
  const AddedSchedule schedule = add_schedule(file, algorithms);
  const ccl::Test& its_own = ccl::find_test(distributed::name(distributed::operation_of(schedule.operation)));
  if (its_own.name != test.name) {
    throw ConfigurationError(
        fmt::format("it is a schedule of {}, not of {}: name that operation, or another file", its_own.name, test.name),
        file);
  }
  request.algorithms.push_back(schedule.name);
}

/// An algorithm of another operation is no way to do the test's calls, which would be done by something else.
void check_operations(const std::vector<std::string>& names, const ccl::Test& test,
                      const CollectiveRegistry& algorithms) {
  const distributed::AlgorithmTable table(algorithms);
  for (const std::string& name : names) {
    const distributed::CollectiveAlgorithm* algorithm = table.named(name);
    if (algorithm == nullptr) continue;
    const auto operation = distributed::name(algorithm->operation);
    if (ccl::is_named(test, operation)) continue;
    throw ConfigurationError(
        fmt::format("--algo {}: this is an algorithm of {}, not of {}", name, operation, test.name));
  }
}

/// Puts all algorithms that can run in the place of "all", and of none where several are wanted. What is wrong with one
/// of several is said before any is measured. Returns those that cannot run, with the reason, where all were asked for.
std::vector<std::string> choose_algorithms(const CclCommand& command, const ccl::Test& test,
                                           const SimulateOptions& options, const ccl::Simulate& simulate,
                                           ccl::Request& request) {
  auto& names = request.algorithms;
  if (names.empty() && command.compare) names = {"auto", "all"};
  if (names.empty() && !command.tune.empty()) names = {"all"};
  std::vector<std::string> chosen, refused;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(chosen, name) == chosen.end()) chosen.push_back(name);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      ccl::AlgorithmsOfTest all = ccl::algorithms_of_test(test, request.ranks, options, simulate);
      std::ranges::for_each(all.run, add);
      refused = std::move(all.refused);
    } else {
      add(name);
    }
  }
  names = std::move(chosen);
  if (!command.tune.empty() && names == std::vector<std::string>{"auto"})
    throw ConfigurationError("--tune: auto reads what is written; name other algorithms, or none for all that run");
  if (command.compare && names.size() < 2)
    throw ConfigurationError(
        "--compare needs two or more --algo NAME or --msccl FILE, or none of them for all that run");
  if (names.size() > 1) ccl::check_algorithms(names, request.ranks, options, simulate);
  return refused;
}

/// Adds what was measured to the file, which may be there.
void write_tuning(const std::string& path, const ccl::Test& test, const ccl::Sweep& sweep,
                  const SimulateOptions& options, const ccl::Simulate& simulate) {
  std::error_code ignored;
  const std::string before = std::filesystem::exists(path, ignored) ? topology::read_file(path, "a tuning") : "";
  const std::string text = ccl::to_tuning(test, sweep, options, before, path, simulate);
  OutputFile("--tune", path).write(text);
}

/// Its text; its code.
ExitCode say(const ErrorResult& error, const Environment& environment) {
  environment.err(error_message(error, use_colour(ColourMode::automatic, environment.err_is_terminal)));
  return exit_code_of(error);
}

/// Whether each PE of a rank has an equal part of a call's tensor for each of the ranks.
bool has_equal_parts(const ccl::Request& request, const topology::Topology& machine) {
  const std::int64_t parts = std::int64_t{machine.pes_per_sip()} * machine.system.sips;
  const auto fits = [&](Bytes size, DType dtype) { return size.count() / item_size(dtype) % parts == 0; };
  return std::ranges::all_of(request.types, [&](const ccl::TypeName& type) {
    return std::ranges::all_of(request.sizes.all(), [&](Bytes size) { return fits(size, type.dtype); });
  });
}

/// Empty where devices that are alike would be refused, or might be: of operations with a root, between pairs, or whose
/// blocks lie on other PEs of each rank, on a part of the machine, and by algorithms that were named.
std::string hint_of_alike_devices(const ccl::Test& test, const ccl::Request& request, const SimulateOptions& options) {
  const bool automatic = std::ranges::all_of(request.algorithms, [](const auto& name) { return name == "auto"; });
  if (test.name != "all_reduce" || !automatic) return {};
  return alike_devices_hint(options, [&](const topology::Topology& machine) {
    return (request.ranks == 0 || request.ranks == machine.system.sips) && has_equal_parts(request, machine);
  });
}

/// What would have the measurement take less.
void say_slow(const ccl::Test& test, const ccl::Request& request, const SimulateOptions& options, StatusLine& status) {
  std::vector<std::string> sooner;
  if (request.iterations > 1)
    sooner.push_back(fmt::format("-n 1 times one call of each row, not {}", request.iterations));
  if (request.check) sooner.emplace_back("-c 0 checks no values");
  if (std::string hint = hint_of_alike_devices(test, request, options); !hint.empty())
    sooner.push_back(std::move(hint));
  if (!sooner.empty()) status.write_above(fmt::format("note: to have it sooner: {}\n", fmt::join(sooner, "; ")));
}

ExitCode measure(const CclCommand& command, const Environment& environment) {
  std::optional<OutputFile> json, csv;
  if (!command.json.empty() && command.json != "-") json.emplace("--json", command.json);
  if (!command.csv.empty() && command.csv != "-") csv.emplace("--csv", command.csv);
  if (json && csv && json->same_file_as(*csv)) throw ConfigurationError("--json and --csv name the same file");

  std::vector<InputFile> inputs;
  if (topology::is_path(command.options.topology)) inputs.push_back({"--topology", command.options.topology});
  for (const std::string& file : command.load) inputs.push_back({"--load", file});
  for (const std::string& file : command.msccl) inputs.push_back({"--msccl", file});
  for (const auto* const file : {&json, &csv})
    if (*file) require_no_input(**file, inputs);

  const ccl::Test& test = ccl::find_test(command.request.operation);
  SimulateOptions options = command.options;
  options.stop_requested = environment.stop_requested;
  options.on_stuck = environment.on_stuck;
  StatusLine status(environment.err, environment.err_is_terminal);
  BenchFileOptions loading;
  loading.watchdog_seconds = options.watchdog_seconds;
  Extensions loaded = extensions_of(command.load, loading, false, environment, status);
  options.algorithms = std::move(loaded.algorithms);
  options.models = std::move(loaded.models);
  ccl::Request request = command.request;
  for (const std::string& file : command.msccl) measure_schedule(file, test, options.algorithms, request);
  check_operations(request.algorithms, test, options.algorithms);
  const SlowRunHint hint(options, environment.slow_run,
                         [&](const RunProgress&) { say_slow(test, request, command.options, status); });
  const ccl::Simulate plainly = [](const SimulateOptions& how, const std::function<void()>& program) {
    const RunResult result = try_simulate(how, program);
    if (result.error) throw ccl::SimulationFailed(*result.error);
  };
  for (const std::string& refused : choose_algorithms(command, test, options, plainly, request)) {
    environment.err(fmt::format("note: left out: {}\n", refused));
  }
  status.show("measuring " + std::string(test.name));
  const ccl::Sweep sweep = ccl::sweep(test, request, options, plainly);
  status.clear();
  if (!command.tune.empty() && !sweep.failure) write_tuning(command.tune, test, sweep, options, plainly);

  for (const std::string& note : command.notes) environment.err("note: " + note + "\n");
  if (!sweep.left_out.empty())
    environment.err(fmt::format("note: left out, for there are none: {}\n", fmt::join(sweep.left_out, ", ")));
  if (json) json->write(ccl::to_json(test, request, sweep));
  if (csv) csv->write(ccl::to_csv(test, sweep));
  if (command.json == "-") {
    environment.out(ccl::to_json(test, request, sweep));
  } else if (command.csv == "-") {
    environment.out(ccl::to_csv(test, sweep));
  } else {
    environment.out(command.compare ? ccl::to_comparison(sweep) : ccl::to_table(test, request, sweep));
  }
  if (sweep.failure) return say(*sweep.failure, environment);
  return sweep.wrong() > 0 ? ExitCode::check_failed : ExitCode::ok;
}

}  // namespace

ExitCode measure_collective(const CclCommand& command, const Environment& environment) {
  try {
    return measure(command, environment);
  } catch (const ccl::SimulationFailed& failed) {
    return say(failed.error(), environment);
  }
}

}  // namespace kernbench::cli
