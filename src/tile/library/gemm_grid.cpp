#include "tile/library/gemm_grid.h"

#include <algorithm>

#include "kernbench/tl/program.h"

namespace kernbench::tile::library {

namespace {

struct Axis {
  std::int64_t begin, end;
};

Axis cut(Axis axis, std::int64_t index, std::int64_t parts) {
  const std::int64_t piece = tl::cdiv(axis.end - axis.begin, parts);
  return {std::min(axis.begin + index * piece, axis.end), std::min(axis.begin + (index + 1) * piece, axis.end)};
}

/// Part `index` of the grid: batch counts slowest, then k, m, n.
std::array<std::int64_t, 4> position(const GemmPlan::Grid& grid, std::int64_t index) {
  const std::int64_t n = index % grid.n, m = index / grid.n % grid.m;
  const std::int64_t k = index / (grid.n * grid.m) % grid.k;
  return {index / (grid.n * grid.m * grid.k), k, m, n};
}

}  // namespace

GemmRange range_of(const GemmShape& shape, const GemmPlan::Grid& cubes, const GemmPlan::Grid& pes, std::int64_t cube,
                   std::int64_t pe) {
  const auto outer = position(cubes, cube), inner = position(pes, pe);
  GemmRange range;
  const auto cut_both = [&](std::int64_t(&part)[2], std::int64_t extent, std::size_t axis, std::int64_t over_cubes,
                            std::int64_t over_pes) {
    const Axis own = cut(cut({0, extent}, outer[axis], over_cubes), inner[axis], over_pes);
    part[0] = own.begin, part[1] = own.end;
  };
  cut_both(range.batch, shape.batch, 0, cubes.batch, pes.batch);
  cut_both(range.k, shape.k, 1, cubes.k, pes.k);
  cut_both(range.m, shape.m, 2, cubes.m, pes.m);
  cut_both(range.n, shape.n, 3, cubes.n, pes.n);
  range.split = outer[1] * pes.k + inner[1];
  range.k_start = range.k[0];
  return range;
}

std::vector<std::array<std::int64_t, 3>> factorings(std::int64_t count) {
  std::vector<std::array<std::int64_t, 3>> all;
  for (std::int64_t x = 1; x <= count; ++x) {
    if (count % x != 0) continue;
    for (std::int64_t m = 1; m <= count / x; ++m)
      if (count / x % m == 0) all.push_back({x, m, count / x / m});
  }
  return all;
}

UsedParts used_parts(std::int64_t extent, std::int64_t over_cubes, std::int64_t over_pes) {
  UsedParts used;
  for (std::int64_t cube = 0; cube < over_cubes; ++cube) {
    const Axis outer = cut({0, extent}, cube, over_cubes);
    if (outer.begin >= outer.end) break;
    ++used.cubes;
    const std::int64_t length = outer.end - outer.begin;
    used.parts += tl::cdiv(length, tl::cdiv(length, over_pes));
  }
  return used;
}

}  // namespace kernbench::tile::library
