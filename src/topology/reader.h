// Reads a topology from the tree of its file.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "topology/document.h"
#include "topology/models.h"
#include "topology/spec.h"

namespace kernbench::topology {

/// What a tree says. Members that could not be read keep their defaults and stand in `unread`.
struct Reading {
  Topology topology;
  std::set<std::string> unread;  // paths: "cube.hbm.bandwidth"
};

/// Reads every key of the description; `models` are known beside the built-in ones. Unknown, missing and wrong ones are
/// appended to `problems`.
Reading read_topology(const Node& root, const ModelNames& models, std::vector<Problem>& problems);

/// The place of the value at `path`, or of the innermost section around it that the tree has.
SourcePlace place_of(const Node& root, std::string_view path);

}  // namespace kernbench::topology
