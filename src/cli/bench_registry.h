// Built-in benches, and the options of a run of one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernbench/models.h"
#include "kernbench/parameters.h"
#include "kernbench/simulate.h"
#include "kernbench/units.h"
#include "report/result.h"

namespace kernbench::cli {

using kernbench::BenchParameter;
using kernbench::Parameters;

/// A program that KernBench brings along. `run` is the body of the simulation's main fiber.
struct Bench {
  std::string name, help;
  std::vector<BenchParameter> parameters;
  std::function<void(const Parameters&)> run;
  ModelRegistry models = {};  // component models that come with it
  Origin origin = {.kind = "built-in"};
};

/// How to run a bench.
struct RunOptions {
  std::string topology = "ahbm-1sip";             // a shipped topology's name or a file
  std::vector<std::string> overrides;             // "cube.hbm.bandwidth=2TB/s"
  std::map<std::string, std::string> parameters;  // as given; not yet checked
  bool data = true;
  bool exact_events = false;
  std::uint64_t seed = 0;
  OutOfBoundsReads out_of_bounds_reads = OutOfBoundsReads::raise;
  UninitializedMemory uninitialized_memory = UninitializedMemory::poison;
  bool skip_floating_point_ops = false;
  int threads = 0;               // for values; 0: all processors
  std::int32_t least_slots = 1;  // of every queue
  bool silent = false;           // what kernels print, and warnings, go nowhere
  Time max_time = Time::max();
  std::uint64_t max_polls = 0;  // SimulateOptions::max_polls
  Bytes stack_size = {};        // SimulateOptions::stack_size
  /// Wall-clock seconds a fiber may run without waiting; then on_stuck is called, which must end the process. 0: never.
  double watchdog_seconds = 0;
  std::function<void(const std::string&)> on_stuck;
  std::string op_log;      // file; empty: none
  std::string trace;       // file; empty: none
  bool whole_run = false;  // report and trace beyond the region of interest, too
  std::string correlation_id;
  /// Set from a signal handler when the user wants the run to stop. A run that sees it throws
  /// Error("Interrupted", …), or returns what it has with such an error. May be null.
  const std::atomic<bool>* stop_requested = nullptr;
  /// Called between two instants of the run when progress_due is set, which it clears. Either may be empty.
  std::function<void(const RunProgress&)> on_progress;
  std::atomic<bool>* progress_due = nullptr;
};

/// Runs `bench` in a fresh simulation. An error of the simulated program is either thrown or, with what was measured
/// before it, part of the result.
report::RunResult execute(const Bench& bench, const RunOptions& options);

/// All built-in benches, in the order in which `kernbench list` shows them.
const std::vector<Bench>& built_in_benches();

}  // namespace kernbench::cli
