// Checks of a machine beyond the range of each single value.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "topology/spec.h"

namespace kernbench::topology {

/// Something wrong with the value at `path`.
struct Finding {
  std::string path;     // "cube.hbm.channels"
  std::string message;  // "cannot be divided equally among ..."
};

/// All rules that the topology breaks. Rules about a value in `unread` are left out. Requires values in their ranges.
std::vector<Finding> check(const Topology& topology, const std::set<std::string>& unread = {});

/// What is allowed but likely a mistake: a link whose buffer is given and does not cover its round trip
/// at full bandwidth; more descriptors under way than their queue holds.
std::vector<Finding> warnings(const Topology& topology);

}  // namespace kernbench::topology
