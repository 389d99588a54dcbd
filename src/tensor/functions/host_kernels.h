// Host loops of the elementwise functions, with PyTorch's semantics.
#pragma once

#include "tensor/functions/host_loops.h"

namespace kernbench::tensor {

/// The loop of an operation in the arithmetic type f32, f64 or i64. Comparisons and logical operations yield 0 or 1 in
/// that type. Division of integers by zero is a ValueError ("ZeroDivisionError").
HostLoop host_loop(BinaryOperation operation, DType arithmetic);
HostLoop host_loop(UnaryOperation operation, DType arithmetic);
/// a * b + c, rounded twice.
HostLoop multiply_add_loop(DType arithmetic);
/// low and high are inputs 1 and 2 where they are given.
HostLoop clamp_loop(bool low, bool high, DType arithmetic);
/// Input 0 (i64) chooses between inputs 1 and 2.
HostLoop where_loop(DType arithmetic);

}  // namespace kernbench::tensor
