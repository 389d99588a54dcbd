// A bench as the program holds it: a KERNBENCH_BENCH, built in or of a user's file, and how one is run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernbench/collective_registry.h"
#include "kernbench/models.h"
#include "kernbench/parameters.h"
#include "kernbench/simulate.h"
#include "report/result.h"

namespace kernbench::cli {

struct Bench {
  std::string name, help;
  std::vector<BenchParameter> parameters;
  std::function<void()> run;           // the body of the simulation's main fiber
  ModelRegistry models = {};           // component models that come with it
  CollectiveRegistry algorithms = {};  // collective algorithms that come with it
  Origin origin = {.kind = "built-in"};
};

/// Texts by name, as a command line gives them; not yet checked.
using ParameterTexts = std::map<std::string, std::string>;

/// `options` for a run of `bench`: with its models and, besides those of `options`, its collective algorithms, and with
/// its parameters as given, else their defaults. ConfigurationError for a parameter that the bench does not declare.
SimulateOptions options_for(const Bench& bench, SimulateOptions options, const ParameterTexts& given);

/// Runs `bench` in a fresh simulation with options_for(bench, …). An error of the simulated program is part of the
/// result, with what was measured before it.
report::RunResult execute(const Bench& bench, const SimulateOptions& options);

}  // namespace kernbench::cli
