#include <memory>
#include <string>

#include "cli/algorithm_table.h"
#include "cli/commands.h"
#include "cli/extension_files.h"
#include "cli/msccl_file.h"
#include "cli/status_line.h"
#include "distributed/collectives_file.h"
#include "topology/load.h"

namespace kernbench::cli {
namespace {

std::string describe_algorithm(const DescribeCommand& command, const Environment& environment) {
  StatusLine status(environment.err, environment.err_is_terminal);
  CollectiveRegistry own = extensions_of(command.load, {}, false, environment, status).algorithms;
  distributed::DescriptionRequest request = *command.algorithm;
  if (!command.msccl.empty()) request.name = add_schedule(command.msccl, own).name;
  const auto table = std::make_shared<const distributed::AlgorithmTable>(own);
  const distributed::AlgorithmDescription description =
      distributed::describe_algorithm(request, distributed::load_collectives({}, table),
                                      topology::load_topology(command.topology, command.overrides, {}, {.any = true}));
  if (command.format == DescribeFormat::json) return algorithm_json(description);
  return algorithm_table(description, use_colour(command.colour, environment.out_is_terminal));
}

}  // namespace

ExitCode describe(const DescribeCommand& command, const Environment& environment) {
  environment.out(command.algorithm
                      ? describe_algorithm(command, environment)
                      : environment.describe(command, use_colour(command.colour, environment.out_is_terminal)));
  return ExitCode::ok;
}

}  // namespace kernbench::cli
