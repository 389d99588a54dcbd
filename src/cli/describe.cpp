#include "cli/commands.h"

namespace kernbench::cli {

ExitCode describe(const DescribeCommand& command, const Environment& environment) {
  environment.out(environment.describe(command, use_colour(command.colour, environment.out_is_terminal)));
  return ExitCode::ok;
}

}  // namespace kernbench::cli
