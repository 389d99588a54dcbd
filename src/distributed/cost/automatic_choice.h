// The choice of the algorithm that costs least on a group.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "distributed/cost/algorithm_cost.h"
#include "topology/network.h"

namespace kernbench::distributed {

/// For a group whose ranks are the SIPs, or PEs, of their global numbers, as they are unless a program moves them; so
/// the choice is a function of the group, the machine and the bytes alone, the same on all ranks.
class AutomaticChoice {
 public:
  /// Of the candidates for the operation those that can run on the group, over channels that fit beside those that it
  /// has anyway.
  AutomaticChoice(CollectiveOperation operation, const GroupDescription& of, std::span<const int> ranks,
                  const topology::Network& network);
  /// By the file of measurements, if the group's entry names one (AlgorithmSpec::tuning) with this operation and group
  /// and its algorithms are candidates; else the first one of the table unless another one takes 2 % less.
  const CollectiveAlgorithm& of(std::int64_t bytes) const;
  /// Of those that accept the call; null: none does.
  using Accepts = std::function<bool(const CollectiveAlgorithm&)>;
  const CollectiveAlgorithm* of(std::int64_t bytes, const Accepts& accepts) const;
  /// Why `taken`, which of() has returned for that size: "least cost", "only candidate", or "best by measurement in
  /// FILE".
  std::string reason(std::int64_t bytes, const CollectiveAlgorithm& taken) const;
  const std::vector<AlgorithmCost>& costs() const { return costs_; }

 private:
  /// Takes the measured algorithms of the group, if there are some. ConfigurationError for one that cannot run on it.
  void take_measured(CollectiveOperation operation, const GroupDescription& group);
  /// The measured one of a size; null below the first one that was measured.
  const CollectiveAlgorithm* measured_of(std::int64_t bytes) const;

  std::vector<AlgorithmCost> costs_;
  std::map<std::int64_t, const CollectiveAlgorithm*> measured_;  // by the size from which on; else by cost
  std::string file_;                                             // of the measurements
};

}  // namespace kernbench::distributed
