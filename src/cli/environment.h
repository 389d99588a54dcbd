// Everything that the program needs from outside, and a test replaces.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench.h"
#include "cli/bench_file/child_process.h"
#include "cli/command_line.h"
#include "kernbench/plan_store.h"

namespace kernbench::cli {

/// A shipped topology as `list` shows it.
struct TopologyEntry {
  std::string name, help;
};

/// Runs a bench: cli::execute, or what a test puts in its place.
using Execute = std::function<report::RunResult(const Bench&, const SimulateOptions&)>;

/// Compiles and loads a user's file: cli::load_bench_file, or what a test puts in its place.
using LoadFile = std::function<Bench(const std::string& path, const BenchFileOptions&, const BenchFileHooks&)>;

/// Likewise of a file of collective algorithms and component models: cli::load_extension_file.
using LoadExtensions =
    std::function<Extensions(const std::string& path, const BenchFileOptions&, const BenchFileHooks&)>;

struct Environment {
  std::vector<Bench> benches;
  Execute execute;
  LoadFile load_file;
  LoadExtensions load_extensions;
  std::function<std::vector<TopologyEntry>()> topologies;
  /// The text of `describe`; `colour` is resolved already. Throws ConfigurationError.
  std::function<std::string(const DescribeCommand&, bool colour)> describe;
  /// Runs this program with other arguments, in a process of its own; what it says goes through the file `log`.
  std::function<ChildResult(const std::vector<std::string>& arguments, const std::string& log)> run_again;
  /// Keeps plans of matrix products from run to run; may be null.
  PlanStore* plans = nullptr;
  /// Standard output and standard error. `out` throws ConfigurationError when it cannot write, but not when the reader
  /// has gone away.
  std::function<void(std::string_view)> out, err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  /// Set when the user asked to stop; may be null.
  const std::atomic<bool>* stop_requested = nullptr;
  /// Called on another thread when the program is stuck; ends the process. May be empty.
  std::function<void(const std::string&)> on_stuck;
  /// After which a run is told what would make it sooner.
  std::chrono::milliseconds slow_run{30'000};
  /// The program may redirect the process's standard output while a bench runs.
  bool owns_process = false;
};

}  // namespace kernbench::cli
