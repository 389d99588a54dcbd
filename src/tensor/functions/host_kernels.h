// Host loops of the elementwise functions: those of numerics/elementwise_table.h, with PyTorch's rules for lanes that
// have no result.
#pragma once

#include "tensor/functions/host_loops.h"

namespace kernbench::tensor {

/// The loop of an operation whose operands are promoted to `compute`. Questions yield 0 or 1. Division of integers by
/// zero is a ValueError ("ZeroDivisionError"); a shift by a count that i64 does not have gives what is left when every
/// bit has gone.
HostLoop host_loop(const ElementwiseInfo& operation, DType compute);

}  // namespace kernbench::tensor
