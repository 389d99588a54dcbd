// What the products of the tile language have in common.
#pragma once

#include <string>

#include "hardware/work.h"
#include "kernbench/tl.h"
#include "numerics/value.h"
#include "tile/program/program.h"

namespace kernbench::tile {

/// A call of a product, for its errors.
struct ProductCall {
  const Program& program;
  const char* name;  // "dot"
  const tl::Where& where;

  [[noreturn]] void fail(const std::string& message) const;
};

/// Batch, m, n and k of operands of these shapes; ValueError where they do not go together.
hardware::GemmWork product_of(const ProductCall& call, const tl::Extents& a, const tl::Extents& b);
/// Sets the part of the array that the product takes; ValueError for a negative one.
void set_fold(const ProductCall& call, hardware::GemmWork& work, const tl::Fold& fold);
/// ValueError unless `addend` is a tile of floats (of integers, for products of these) of the result's shape.
void check_accumulator(const ProductCall& call, const TileState& addend, const tl::Extents& shape, DType operands);
/// The command whose sums the array still has, if `addend` is what it makes and no operand is.
const hardware::Command* continues(const TileState& addend, std::initializer_list<const TileState*> operands);

}  // namespace kernbench::tile
