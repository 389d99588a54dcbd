// How the extents of a product are cut: over the cubes of a launch, and over the PEs of each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tile/library/gemm_plan.h"

namespace kernbench::tile::library {

/// What the program on PE `pe` of cube `cube` works on. Of the parts of the grid batch counts slowest, then k, m, n.
GemmRange range_of(const GemmShape& shape, const GemmPlan::Grid& cubes, const GemmPlan::Grid& pes, std::int64_t cube,
                   std::int64_t pe);

/// Ways to write `count` as a product of parts for (batch or k, m, n).
std::vector<std::array<std::int64_t, 3>> factorings(std::int64_t count);

/// How many of the parts of an extent are not empty, and of them cubes.
struct UsedParts {
  std::int64_t parts = 0, cubes = 0;
};
UsedParts used_parts(std::int64_t extent, std::int64_t over_cubes, std::int64_t over_pes);

}  // namespace kernbench::tile::library
