#include "cli/process.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/bench_file/child_process.h"
#include "cli/build_id.h"
#include "cli/cache_folder.h"
#include "cli/crash.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/plan_files.h"
#include "cli/program.h"
#include "cli/program_exit.h"
#include "cli/topologies.h"
#include "kernbench/error.h"

namespace kernbench::cli {
namespace {

void write_output(std::string_view text) {
  flush_standard_output();
  const int error = write_all(STDOUT_FILENO, text);
  // A reader that has seen enough, such as head, is no error.
  if (error == 0 || error == EPIPE) return;
  throw ConfigurationError(std::string("cannot write standard output: ") + std::strerror(error));
}

void write_message(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

// A fiber that never yields cannot be unwound: there is nothing to do but to say so and to end.
[[noreturn]] void on_stuck(const std::string& message) {
  write_message("kernbench: error: " + message + "\n");
  ::_exit(static_cast<int>(ExitCode::program));
}

Bench load_file(const std::string& path, const BenchFileOptions& options, const BenchFileHooks& hooks) {
  note_user_file(path);
  return load_bench_file(path, options, hooks);
}

Extensions load_extensions(const std::string& path, const BenchFileOptions& options, const BenchFileHooks& hooks) {
  note_user_file(path);
  return load_extension_file(path, options, hooks);
}

ChildResult run_again(std::vector<std::string> arguments, const std::string& log) {
  arguments.insert(arguments.begin(), "/proc/self/exe");
  return run_child(arguments, log, &handle_interrupts());
}

Execute interruptible(Execute execute) {
  return [execute = std::move(execute)](const Bench& bench, const SimulateOptions& options) {
    const InterruptibleRun run;
    return execute(bench, options);
  };
}

}  // namespace

int run_process(int argc, char** argv, std::vector<Bench> benches, Execute execute) noexcept {
  handle_crashes();
  handle_exits();
  ::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  std::optional<PlanFiles> plans;
  const auto cache = default_cache_folder();
  const std::string build = build_id();
  if (cache && !build.empty()) plans.emplace(*cache, build);
  const Environment environment = {.benches = std::move(benches),
                                   .execute = interruptible(std::move(execute)),
                                   .load_file = load_file,
                                   .load_extensions = load_extensions,
                                   .topologies = shipped_topologies,
                                   .describe = describe_topology,
                                   .run_again = run_again,
                                   .plans = plans ? &*plans : nullptr,
                                   .out = write_output,
                                   .err = write_message,
                                   .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
                                   .err_is_terminal = ::isatty(STDERR_FILENO) == 1,
                                   .stop_requested = &handle_interrupts(),
                                   .on_stuck = on_stuck,
                                   .owns_process = true};
  const ExitCode code = run_program(arguments, environment);
  return static_cast<int>(code == ExitCode::interrupted ? exit_code_when_stopped() : code);
}

}  // namespace kernbench::cli
