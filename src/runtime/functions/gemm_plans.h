// Plans of matrix products that have been made: a model multiplies the same shapes again and again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernbench/plan_store.h"
#include "tile/library/gemm_plan.h"
#include "topology/spec.h"

namespace kernbench::runtime {

/// Products of one shape, type, set of knobs and placement have one plan, on whatever SIP: all SIPs are alike.
class GemmPlans {
 public:
  /// With a store plans that were made in other runs are taken from there. What was planned while the run was to stop
  /// is not kept: it was not measured.
  explicit GemmPlans(PlanStore* store = nullptr, const std::atomic<bool>* stop_requested = nullptr)
      : store_(store), stop_requested_(stop_requested) {}

  /// As library::plan_gemm, which it asks once. All PEs and parts are of one SIP. `timed` tells what the timer depends
  /// on besides: in one simulation the product that comes first decides for all of the same shape, type, knobs and
  /// placement, a store knows them apart.
  std::shared_ptr<const tile::library::GemmPlan> plan(const tile::library::GemmProblem& problem,
                                                      std::span<const PeCoordinate> pes,
                                                      const tile::library::GemmOperands& operands,
                                                      const topology::Topology& topology,
                                                      const tile::library::PlanTimer& timer,
                                                      const std::function<std::vector<std::int64_t>()>& timed);

 private:
  using Key = std::vector<std::int64_t>;
  using Plan = std::shared_ptr<const tile::library::GemmPlan>;

  std::string stored_key(const Key& key, const Key& timed, const topology::Topology& topology);

  /// Plans that are kept; with more all are forgotten. Those of a step that grows, as with a cache of keys, come once.
  static constexpr std::size_t kMost = 256;
  std::map<Key, Plan> plans_;
  PlanStore* store_;
  const std::atomic<bool>* stop_requested_;
  std::string machine_;  // as a text, once it is needed
};

}  // namespace kernbench::runtime
