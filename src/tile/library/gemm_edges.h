// A few rows and columns that are left of a matrix product when every program works on whole arrays.
//
// 4097 columns over 16 programs are 257 each: five arrays of 64, of which the fifth does one column. Without the last
// column each program has four, and the 4097th column is shared by all programs as one more block of each.
#pragma once

#include <array>
#include <cstdint>

#include "kernbench/coordinates.h"
#include "tile/library/gemm_plan.h"

namespace kernbench::tile::library {

/// What all programs work on in whole arrays, and what each works on after that.
struct GemmEdges {
  GemmShape whole;         // of the product; m and n may be less than its
  std::int64_t folds = 0;  // of the GEMM array: of the program with the most to do, its edges included
  std::int64_t more = 0;   // of them those of the edges
  bool any(const GemmShape& shape) const { return whole.m < shape.m || whole.n < shape.n; }
};

/// Of a product over parts_m x parts_n programs the way with the fewest folds: with no edge, one of rows, one of
/// columns, or both.
GemmEdges fewest_folds(const GemmShape& shape, std::int64_t parts_m, std::int64_t parts_n, const MeshExtent& array);

/// What the program with `range` of `whole` works on after it: its share of the rows below (of its columns, with the
/// corner in the last ones), and of the columns to the right (of its rows). Either may be empty. `range` must not be.
std::array<GemmRange, 2> edges_of(const GemmShape& shape, const GemmShape& whole, const GemmRange& range);

}  // namespace kernbench::tile::library
