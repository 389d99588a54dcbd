#include "tile/compute/composite_plan.h"

#include <algorithm>

namespace kernbench::tile {

namespace {

constexpr std::int64_t kBuffers = 2, kAccumulatorItem = 4;
constexpr std::int64_t kStartK = 512, kLeastK = 64, kStartArrays = 4;

/// One extent of a tile while the plan is made.
struct Extent {
  std::int64_t value, least;
  bool can_shrink() const { return value > least; }
  void shrink() { value = std::max(least, (value + 1) / 2); }
};

Extent extent_of(std::int64_t wanted, std::int64_t start, std::int64_t least, std::int64_t problem) {
  if (wanted > 0) return {std::min(wanted, problem), std::min(wanted, problem)};
  return {std::min(start, problem), std::min(least, problem)};
}

}  // namespace

CompositePlan plan_composite(const CompositeProblem& problem, const tl::CompositeGemmOptions& options,
                             std::int64_t array_rows, std::int64_t array_columns, Bytes room) {
  Extent m = extent_of(options.tile_m, kStartArrays * array_rows, array_rows, problem.m);
  Extent n = extent_of(options.tile_n, kStartArrays * array_columns, array_columns, problem.n);
  Extent k = extent_of(options.tile_k, kStartK, kLeastK, problem.k);
  const auto operands = [&] { return kBuffers * k.value * (m.value * problem.a_item + n.value * problem.b_item); };
  const auto accumulators = [&] { return kBuffers * m.value * n.value * kAccumulatorItem; };
  while (operands() + accumulators() > room.count()) {
    const bool shrink_k = k.can_shrink() && operands() >= accumulators();
    Extent* larger = m.value >= n.value ? &m : &n;
    Extent* smaller = larger == &m ? &n : &m;
    Extent* next = larger->can_shrink() ? larger : smaller;
    if (shrink_k || !next->can_shrink()) next = &k;
    if (!next->can_shrink()) break;
    next->shrink();
  }
  return {m.value, n.value, k.value, Bytes(operands() + accumulators())};
}

}  // namespace kernbench::tile
