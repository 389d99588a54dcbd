#include "tile/library/gemm_vector_share.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tile/library/gemm_beside.h"

namespace kernbench::tile::library {

namespace {

/// The vector engine's part of a step is worth trying where it is at least so much.
constexpr double kLeastVectorShare = 0.05;
/// Of so many rows (or columns) its products are chained, so many at a time: with the cycles of the shipped machines'
/// engines 4.5 for each weight in place of 5 at two rows, 12 in place of 16 at eight.
constexpr std::int64_t kFewestChained = 4, kChain = 4;

}  // namespace

std::int64_t vector_length(const GemmPlan& plan, std::int64_t length) {
  const bool is_long = length >= kLongStep;
  const std::int64_t unit = is_long ? kVectorItems : kVectorRows;
  const double exact = plan.vector_share * static_cast<double>(length) / static_cast<double>(unit);
  // Of a short step a row more or less is much: the array waits no shorter for the vector engine than that for it.
  const auto parts = is_long ? std::llround(exact) : static_cast<std::int64_t>(exact);
  return std::clamp<std::int64_t>(parts * unit, 0, std::max<std::int64_t>(length - unit, 0));
}

std::int64_t chain_on_lanes(std::int64_t rows, std::int64_t columns, std::int64_t k) {
  // Taking operands apart costs a few cycles for each of their elements, and saves up to one for each product.
  const std::int64_t chain = std::min(rows, columns) < kFewestChained ? 1 : kChain;
  return k % chain == 0 ? chain : 1;
}

void GemmVectorShare::add(std::vector<GemmPlan>& plans, GemmPlan plan, const GemmTiles& tiles) const {
  set_tiles(plan, tiles);
  plan.vector_share = share(plan);
  plan.tcm_bytes = law_.tcm_bytes(tiles) + 2 * law_.sum_bytes(tiles);
  if (plan.vector_share < kLeastVectorShare || vector_length(plan, plan.tile_k) == 0) return;
  const auto is_same = [&](const GemmPlan& other) { return same_steps(plan, other); };
  if (plan.tcm_bytes <= law_.tcm_budget() && std::ranges::none_of(plans, is_same)) plans.push_back(std::move(plan));
}

void GemmVectorShare::add_in_steps_for_both(std::vector<GemmPlan>& plans, const GemmPlan& plan,
                                            bool short_first) const {
  const GemmTiles found = tiles_of(plan);
  for (const std::int64_t k : {found.k, found.k / 2}) {
    for (const std::int64_t depth : {2, 3}) {
      for (const std::int64_t part : {1, 2}) {
        if (part > 1 && !short_first) continue;
        GemmTiles tiles = found;
        tiles.k = k, tiles.first_k = k / part, tiles.depth = depth;
        if (tiles != found && tiles.first_k > 0 && are_free(tiles, found)) add(plans, plan, tiles);
      }
    }
  }
}

bool GemmVectorShare::are_free(const GemmTiles& tiles, const GemmTiles& found) const {
  return (problem_.tile_k == 0 || tiles.k == found.k) && (problem_.depth == 0 || tiles.depth == problem_.depth);
}

/// The part of a step with which both engines take equally long; none where values would not be those of f32 sums of
/// rounded products, or the order of the sums is told, or the array is full.
double GemmVectorShare::share(const GemmPlan& plan) const {
  if (problem_.order == KOrder::exact || !is_floating_point(problem_.dtype)) return 0;
  if (std::min(plan.tile_m, plan.tile_n) > topology_.pe.gemm.array.height) return 0;
  const auto k = static_cast<double>(plan.tile_k);
  const double array = law_.until_next(plan.tile_m, plan.tile_n, plan.tile_k, true) / k;
  // What the array takes turned the lanes have permuted.
  const double more = array - law_.permutation_ns(tiles_of(plan)) / k;
  return more / (more + law_.on_lanes(plan.tile_m, plan.tile_n));
}

}  // namespace kernbench::tile::library
