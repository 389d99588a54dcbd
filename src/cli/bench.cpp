#include "cli/bench.h"

#include <utility>

#include "kernbench/error.h"

namespace kernbench::cli {

SimulateOptions options_for(const Bench& bench, SimulateOptions options, const ParameterTexts& given) {
  options.parameters = Parameters(bench.name, bench.parameters, given);
  options.models = bench.models;
  try {
    options.algorithms.add(bench.algorithms);
  } catch (const ValueError& error) {
    throw ConfigurationError(error.what());
  }
  return options;
}

report::RunResult execute(const Bench& bench, const SimulateOptions& options) {
  report::RunResult result = try_simulate(options, bench.run);
  result.bench = bench.name;
  result.parameters = options.parameters.values();
  return result;
}

}  // namespace kernbench::cli
