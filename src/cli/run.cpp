#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"
#include "cli/build_id.h"
#include "cli/commands.h"
#include "cli/extension_files.h"
#include "cli/messages.h"
#include "cli/output_file.h"
#include "cli/program_exit.h"
#include "cli/progress.h"
#include "cli/slow_run_hint.h"
#include "cli/status_line.h"
#include "cli/version.h"
#include "kernbench/error.h"
#include "report/json/json.h"
#include "report/least_slots.h"
#include "report/outcome.h"
#include "report/sections/table.h"
#include "report/wait_graph_dot.h"
#include "topology/load.h"

namespace kernbench::cli {
namespace {

// Where the result goes besides the terminal. Made before the run, so that a bad path is found before the work.
class Outputs {
 public:
  explicit Outputs(const RunCommand& command) {
    std::optional<OutputFile> op_log, trace;
    if (!command.json.empty() && command.json != "-") json_.emplace("--json", command.json);
    for (const auto& [option, path] :
         {std::pair{"--op-log", &command.options.operation_log}, std::pair{"--trace", &command.options.trace},
          std::pair{"--wait-graph", &command.wait_graph}}) {
      if (*path != "-") continue;
      throw ConfigurationError(
          fmt::format("{}: expected a file, but found \"-\": only --json writes to standard output", option));
    }
    if (!command.options.operation_log.empty()) op_log.emplace("--op-log", command.options.operation_log);
    if (!command.options.trace.empty()) trace.emplace("--trace", command.options.trace);
    if (!command.wait_graph.empty()) wait_graph_.emplace("--wait-graph", command.wait_graph);
    const std::array<const std::optional<OutputFile>*, 4> all{&json_, &op_log, &trace, &wait_graph_};
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t b = a + 1; b < all.size(); ++b) require_apart(*all[a], *all[b]);
    }
    for (const auto* const file : all)
      if (*file) require_no_input(**file, inputs_of(command));
    for (const auto* const file : {&json_, &wait_graph_})
      if (*file) (*file)->empty();
  }

  void write(const report::RunResult& result) const {
    if (json_) json_->write(report::to_json(result));
    if (wait_graph_) wait_graph_->write(report::wait_graph_dot(result));
  }

 private:
  static std::vector<InputFile> inputs_of(const RunCommand& command) {
    std::vector<InputFile> inputs;
    if (is_bench_file(command.bench)) inputs.push_back({"the command", command.bench});
    if (topology::is_path(command.options.topology)) inputs.push_back({"--topology", command.options.topology});
    for (const std::string& file : command.load) inputs.push_back({"--load", file});
    return inputs;
  }

  static void require_apart(const std::optional<OutputFile>& a, const std::optional<OutputFile>& b) {
    if (!a || !b || !a->same_file_as(*b)) return;
    throw ConfigurationError(fmt::format("{} and {} name the same file, \"{}\"", a->option(), b->option(), b->path()));
  }

  std::optional<OutputFile> json_, wait_graph_;
};

const Bench& find_bench(const std::vector<Bench>& benches, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Bench& bench : benches) {
    if (bench.name == name) return bench;
    names.push_back(bench.name);
  }
  const std::string_view near = nearest(name, names);
  const std::string hint =
      near.empty()
          ? "; \"kernbench list\" shows the built-in ones, and a C++ file has a '/' or ends in .cpp, .cc or .cxx"
          : fmt::format(", did you mean \"{}\"?", near);
  throw ConfigurationError(fmt::format("there is no bench {}{}", in_quotes(name), hint));
}

Bench bench_of(const RunCommand& command, const Environment& environment, StatusLine& status) {
  if (!is_bench_file(command.bench)) return find_bench(environment.benches, command.bench);
  if (!environment.load_file) throw ConfigurationError("this program runs no files");
  BenchFileHooks hooks;
  hooks.messages = environment.err;
  hooks.begin = [&](const std::string& path) { status.show("compiling " + path); };
  hooks.end = [&](const std::string&) { status.clear(); };
  hooks.colour = use_colour(command.colour, environment.err_is_terminal);
  hooks.stop_requested = environment.stop_requested;
  hooks.on_stuck = environment.on_stuck;
  return environment.load_file(command.bench, command.file, hooks);
}

/// Runs the bench again and again, silently.
std::optional<report::SlotAdvice> explain(const report::ErrorResult& error, const Bench& bench, SimulateOptions options,
                                          const Environment& environment, StatusLine& status) {
  options.operation_log.clear();
  options.trace.clear();
  options.print = options.warn = [](std::string_view) {};
  auto advice = report::find_least_slots(error, [&](std::int32_t slots) {
    status.show(fmt::format("explaining the deadlock: queues of at least {} slots", slots));
    options.least_slots = slots;
    const DivertStandardOutput silence(environment.owns_process, DivertStandardOutput::To::nowhere);
    try {
      return environment.execute(bench, options);
    } catch (...) {
      report::RunResult failed;
      failed.error = report::error_result(std::current_exception());
      return failed;
    }
  });
  status.clear();
  return advice;
}

/// On standard error, which no result goes to.
void say_slow(const SimulateOptions& given, const RunProgress& progress, StatusLine& status) {
  std::vector<std::string> sooner;
  if (std::string hint = progress.devices > 1 ? alike_devices_hint(given) : ""; !hint.empty())
    sooner.push_back(hint + (given.data ? ", and computes no values (--no-data)" : ""));
  if (!given.quick_plans) sooner.emplace_back("--quick-plans measures no plans of matrix products");
  if (!sooner.empty()) status.write_above(fmt::format("note: to have it sooner: {}\n", fmt::join(sooner, "; ")));
}

