// Elementwise operations of tiles by their place in the table, for kernels of the library.
#pragma once

#include "kernbench/tl.h"
#include "numerics/operation.h"

namespace kernbench::tile {

/// The vector command of an operation. REQUIRES: the row has a cost, and operation_info knows the operation.
tl::Tile apply(numerics::UnaryOperation operation, const tl::Tile& x, const tl::Where& where = tl::Where::current());
tl::Tile apply(numerics::BinaryOperation operation, const tl::Operand& a, const tl::Operand& b,
               const tl::Where& where = tl::Where::current());

}  // namespace kernbench::tile
