// Runs of built-in benches, as `kernbench run NAME -p …` makes them.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cli/built_in_benches.h"
#include "support/kept_plans.h"

namespace kernbench {

/// With the plans that tests share, or those of `options`.
inline RunResult run_built_in(const std::string& name, const cli::ParameterTexts& parameters, SimulateOptions options) {
  if (options.plans == nullptr) options.plans = kept_plans();
  const auto& benches = cli::built_in_benches();
  const auto bench = std::ranges::find(benches, name, &cli::Bench::name);
  if (bench == benches.end()) throw std::logic_error("no bench " + name);
  return cli::execute(*bench, cli::options_for(*bench, options, parameters));
}

}  // namespace kernbench
