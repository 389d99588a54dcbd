// A topology, or the description of its keys, as text: YAML, a table, the reference page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/spec.h"

namespace kernbench::topology {

/// The topology as a file that reads back to the same value: every key, its meaning in a comment beside it.
std::string to_yaml(const Topology& topology);

/// Every key with its value: {"cube.hbm.bandwidth", "1.2TB/s"}. Keys that have no value are left out.
std::vector<std::pair<std::string, std::string>> settings(const Topology& topology);

/// The topology as an aligned table: path, value, meaning. One line a key.
std::string to_table(const Topology& topology);

/// The reference of all keys as a Markdown table: path, type, range, default, meaning.
std::string reference_table();

/// The ranges of the local offset of a physical address, as a Markdown table.
std::string address_table();

}  // namespace kernbench::topology
