// Functions that are made of others, under the names of Triton's standard library. Each is one fused command.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kernbench/tl/types.h"

namespace kernbench::tl {

/// e^x over its sum along `dim`, in f32, with the largest lane taken off first.
Tile softmax(const Tile& x, int dim = 0, Where where = Where::current());
/// Sums, and running sums, of lanes that are converted to `dtype` first, which is that of the result.
Tile sum(const Tile& x, std::optional<int> axis, bool keep_dims, DType dtype, Where where = Where::current());
Tile cumsum(const Tile& x, int axis, bool reverse, DType dtype, Where where = Where::current());
/// Exclusive or, and or, of all lanes along `axis` (of all, when absent), of integers.
Tile xor_sum(const Tile& x, std::optional<int> axis = std::nullopt, bool keep_dims = false,
             Where where = Where::current());
Tile reduce_or(const Tile& x, std::optional<int> axis = std::nullopt, bool keep_dims = false,
               Where where = Where::current());
/// The largest (smallest) lanes along `axis` and their indices, as max and argmax (min and argmin): what Triton's max
/// yields with return_indices.
std::pair<Tile, Tile> max_with_index(const Tile& x, int axis, bool keep_dims = false, Where where = Where::current());
std::pair<Tile, Tile> min_with_index(const Tile& x, int axis, bool keep_dims = false, Where where = Where::current());
/// Both tiles by broadcast_to in the shape to which they broadcast.
std::pair<Tile, Tile> broadcast(const Tile& a, const Tile& b, Where where = Where::current());
/// The lanes of a and b in turn, along the last dimension: join, seen with that dimension twice as long.
Tile interleave(const Tile& a, const Tile& b, Where where = Where::current());
/// The upper 32 bits of the product of two i32, whose bits are taken as unsigned numbers.
Tile umulhi(const Tile& a, const Tile& b, Where where = Where::current());
/// Correctly rounded in f32, as `/` and `sqrt` are.
Tile div_rn(const Tile& a, const Tile& b, Where where = Where::current());
Tile sqrt_rn(const Tile& x, Where where = Where::current());

/// Of place (i, j) in a matrix of size_i x size_j, whose places are counted row by row, the one that is counted at the
/// same time when groups of `size_g` rows are counted column by column: Triton's order of blocks that share their
/// operands.
constexpr std::pair<std::int64_t, std::int64_t> swizzle2d(std::int64_t i, std::int64_t j, std::int64_t size_i,
                                                          std::int64_t size_j, std::int64_t size_g) {
  const std::int64_t place = i * size_j + j, in_group = size_g * size_j;
  const std::int64_t first = place / in_group * size_g;
  const std::int64_t rows = size_i - first < size_g ? size_i - first : size_g;
  const std::int64_t in_this = place % in_group;
  return {first + in_this % rows, in_this / rows};
}

}  // namespace kernbench::tl
