// The options of "kernbench ccl".
#pragma once

#include <array>

#include "cli/command_line.h"
#include "cli/options/limit_options.h"
#include "cli/options/option_set.h"

namespace kernbench::cli {

struct CclOptions {
  static constexpr const char* kCommand = "ccl";
  static constexpr const char* kSummary = "Measure and check a collective, as nccl-tests do";

  Texts operation, topology, overrides, least, most, step, factor, average, devices, threads, iterations, warm_ups,
      calls, check, reduction, type, root, algorithms, load, msccl, tune, json, csv;
  LimitOptions limits;
  bool compare = false, bound = false, alike_devices = false;
  /// Options of nccl-tests that say how its process works.
  struct Ignored {
    const char *names, *why;
    Texts values = {};
  };
  std::array<Ignored, 7> ignored{{
      {"-z,--blocking", "calls return at once, in simulated time"},
      {"-R,--local_register", "there is no registration of buffers"},
      {"-p,--parallel_init", "setting up takes the time that the table says"},
      {"-C,--report_cputime", "the host's time is none of the simulated"},
      {"-T,--timeout", "a call that never ends is a deadlock, and is told"},
      {"-G,--cudagraph", "each call is launched"},
      {"-N,--run_cycles", "each run is the same"},
  }};

  void declare(OptionSet& options);
  Command command() const;

 private:
  void sizes_into(ccl::Sizes& sizes) const;
};

}  // namespace kernbench::cli
