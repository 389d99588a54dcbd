// All-reduce along a ring: reduce-scatter, then all-gather.
//
// The elements of each shard are cut into n chunks of ceil(length / n), the last ones shorter or empty. Chunk c goes
// once around the ring, from rank c + 1 over c + 2, … to rank c, and every rank adds its own elements on the right: it
// is folded
//   ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]          (indices modulo n)
// from the left, in the tensor's own type. Rank c then has the result (AVG: divided by n there, once), which goes
// around once more, so that all ranks end with the same bits. A rank sends 2(n - 1) chunks.
//
// Tiles of one slot are pipelined: of each chunk so many at a time as a queue has slots. A rank has then never sent
// more tiles that it has not received than the queue of its successor holds, so that a ring cannot fill up, with one
// slot either.
#pragma once

#include "distributed/algorithms/neighbours.h"
#include "kernbench/distributed.h"

namespace kernbench::distributed {

/// a ∘ b, in the type of both.
tl::Tile reduce(torch::distributed::ReduceOp op, const tl::Tile& a, const tl::Tile& b);
/// Whether tensors of the type can be reduced so: SUM, PRODUCT, MIN and MAX of integers and floating-point numbers but
/// f8, AVG of the latter, BAND, BOR and BXOR of integers and booleans.
bool can_reduce(torch::distributed::ReduceOp op, DType dtype);

/// Reduces what the calling PE holds of the one-dimensional tensor `x`, in place.
void ring_allreduce(const RingPlace& ring, const tl::Tensor& x, torch::distributed::ReduceOp op);

}  // namespace kernbench::distributed
