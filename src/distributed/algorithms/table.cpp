// The algorithms of collectives, one line each: its file defines the function.
#include <array>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

CollectiveAlgorithm ring_allreduce();
CollectiveAlgorithm direct_allreduce();
CollectiveAlgorithm ring_broadcast();
CollectiveAlgorithm ring_barrier();

std::span<const CollectiveAlgorithm> collective_algorithms() {
  static const std::array table{
      ring_allreduce(),
      direct_allreduce(),
      ring_broadcast(),
      ring_barrier(),
  };
  return table;
}

}  // namespace kernbench::distributed
