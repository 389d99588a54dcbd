// torch::ahbm::all_reduce_partials: the sum of all replicas of a tensor, which hold partial sums of it.
#pragma once

#include "kernbench/distributed.h"

namespace kernbench::torch::ahbm {

/// Every replica of the tensor, on every rank := the reduction of all replicas of all ranks, with the same bits
/// everywhere. It ends a matrix product whose inner dimension is cut over cubes or PEs (split-K): each PE has written
/// the sum of its part into its own replica of the result.
///
/// `tensor` is replicated over the PEs of cubes, over cubes, or both (DPPolicy); a box that has one replica on each
/// rank is reduced over the ranks, as by all_reduce. AVG is over the replicas of all ranks together.
/// Replicas are added in the order of the group's algorithm (docs/collectives.md), in the tensor's own type.
///
/// Otherwise as torch::distributed::all_reduce: every rank of the group calls it, with tensors of one shape, type and
/// placement; a world may have one rank. ValueError for a type that `op` cannot reduce.
distributed::WorkRef all_reduce_partials(const Tensor& tensor,
                                         distributed::ReduceOpOrName op = distributed::ReduceOp::SUM,
                                         const distributed::ProcessGroup& group = {}, bool async_op = false,
                                         Where where = Where::current());

}  // namespace kernbench::torch::ahbm
