// The options of "kernbench run".
#pragma once

#include "cli/command_line.h"
#include "cli/options/limit_options.h"
#include "cli/options/option_set.h"

namespace kernbench::cli {

struct RunOptions {
  static constexpr const char* kCommand = "run";
  static constexpr const char* kSummary = "Simulate a bench: its time, its numbers, and where the time went";

  Texts bench, topology, overrides, parameters, seed, reads, memory, threads, max_polls, stack_size, json, op_log,
      trace, wait_graph, detailed_launches, correlation_id, report, colour, bench_of_file, compiler, cxxflags, load;
  LimitOptions limits;
  bool no_data = false, exact_events = false, no_explain = false, skip_floating = false, explain = false, quiet = false,
       no_cache = false;
  bool whole_run = false, alike_devices = false, detect_races = false, quick_plans = false;

  void declare(OptionSet& options);
  Command command() const;

 private:
  BenchFileOptions file_options(const std::string& name) const;
};

}  // namespace kernbench::cli
