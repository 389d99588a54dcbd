// Plans of matrix products that have been made: a model multiplies the same shapes again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tile/library/gemm_plan.h"
#include "topology/spec.h"

namespace kernbench::runtime {

/// Products of one shape, type, set of knobs and placement have one plan, on whatever SIP: all SIPs are alike.
class GemmPlans {
 public:
  /// As library::plan_gemm, which it asks once. All PEs and parts are of one SIP.
  std::shared_ptr<const tile::library::GemmPlan> plan(const tile::library::GemmProblem& problem,
                                                      std::span<const PeCoordinate> pes,
                                                      const tile::library::GemmOperands& operands,
                                                      const topology::Topology& topology,
                                                      const tile::library::PlanTimer& timer);

 private:
  /// Plans that are kept; with more all are forgotten. Those of a step that grows, as with a cache of keys, come once.
  static constexpr std::size_t kMost = 256;
  std::map<std::vector<std::int64_t>, std::shared_ptr<const tile::library::GemmPlan>> plans_;
};

}  // namespace kernbench::runtime
