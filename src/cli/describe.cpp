#include <memory>
#include <string>
#include <utility>

#include "cli/algorithm_table.h"
#include "cli/commands.h"
#include "cli/extension_files.h"
#include "cli/msccl_file.h"
#include "cli/status_line.h"
#include "distributed/collectives_file.h"
#include "hardware/models.h"
#include "kernbench/simulate.h"
#include "topology/load.h"

namespace kernbench::cli {
namespace {

std::string describe_algorithm(const DescribeCommand& command, const Environment& environment) {
  StatusLine status(environment.err, environment.err_is_terminal);
  Extensions loaded = extensions_of(command.load, {}, false, environment, status);
  CollectiveRegistry own = std::move(loaded.algorithms);
  const topology::ModelNames models =
      command.load.empty() ? topology::ModelNames{.any = true} : hardware::names_of(loaded.models);
  distributed::DescriptionRequest request = *command.algorithm;
  if (!command.msccl.empty()) request.name = add_schedule(command.msccl, own).name;
  const auto table = std::make_shared<const distributed::AlgorithmTable>(own);
  const distributed::AlgorithmDescription description =
      distributed::describe_algorithm(request, distributed::load_collectives({}, table),
                                      topology::load_topology(command.topology, command.overrides, {}, models));
  if (command.format == DescribeFormat::json) return algorithm_json(description);
  return algorithm_table(description, use_colour(command.colour, environment.out_is_terminal));
}

/// The machine with the models of the files; it is built, so that the models see their parameters.
DescribeCommand with_models(const DescribeCommand& command, const Environment& environment) {
  StatusLine status(environment.err, environment.err_is_terminal);
  SimulateOptions options;
  options.topology = command.topology;
  options.overrides = command.overrides;
  options.models = extensions_of(command.load, {}, false, environment, status).models;
  options.data = false;
  DescribeCommand with = command;
  with.models = hardware::names_of(options.models);
  if (!command.topology.empty()) simulate(options, [] {});
  return with;
}

std::string describe_machine(const DescribeCommand& command, const Environment& environment) {
  const bool colour = use_colour(command.colour, environment.out_is_terminal);
  return environment.describe(command.load.empty() ? command : with_models(command, environment), colour);
}

}  // namespace

ExitCode describe(const DescribeCommand& command, const Environment& environment) {
  environment.out(command.algorithm ? describe_algorithm(command, environment)
                                    : describe_machine(command, environment));
  return ExitCode::ok;
}

}  // namespace kernbench::cli
