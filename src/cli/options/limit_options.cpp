#include "cli/options/limit_options.h"

#include <string>

#include "cli/options/option_values.h"

namespace kernbench::cli {

void LimitOptions::declare_max_time(OptionSet& options) {
  options.text("--max-time", max_time, "TIME", "Stop with an error beyond this simulated time, such as 10ms");
}

void LimitOptions::declare_watchdog(OptionSet& options) {
  options.text("--watchdog", watchdog, "SECONDS",
               "Longest computation without a wait, on the clock (default: 60; 0: any)");
}

void LimitOptions::into(SimulateOptions& options) const {
  const std::string bound = single("--max-time", max_time, "");
  if (!bound.empty()) options.max_time = max_time_of(bound);
  options.watchdog_seconds = watchdog_of(single("--watchdog", watchdog, "60"));
}

}  // namespace kernbench::cli
