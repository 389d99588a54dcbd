// Broadcast along a ring: the root's elements go from rank to rank, tile by tile, each rank keeping and passing on what
// comes in; the last one passes nothing on. Also a barrier: a token that goes around as often as there are ranks.
#pragma once

#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

/// Copies what the calling PE holds of the one-dimensional tensor `x` on rank `root` to all ranks.
void ring_broadcast(const RingPlace& ring, const tl::Tensor& x, std::int64_t root);

/// Returns when every rank has called it: after n - 1 steps, of one byte each, a rank has heard of all others.
void ring_barrier(const RingPlace& ring);

}  // namespace kernbench::distributed
