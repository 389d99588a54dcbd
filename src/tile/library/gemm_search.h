// The tiles of a plan by the estimate: of the shortest way to share a product, or of several.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tile/library/gemm_partitioner.h"

namespace kernbench::tile::library {

/// Throws OutOfMemoryError when the smallest tiles that the problem allows do not fit into the TCM.
void check_smallest_tiles(const GemmPartitioner& partitioner);

/// The length of the first step of a program, of a `part` of the others and not very short.
std::int64_t first_step(std::int64_t tile_k, std::int64_t part);

/// The shortest plan. `candidates`: the most promising first, so that the others need no search.
GemmChoice least_estimate(GemmPartitioner& partitioner, std::span<GemmCandidate> candidates);

/// The best tiles of each of the most promising candidates, the shortest first.
std::vector<GemmChoice> finalists(GemmPartitioner& partitioner, std::span<GemmCandidate> candidates);

}  // namespace kernbench::tile::library
