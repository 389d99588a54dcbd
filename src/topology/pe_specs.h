// The figures of each PE: those of the topology, or its own where an override names it.
#pragma once

#include <map>

#include "kernbench/coordinates.h"
#include "topology/spec.h"

namespace kernbench::topology {

class PeSpecs {
 public:
  /// The topology must outlive this.
  explicit PeSpecs(const Topology& topology);

  const PeSpec& of(PeCoordinate at) const {
    if (own_.empty()) return common_;
    const auto found = own_.find(at);
    return found == own_.end() ? common_ : found->second;
  }
  /// Those that overrides name.
  const std::map<PeCoordinate, PeSpec>& own() const { return own_; }

 private:
  const PeSpec& common_;
  std::map<PeCoordinate, PeSpec> own_;
};

}  // namespace kernbench::topology
