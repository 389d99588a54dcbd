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
CollectiveAlgorithm multi_ring_allreduce();
CollectiveAlgorithm hierarchical_allreduce();
CollectiveAlgorithm ring_broadcast();
CollectiveAlgorithm bidirectional_ring_broadcast();
CollectiveAlgorithm direct_broadcast();
CollectiveAlgorithm ring_barrier();
CollectiveAlgorithm bidirectional_ring_barrier();
CollectiveAlgorithm bidirectional_grid_barrier();
CollectiveAlgorithm dissemination_barrier();
CollectiveAlgorithm bidirectional_dissemination_barrier();
CollectiveAlgorithm tree_barrier();
CollectiveAlgorithm direct_barrier();
CollectiveAlgorithm ring_reduce_scatter();
CollectiveAlgorithm bidirectional_ring_reduce_scatter();
CollectiveAlgorithm direct_reduce_scatter();
CollectiveAlgorithm pat_reduce_scatter();
CollectiveAlgorithm ring_all_gather();
CollectiveAlgorithm bidirectional_ring_all_gather();
CollectiveAlgorithm direct_all_gather();
CollectiveAlgorithm bruck_all_gather();
CollectiveAlgorithm pat_all_gather();
CollectiveAlgorithm ring_reduce();
CollectiveAlgorithm bidirectional_ring_reduce();
CollectiveAlgorithm direct_reduce();
CollectiveAlgorithm direct_gather();
CollectiveAlgorithm direct_scatter();
CollectiveAlgorithm pairwise_all_to_all();
CollectiveAlgorithm bruck_all_to_all();
CollectiveAlgorithm intercube_allreduce();

std::span<const CollectiveAlgorithm> collective_algorithms() {
  static const std::array table{
      ring_allreduce(),
      direct_allreduce(),
      grid_ring_allreduce(),
      halving_doubling_allreduce(),
      double_tree_allreduce(),
      bidirectional_ring_allreduce(),
      bidirectional_grid_allreduce(),
      multi_ring_allreduce(),
      hierarchical_allreduce(),
      ring_broadcast(),
      bidirectional_ring_broadcast(),
      direct_broadcast(),
      ring_barrier(),
      bidirectional_ring_barrier(),
      bidirectional_grid_barrier(),
      dissemination_barrier(),
      bidirectional_dissemination_barrier(),
      tree_barrier(),
      direct_barrier(),
      ring_reduce_scatter(),
      bidirectional_ring_reduce_scatter(),
      direct_reduce_scatter(),
      pat_reduce_scatter(),
      ring_all_gather(),
      bidirectional_ring_all_gather(),
      direct_all_gather(),
      pat_all_gather(),
      bruck_all_gather(),
      ring_reduce(),
      bidirectional_ring_reduce(),
      direct_reduce(),
      direct_gather(),
      direct_scatter(),
      pairwise_all_to_all(),
      bruck_all_to_all(),
      intercube_allreduce(),
  };
  return table;
}

}  // namespace kernbench::distributed
