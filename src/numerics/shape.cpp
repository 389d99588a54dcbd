#include "numerics/shape.h"

namespace kernbench::numerics {

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const std::size_t skipped = longer.rank() - shorter.rank();
  for (std::size_t i = 0; i < shorter.rank(); ++i) {
    std::int64_t& extent = result[skipped + i];
    if (shorter[i] == extent || shorter[i] == 1) continue;
    if (extent != 1) return std::nullopt;
    extent = shorter[i];
  }
  return result;
}

}  // namespace kernbench::numerics
