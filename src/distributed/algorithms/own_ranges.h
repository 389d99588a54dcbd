// The elements for which the program of an all-reduce on one PE is there.
#pragma once

#include "distributed/algorithms/algorithm.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

/// Calls body(range) for each: of each shard that the calling PE holds, or of its share of a tensor of another PE.
template <class Body>
void for_each_own_range(const CollectiveArguments& arguments, const Body& body) {
  if (arguments.share) return body(*arguments.share);
  for_each_local_shard(*arguments.tensor, body);
}

}  // namespace kernbench::distributed
