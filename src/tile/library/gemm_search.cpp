#include "tile/library/gemm_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "kernbench/error.h"
#include "kernbench/tl/program.h"
#include "kernbench/units.h"
#include "tile/library/gemm_beside.h"

namespace kernbench::tile::library {

namespace {

constexpr std::int64_t kLargestTile = 4096;
/// Lengths of a step that are tried for tiles of one size.
constexpr int kTriedSteps = 5;
/// Grids whose best tiles are replayed: so many at most, and none whose estimate is so many times the least. The
/// estimate is between a half and the double of what it should be where many programs share links.
constexpr std::size_t kFinalists = 8;
constexpr double kFinalistsWithin = 2.5;

/// Of tiles along an extent, from the largest.
std::vector<std::int64_t> sizes(std::int64_t extent, std::int64_t wanted) {
  if (wanted > 0) return {std::min(wanted, extent)};
  std::vector<std::int64_t> all{extent};
  for (const std::int64_t parts : {2, 3}) all.push_back(std::min(tl::cdiv(tl::cdiv(extent, parts), 32) * 32, extent));
  for (std::int64_t size = 1; size < extent && size <= kLargestTile; size *= 2) all.push_back(size);
  std::erase_if(all, [](std::int64_t size) { return size > kLargestTile; });
  std::ranges::sort(all, std::greater{});
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// The deepest steps that fit, and a few shorter ones.
void search_k(const GemmPartitioner& partitioner, const GemmCandidate& candidate, GemmTiles tiles,
              std::span<const std::int64_t> sizes_k, GemmChoice& best) {
  int tried = 0;
  for (const std::int64_t k : sizes_k) {
    tiles.k = k;
    if (!partitioner.law().fits(tiles)) continue;
    if (++tried > kTriedSteps) break;
    tiles.first_k = first_step(k, 4);
    const GemmChoice choice = partitioner.choice(candidate, tiles);
    if (choice.ns < kPlanMargin * best.ns) best = choice;
  }
}

void search(const GemmPartitioner& partitioner, const GemmCandidate& candidate, GemmChoice& best) {
  const GemmProblem& problem = partitioner.problem();
  const GemmBlock& block = candidate.block;
  const auto sizes_k = sizes(block.k, problem.tile_k);
  const auto depths = depths_of(problem);
  for (const std::int64_t m : sizes(block.m, problem.tile_m)) {
    for (const std::int64_t n : sizes(block.n, problem.tile_n)) {
      if (partitioner.law().at_least(block, m, n) + candidate.more >= kPlanMargin * best.ns) continue;
      for (const std::int64_t depth : depths) search_k(partitioner, candidate, {m, n, 1, depth, 1}, sizes_k, best);
    }
  }
}

/// A short first step starts the engine early; a long one asks more holders at one time.
GemmChoice with_first_step(const GemmPartitioner& partitioner, const GemmChoice& found) {
  GemmChoice best;
  for (const std::int64_t part : {1, 2, 4, 8}) {
    GemmTiles tiles = found.tiles;
    tiles.first_k = first_step(tiles.k, part);
    const double ns = partitioner.law().time_with_first_steps(found.candidate->block, tiles) + found.candidate->more;
    if (ns < kPlanMargin * best.ns) best = {ns, found.candidate, tiles};
  }
  return best;
}

}  // namespace

void check_smallest_tiles(const GemmPartitioner& partitioner) {
  const GemmProblem& problem = partitioner.problem();
  const GemmEstimate& law = partitioner.law();
  const topology::Topology& topology = partitioner.topology();
  const auto one = [](std::int64_t wanted, std::int64_t extent) {
    return wanted > 0 ? std::min(wanted, extent) : std::int64_t{1};
  };
  const GemmTiles least{one(problem.tile_m, problem.shape.m), one(problem.tile_n, problem.shape.n),
                        one(problem.tile_k, problem.shape.k), problem.depth > 0 ? problem.depth : 1, 1};
  if (law.fits(least)) return;
  throw OutOfMemoryError(fmt::format(
      "matrix product: no tile fits into {} of the TCM ({} shared by {} contexts); the tiles of {} x {} x {} "
      "need {}, each rounded up to pe.tcm.alignment of {}: raise pe.tcm.capacity, lower pe.contexts or "
      "pe.tcm.alignment, or ask for smaller tiles",
      to_text(Bytes(law.tcm_budget())), to_text(topology.pe.tcm.capacity), topology.pe.contexts, least.m, least.n,
      least.k, to_text(Bytes(law.tcm_bytes(least))), to_text(topology.pe.tcm.alignment)));
}

std::int64_t first_step(std::int64_t tile_k, std::int64_t part) {
  return std::clamp<std::int64_t>(tile_k / part, std::min<std::int64_t>(32, tile_k), tile_k);
}

GemmChoice least_estimate(GemmPartitioner& partitioner, std::span<GemmCandidate> candidates) {
  GemmChoice best;
  for (GemmCandidate& candidate : candidates) {
    if (candidate.at_least >= kPlanMargin * best.ns) continue;
    partitioner.measure_links(candidate);
    if (candidate.at_least < kPlanMargin * best.ns) search(partitioner, candidate, best);
  }
  return with_first_step(partitioner, best);
}

std::vector<GemmChoice> finalists(GemmPartitioner& partitioner, std::span<GemmCandidate> candidates) {
  std::vector<GemmChoice> found;
  double least = kNever;
  for (GemmCandidate& candidate : candidates) {
    if (candidate.at_least >= kFinalistsWithin * least) continue;
    partitioner.measure_links(candidate);
    if (candidate.at_least >= kFinalistsWithin * least) continue;
    GemmChoice own;
    search(partitioner, candidate, own);
    if (own.candidate == nullptr) continue;
    found.push_back(with_first_step(partitioner, own));
    least = std::min(least, found.back().ns);
  }
  std::ranges::stable_sort(found, {}, &GemmChoice::ns);
  if (found.size() > kFinalists) found.resize(kFinalists);
  std::erase_if(found, [&](const GemmChoice& choice) { return choice.ns >= kFinalistsWithin * least; });
  return found;
}

}  // namespace kernbench::tile::library
