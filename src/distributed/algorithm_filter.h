// What the environment variable KB_ALGO asks for: which algorithms the operations of collectives may use.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

/// The algorithms that a text in NCCL's syntax leaves: `allreduce:tree;broadcast:ring`, `ring,tree`, `^ring`.
class AlgorithmFilter {
 public:
  /// ConfigurationError for operations and algorithms that do not exist, for an operation that is named twice, and for
  /// a choice that leaves none.
  explicit AlgorithmFilter(std::string_view text, AlgorithmTableRef table = shipped_algorithms());

  bool allows(const CollectiveAlgorithm& algorithm) const;
  /// The group's spec, with another algorithm for each operation whose own is not allowed: the first one of the table
  /// that is and can run on the group; if none can, the first one that is allowed.
  AlgorithmSpec applied_to(const GroupDescription& group) const;

 private:
  AlgorithmTableRef table_;
  /// By operation, those that it may use; an empty list: all.
  std::array<std::vector<std::string_view>, kCollectiveOperations.size()> allowed_;
};

/// The name of an algorithm without its operation, as NCCL_ALGO has it: "ring" for ring_allreduce.
std::string_view family_of(const CollectiveAlgorithm& algorithm);

}  // namespace kernbench::distributed
