// One all-reduce around one ring, for algorithms of one or several rings.
#pragma once

#include "distributed/algorithms/algorithm.h"
#include "distributed/algorithms/range.h"
#include "kernbench/tl.h"

namespace kernbench::distributed {

/// The range := its fold over the ranks, in the order in which `ring` has them: see ring_allreduce.cpp.
void reduce_around(const RankView& ring, const tl::Tensor& x, torch::distributed::ReduceOp op, Range range);

}  // namespace kernbench::distributed
