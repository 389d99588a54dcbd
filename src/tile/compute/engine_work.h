// Maps element types to the types that the engines distinguish.
#pragma once

#include "kernbench/dtype.h"
#include "topology/engine_operations.h"

namespace kernbench::tile {

/// The operand type under which the GEMM engine takes a tile of type `dtype`. Requires a type that `tl::dot` takes.
constexpr topology::GemmOperand gemm_operand(DType dtype) {
  using topology::GemmOperand;
  const bool floating = is_floating_point(dtype);
  switch (item_size(dtype)) {
    case 1:
      return floating ? GemmOperand::f8 : GemmOperand::i8;
    case 2:
      return dtype == DType::bf16 ? GemmOperand::bf16 : GemmOperand::f16;
    default:
      return floating ? GemmOperand::f32 : GemmOperand::i32;
  }
}

}  // namespace kernbench::tile
