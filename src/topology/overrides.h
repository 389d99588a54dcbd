// Overrides of single parts: checked against the machine, and applied to its links.
#pragma once

#include <string>
#include <vector>

#include "topology/checks.h"
#include "topology/network.h"
#include "topology/part_names.h"
#include "topology/spec.h"

namespace kernbench::topology {

/// Whether an override has figures of links, of PEs.
bool is_of_links(const PartOverride& change);
bool is_of_pes(const PartOverride& change);

/// The names of links, which must outlive them: a place is the number of a link.
PartNames names_of(const std::vector<Link>& links);

/// All that is wrong with the overrides of a checked topology: names that no part has, keys of other parts, and failed
/// links without which two endpoints cannot reach each other. Costs a network of the machine if there are any.
std::vector<Finding> check_overrides(const Topology& topology);
/// The same, given the network of the topology without its overrides.
std::vector<Finding> check_overrides(const std::vector<PartOverride>& overrides, const Network& plain);

/// Gives links their own figures, the later overrides last.
void apply_overrides(const std::vector<PartOverride>& overrides, std::vector<Link>& links);

}  // namespace kernbench::topology
