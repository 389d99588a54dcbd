// The topology layer as the commands need it.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/environment.h"

namespace kernbench::cli {

/// The shipped topologies in the order in which `list` shows them.
std::vector<TopologyEntry> shipped_topologies();

/// The text of `describe`. Throws ConfigurationError for what cannot be loaded.
std::string describe_topology(const DescribeCommand& command, bool colour);

}  // namespace kernbench::cli
