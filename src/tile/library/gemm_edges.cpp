#include "tile/library/gemm_edges.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernbench/tl/program.h"

namespace kernbench::tile::library {

namespace {

/// The largest multiple of `parts` whole arrays, or all where there is none.
std::int64_t whole_arrays(std::int64_t extent, std::int64_t parts, std::int64_t array) {
  const std::int64_t each = extent / (parts * array) * array;
  return each > 0 ? each * parts : extent;
}

std::int64_t folds(std::int64_t rows, std::int64_t columns, const MeshExtent& array) {
  return tl::cdiv(rows, array.height) * tl::cdiv(columns, array.width);
}

/// Part `index` of `parts` of an axis; they differ in length, and later ones may be empty.
std::pair<std::int64_t, std::int64_t> share(std::int64_t begin, std::int64_t end, std::int64_t index,
                                            std::int64_t parts) {
  const std::int64_t piece = tl::cdiv(end - begin, parts);
  return {std::min(begin + index * piece, end), std::min(begin + (index + 1) * piece, end)};
}

}  // namespace

GemmEdges fewest_folds(const GemmShape& shape, std::int64_t parts_m, std::int64_t parts_n, const MeshExtent& array) {
  const std::int64_t short_m = whole_arrays(shape.m, parts_m, array.height);
  const std::int64_t short_n = whole_arrays(shape.n, parts_n, array.width);
  GemmEdges best;
  for (const auto& [m, n] : {std::pair{shape.m, shape.n}, std::pair{short_m, shape.n}, std::pair{shape.m, short_n},
                             std::pair{short_m, short_n}}) {
    const std::int64_t rows = tl::cdiv(m, parts_m), columns = tl::cdiv(n, parts_n);
    GemmEdges edges;
    edges.whole = shape;
    edges.whole.m = m, edges.whole.n = n;
    if (m < shape.m) edges.more += folds(shape.m - m, tl::cdiv(columns + shape.n - n, parts_m), array);
    if (n < shape.n) edges.more += folds(tl::cdiv(rows, parts_n), shape.n - n, array);
    edges.folds = folds(rows, columns, array) + edges.more;
    if (best.folds == 0 || edges.folds < best.folds) best = edges;
  }
  return best;
}

std::array<GemmRange, 2> edges_of(const GemmShape& shape, const GemmShape& whole, const GemmRange& range) {
  std::array<GemmRange, 2> edges{range, range};
  auto& [below, beside] = edges;
  below.m[0] = whole.m, below.m[1] = shape.m;
  beside.n[0] = whole.n, beside.n[1] = shape.n;
  if (whole.m < shape.m) {
    const std::int64_t rows = range.m[1] - range.m[0], end = range.n[1] == whole.n ? shape.n : range.n[1];
    std::tie(below.n[0], below.n[1]) = share(range.n[0], end, range.m[0] / rows, whole.m / rows);
  }
  if (whole.n < shape.n) {
    const std::int64_t columns = range.n[1] - range.n[0];
    std::tie(beside.m[0], beside.m[1]) = share(range.m[0], range.m[1], range.n[0] / columns, whole.n / columns);
  }
  return edges;
}

}  // namespace kernbench::tile::library
