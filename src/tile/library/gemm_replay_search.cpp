#include "tile/library/gemm_replay_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "tile/library/gemm_beside.h"
#include "tile/library/gemm_search.h"

namespace kernbench::tile::library {

namespace {

/// Plans that are measured where there is a timer, the one of the best replay included: of each grid so many at most,
/// and none whose replay takes so many times the least. Those that do all of k in one step are counted apart.
constexpr std::size_t kMeasured = 6;
constexpr std::size_t kMeasuredInOneStep = 2;
constexpr std::size_t kMeasuredOfGrid = 3;
constexpr double kMeasuredWithin = 1.15;
/// Of kRefinedGrids ways to share a product beside the best one tiles near theirs are replayed, too: of those whose
/// first replays take so many times the least at most. The estimate's tiles for a grid change from one machine to the
/// next, and the grid must not drop out with them.
constexpr double kRefinedWithin = 1.5;

/// Nothing is loaded while the array works. Replays tell such plans apart, and the others, but are kinder to these.
bool in_one_step(const GemmChoice& choice) {
  return choice.tiles.first_k >= choice.candidate->block.k;
}

}  // namespace

GemmChoice GemmReplaySearch::least(std::span<GemmCandidate> candidates) {
  GemmChoice best;
  for (const GemmChoice& finalist : finalists(partitioner_, candidates))
    try_replay(*finalist.candidate, finalist.tiles, best, kRefinedWithin);
  // Before the best one is refined: the others have not been, either.
  std::vector<GemmChoice> others = measured_ ? best_of_other_grids(best) : std::vector<GemmChoice>();
  refine(best);
  for (GemmChoice& other : others) refine(other);
  std::ranges::stable_sort(replayed_, {}, &GemmChoice::ns);
  return best;
}

/// The shortest replays of other ways to share the product.
std::vector<GemmChoice> GemmReplaySearch::best_of_other_grids(const GemmChoice& best) const {
  std::vector<GemmChoice> others;
  for (const GemmChoice& one : replayed_) {
    if (one.candidate == best.candidate || one.ns > kRefinedWithin * best.ns) continue;
    const auto same = std::ranges::find(others, one.candidate, &GemmChoice::candidate);
    if (same == others.end())
      others.push_back(one);
    else if (one.ns < same->ns)
      *same = one;
  }
  std::ranges::stable_sort(others, {}, &GemmChoice::ns);
  if (others.size() > kRefinedGrids) others.resize(kRefinedGrids);
  return others;
}

/// Where plans are measured, a replay ends that takes `within` times the shortest so far.
void GemmReplaySearch::try_replay(const GemmCandidate& candidate, const GemmTiles& tiles, GemmChoice& best,
                                  double within) {
  if (!partitioner_.law().fits(tiles)) return;
  const double limit = (measured_ ? within : kPlanMargin) * best.ns - candidate.more;
  const double ns = replay_.time(partitioner_.ranges(candidate, tiles), candidate.block, tiles, limit) + candidate.more;
  const GemmChoice choice{ns, &candidate, tiles};
  if (measured_ && std::isfinite(ns)) replayed_.push_back(choice);
  if (ns < kPlanMargin * best.ns) best = choice;
}

void GemmReplaySearch::try_near(const GemmTiles& tiles, GemmChoice& best) {
  try_replay(*best.candidate, tiles, best, kMeasuredWithin);
}

void GemmReplaySearch::refine(GemmChoice& best) {
  refine_steps(best);
  try_one_step(best);
  if (measured_) refine_extents(best);
  refine_first_step(best);
}

/// More or fewer steps under way, and steps of other lengths.
void GemmReplaySearch::refine_steps(GemmChoice& best) {
  const auto depths = depths_of(partitioner_.problem());
  const GemmTiles found = best.tiles;
  for (const std::int64_t depth : depths) {
    GemmTiles tiles = found;
    tiles.depth = depth;
    if (depth != found.depth) try_near(tiles, best);
  }
  if (partitioner_.problem().tile_k > 0) return;
  const std::int64_t k = best.tiles.k;
  for (const std::int64_t other : {2 * k, k / 2}) {
    GemmTiles tiles = best.tiles;
    tiles.k = std::min(other, best.candidate->block.k);
    tiles.first_k = std::min(tiles.first_k, tiles.k);
    if (tiles.k < 1 || tiles.k == k) continue;
    for (const std::int64_t depth : depths) {
      tiles.depth = depth;
      try_near(tiles, best);
    }
  }
}

/// All of a program's part of k in one command, which fills and drains the array once.
void GemmReplaySearch::try_one_step(GemmChoice& best) {
  const GemmProblem& problem = partitioner_.problem();
  GemmTiles tiles = best.tiles;
  tiles.k = tiles.first_k = best.candidate->block.k;
  tiles.depth = 1;
  if (problem.tile_k == 0 && problem.depth <= 1 && tiles != best.tiles) try_near(tiles, best);
}

/// Tiles of half and double the rows or columns.
void GemmReplaySearch::refine_extents(GemmChoice& best) {
  const GemmTiles found = best.tiles;
  const auto resized = [&](std::int64_t m, std::int64_t n) {
    GemmTiles tiles = found;
    tiles.m = std::clamp<std::int64_t>(m, 1, best.candidate->block.m),
    tiles.n = std::clamp<std::int64_t>(n, 1, best.candidate->block.n);
    if (tiles != found) try_near(tiles, best);
  };
  if (partitioner_.problem().tile_m == 0) resized(found.m / 2, found.n), resized(2 * found.m, found.n);
  if (partitioner_.problem().tile_n == 0) resized(found.m, found.n / 2), resized(found.m, 2 * found.n);
}

void GemmReplaySearch::refine_first_step(GemmChoice& best) {
  const GemmTiles steps = best.tiles;
  for (const std::int64_t part : {1, 2, 4, 8}) {
    GemmTiles tiles = steps;
    tiles.first_k = first_step(tiles.k, part);
    if (tiles.first_k != steps.first_k) try_near(tiles, best);
  }
}

/// The time up to which replays are measured: of those in several steps, and of those in one.
std::array<double, 2> GemmReplaySearch::measured_up_to() const {
  std::array<double, 2> least{kNever, kNever};
  for (const GemmChoice& one : replayed_) least[in_one_step(one)] = std::min(least[in_one_step(one)], one.ns);
  return {kMeasuredWithin * least[0], kMeasuredWithin * least[1]};
}

std::vector<GemmChoice> GemmReplaySearch::shortlist(const GemmChoice& best) const {
  const std::array<double, 2> most_ns = measured_up_to();
  std::vector<GemmChoice> all{best};
  std::map<const GemmCandidate*, std::size_t> of_grid{{best.candidate, 1}};
  std::array<std::size_t, 2> of_sort{};
  ++of_sort[in_one_step(best)];
  const auto is_there = [&](const GemmChoice& one) {
    return std::ranges::any_of(
        all, [&](const GemmChoice& other) { return one.candidate == other.candidate && one.tiles == other.tiles; });
  };
  // Where few grids are left, more of each.
  for (const std::size_t most : {kMeasuredOfGrid, kMeasured}) {
    for (const GemmChoice& one : replayed_) {
      const bool sort = in_one_step(one);
      if (one.ns > most_ns[sort] || of_sort[sort] >= (sort ? kMeasuredInOneStep : kMeasured)) continue;
      if ((!sort && of_grid[one.candidate] >= most) || is_there(one)) continue;
      if (!sort) ++of_grid[one.candidate];
      ++of_sort[sort];
      all.push_back(one);
    }
  }
  return all;
}

}  // namespace kernbench::tile::library
