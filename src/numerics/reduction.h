// Common parts of the reductions of a tile.
#pragma once

#include <optional>

#include "numerics/memory/storage.h"
#include "numerics/operations.h"

namespace kernbench::numerics {

/// A tile seen as [outer, length, inner], of which `length` is reduced.
struct Extent3 {
  std::int64_t outer = 1, length = 1, inner = 1;
};
Extent3 split(const Shape& shape, std::optional<int> axis);

/// Elements reduced side by side.
inline constexpr std::int64_t kColumns = 256;

constexpr bool yields_index(ReduceOperation operation) {
  return operation >= ReduceOperation::argmax;
}

/// Computes the indices of argmax and its like; those of no lanes are `own`'s doing.
void reduce_to_index(TileContents& out, ReduceOperation operation, const Operand& operand, const Extent3& extent,
                     DType result, const OwnSource& own);

}  // namespace kernbench::numerics
