// The commands, each a function in a file of its own. Errors are thrown; run_program turns them into messages and
// codes.
#pragma once

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/exit_code.h"

namespace kernbench::cli {

ExitCode list(const ListCommand& command, const Environment& environment);
ExitCode describe(const DescribeCommand& command, const Environment& environment);
ExitCode run(const RunCommand& command, const Environment& environment);
ExitCode diff(const DiffCommand& command, const Environment& environment);
ExitCode sweep_bench(const SweepCommand& command, const Environment& environment);
ExitCode measure_collective(const CclCommand& command, const Environment& environment);

/// Whether to colour what goes to a stream that is a terminal or not. `automatic` respects NO_COLOR and TERM=dumb.
bool use_colour(ColourMode mode, bool terminal);

}  // namespace kernbench::cli
