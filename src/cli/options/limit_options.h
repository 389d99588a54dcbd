// The options that end a simulation which never would.
#pragma once

#include "cli/bench.h"
#include "cli/options/option_set.h"

namespace kernbench::cli {

struct LimitOptions {
  Texts max_time, watchdog;

  void declare_max_time(OptionSet& options);
  void declare_watchdog(OptionSet& options);
  void into(SimulateOptions& options) const;
};

}  // namespace kernbench::cli
