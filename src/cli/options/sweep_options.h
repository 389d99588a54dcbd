// The options of "kernbench sweep".
#pragma once

#include "cli/command_line.h"
#include "cli/options/option_set.h"

namespace kernbench::cli {

struct SweepOptions {
  static constexpr const char* kCommand = "sweep";
  static constexpr const char* kSummary = "Simulate a bench for all combinations of some values";

  Texts over, metrics, jobs, csv, results, colour;
  bool resume = false;

  void declare(OptionSet& options);
  /// `others`: what is not for sweep is for run.
  Command command(const Texts& others) const;
};

}  // namespace kernbench::cli
