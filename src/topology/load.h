// Topology files: finding them, reading them, and every problem of one in a single error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/models.h"
#include "topology/spec.h"

namespace kernbench::topology {

/// Where topologies are looked up by name: first in `directories`, in order, then, if `shipped`, where the project's
/// own ones are: in the installation that it belongs to or was linked against, or in the source tree.
struct SearchPath {
  std::vector<std::string> directories;
  bool shipped = true;
};

/// Whether a topology is named by its file: with a '/' or ending in ".yaml".
bool is_path(const std::string& name);

/// The topology in a file: one with a '/' or ending in ".yaml" is a path, anything else names
/// `<directory>/<name>.yaml`. Each override is "path=value", "cube.hbm.bandwidth=2TB/s"; the later one wins.
///
/// Throws ConfigurationError with all problems of the file and the overrides, one a line, in the order of the file:
/// `topologies/x.yaml:41:7: cube.hbm.bandwidht: unknown key, did you mean "bandwidth"?`,
/// `--set cube.hbm.latency=8GB/s: cube.hbm.latency: expected a time such as 80ns, ...`.
///
/// `models` are component models that a file may name beside the built-in ones.
Topology load_topology(const std::string& name_or_path, const std::vector<std::string>& overrides = {},
                       const SearchPath& search_path = {}, const ModelNames& models = {});

/// The same for the text of a file; `file_name` stands in the errors.
Topology parse_topology(std::string_view yaml, const std::string& file_name,
                        const std::vector<std::string>& overrides = {}, const ModelNames& models = {});

/// The names that load_topology finds on the search path, sorted.
std::vector<std::string> topology_names(const SearchPath& search_path = {});

}  // namespace kernbench::topology