// What becomes of a run whose program calls std::exit or, without a known status, std::quick_exit: ends the process.
using OnExit = std::function<void(const Bench& bench, std::optional<int> status, const std::string& fiber)>;

report::RunResult execute_bench(const RunCommand& command, const Environment& environment, const OnExit& on_exit) {
  StatusLine status(environment.err, environment.err_is_terminal && !command.quiet);
  Bench bench = bench_of(command, environment, status);
  SimulateOptions given = command.options;
  const Extensions loaded = extensions_of(command.load, command.file,
                                          use_colour(command.colour, environment.err_is_terminal), environment, status);
  given.algorithms = loaded.algorithms;
  try {
    add_models(bench.models, loaded.models);
  } catch (const ValueError& error) {
    throw ConfigurationError(error.what());
  }
  SimulateOptions options = options_for(bench, given, command.parameters);
  options.stop_requested = environment.stop_requested;
  options.on_stuck = environment.on_stuck;
  if (command.file.cache) options.plans = environment.plans;
  const SimulateOptions without_display = options;
  report::RunResult result;
  {
    DivertStandardOutput divert(environment.owns_process && command.json == "-");
    const ProgressDisplay progress(status, options);
    std::optional<SlowRunHint> hint;
    if (!command.quiet)
      hint.emplace(options, environment.slow_run, [&](const RunProgress& now) { say_slow(given, now, status); });
    const ExitWatch watch([&](std::optional<int> exit_status, const std::string& fiber) {
      divert.restore();
      on_exit(bench, exit_status, fiber);
    });
    result = environment.execute(bench, options);
  }
  if (command.explain && result.error) {
    result.error->slots = explain(*result.error, bench, without_display, environment, status);
  }
  result.bench = bench.name;
  result.parameters = options.parameters.values();
  result.origin = bench.origin;
  return result;
}

// What the command line says holds whether or not the run came so far as to note it.
void complete(report::RunResult& result, const RunCommand& command, double seconds) {
  result.version = version();
  if (result.bench.empty()) result.bench = command.bench;
  if (result.topology.empty()) result.topology = command.options.topology;
  if (result.parameters.empty()) result.parameters = command.parameters;
  result.origin.build = build_id();
  result.seed = command.options.seed;
  result.correlation_id = command.options.correlation_id;
  if (result.wall_time_s <= 0) result.wall_time_s = seconds;
  result.status = report::status_of(result);
}

report::RunResult guarded_run(const RunCommand& command, const Environment& environment, const OnExit& on_exit) {
  const auto start = std::chrono::steady_clock::now();
  report::RunResult result;
  try {
    result = execute_bench(command, environment, on_exit);
  } catch (...) {
    result = {};
    result.error = report::error_result(std::current_exception());
  }
  complete(result, command, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

void show_problems(const report::RunResult& result, bool with_checks, const Environment& environment, bool colour) {
  if (result.error) environment.err(error_message(*result.error, colour) + slots_hint(*result.error));
  const std::string problems = with_checks ? problem_messages(result, colour) : "";
  if (!problems.empty()) environment.err(problems);
}

report::ErrorResult exit_error(std::optional<int> status, const std::string& fiber) {
  const std::string shown = status ? std::to_string(*status) : "";
  return {"ProgramExit",
          fmt::format("the program called {}({}){}; let it return, throw, or end a rank with "
                      "torch::multiprocessing::exit({})",
                      status ? "exit" : "quick_exit", shown,
                      fiber.empty() ? "" : fmt::format(" on fiber {}", in_quotes(fiber)), status ? shown : "CODE"),
          ""};
}

// The simulation is left where it stands: no unwinding comes out of exit(), and so the result holds the error alone.
OnExit on_exit_of(const RunCommand& command, const Environment& environment, const Outputs& outputs) {
  return [&](const Bench& bench, std::optional<int> status, const std::string& fiber) {
    report::RunResult result;
    result.bench = bench.name;
    result.origin = bench.origin;
    result.error = exit_error(status, fiber);
    complete(result, command, 0);
    flush_standard_output();
    show_problems(result, false, environment, use_colour(command.colour, environment.err_is_terminal));
    ExitCode code = exit_code_of(result);
    try {
      outputs.write(result);
      if (command.json == "-") environment.out(report::to_json(result));
    } catch (const Error&) {
      environment.err(error_message(report::error_result(std::current_exception()), false));
      code = ExitCode::usage;
    }
    ::_exit(static_cast<int>(code));
  };
}

}  // namespace

ExitCode run(const RunCommand& command, const Environment& environment) {
  const Outputs outputs(command);
  const report::RunResult result = guarded_run(command, environment, on_exit_of(command, environment, outputs));
  const bool json_only = command.json == "-";
  const bool table = !command.quiet && !json_only;
  // A run that failed before anything was simulated has nothing that a table could show.
  const bool empty = result.error && result.launches.empty() && result.simulated_time == Time::zero();
  if (table && !empty) {
    const bool brief = command.report == report::TableKind::brief;
    environment.out(report::to_table(result, {.colour = use_colour(command.colour, environment.out_is_terminal),
                                              .kind = command.report,
                                              .cuts = brief && environment.out_is_terminal}));
  }
  show_problems(result, !table, environment, use_colour(command.colour, environment.err_is_terminal));
  outputs.write(result);
  if (json_only) environment.out(report::to_json(result));
  return exit_code_of(result);
}

}  // namespace kernbench::cli
