// The algorithms of collectives, one line each: its file defines the function.
#include <array>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

CollectiveAlgorithm ring_allreduce();
CollectiveAlgorithm direct_allreduce();
CollectiveAlgorithm grid_ring_allreduce();
CollectiveAlgorithm halving_doubling_allreduce();
CollectiveAlgorithm double_tree_allreduce();
CollectiveAlgorithm bidirectional_ring_allreduce();
CollectiveAlgorithm bidirectional_grid_allreduce();
CollectiveAlgorithm ring_broadcast();
CollectiveAlgorithm ring_barrier();
CollectiveAlgorithm ring_reduce_scatter();
CollectiveAlgorithm ring_all_gather();
CollectiveAlgorithm ring_reduce();
CollectiveAlgorithm direct_gather();
CollectiveAlgorithm direct_scatter();
CollectiveAlgorithm pairwise_all_to_all();

std::span<const CollectiveAlgorithm> collective_algorithms() {
  static const std::array table{
      ring_allreduce(),
      direct_allreduce(),
      grid_ring_allreduce(),
      halving_doubling_allreduce(),
      double_tree_allreduce(),
      bidirectional_ring_allreduce(),
      bidirectional_grid_allreduce(),
      ring_broadcast(),
      ring_barrier(),
      ring_reduce_scatter(),
      ring_all_gather(),
      ring_reduce(),
      direct_gather(),
      direct_scatter(),
      pairwise_all_to_all(),
  };
  return table;
}

}  // namespace kernbench::distributed
