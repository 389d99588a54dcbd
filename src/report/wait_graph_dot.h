// A deadlock as a picture: who waits for whom, in Graphviz' language.
#pragma once

#include <string>

#include "report/result.h"

namespace kernbench::report {

/// A digraph with a node for each party and an edge for each wait, labelled with its reason. What lies on a cycle is
/// drawn bold and red, a party that is missing as a dashed node. Without a deadlock the graph is empty.
std::string wait_graph_dot(const RunResult& result);

}  // namespace kernbench::report
