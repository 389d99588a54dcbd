#include "distributed/algorithms/pat.h"

#include <algorithm>
#include <bit>
#include <set>

#include "distributed/algorithms/bruck.h"
#include "topology/spec.h"

namespace kernbench::distributed {
namespace {

using Offsets = std::vector<std::int64_t>;

/// From the ranks at the offsets `held` on, over this distance and the shorter ones.
void append_steps(std::vector<PatStep>& steps, std::int64_t ranks, std::int64_t most, std::int64_t distance,
                  Offsets held) {
  if (distance == 0) return;
  PatStep step{distance};
  for (const std::int64_t offset : held) {
    if (offset + distance < ranks) step.offsets.push_back(offset + distance);
  }
  held.insert(held.end(), step.offsets.begin(), step.offsets.end());
  if (!step.offsets.empty()) steps.push_back(std::move(step));
  for (std::size_t first = 0; first < held.size(); first += static_cast<std::size_t>(most)) {
    const std::size_t end = std::min(held.size(), first + static_cast<std::size_t>(most));
    append_steps(
        steps, ranks, most, distance / 2,
        Offsets(held.begin() + static_cast<std::ptrdiff_t>(first), held.begin() + static_cast<std::ptrdiff_t>(end)));
  }
}

}  // namespace

std::vector<PatStep> pat_steps(std::int64_t ranks, std::int64_t most) {
  std::vector<PatStep> steps;
  if (ranks > 1) {
    const auto furthest = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(ranks - 1)));
    append_steps(steps, ranks, most, furthest, {0});
  }
  return steps;
}

bool passes_on(std::int64_t offset, std::int64_t ranks) {
  return offset % 2 == 0 && offset + 1 < ranks;
}

std::int64_t most_held(const std::vector<PatStep>& steps, std::int64_t ranks) {
  std::set<std::int64_t> held{0};
  std::size_t most = 1;
  for (const PatStep& step : steps) {
    for (const std::int64_t offset : step.offsets) {
      if (passes_on(offset, ranks)) held.insert(offset);
    }
    most = std::max(most, held.size());
    if (step.distance == 1) {
      for (const std::int64_t offset : step.offsets) held.erase(offset - 1);
    }
  }
  return static_cast<std::int64_t>(most);
}

PatPlan::PatPlan(const RankView& ranks, DType dtype) {
  constexpr std::int64_t kOthers = 6;  // tiles at hand: of a reduction, and of stores under way
  const auto& pe = ranks.machine->pe;
  const std::int64_t room = pe.tcm.capacity.count() / pe.contexts / 2 / item_size(dtype);
  const auto others = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(ranks.size)) / 2);
  const std::int64_t most =
      std::min(std::max<std::int64_t>(1, others),
               static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(ranks.window))));
  steps = pat_steps(ranks.size, most);
  const std::int64_t under_way = ranks.window + kOthers, held = most_held(steps, ranks.size);
  tiles_at_once = std::clamp<std::int64_t>((room / ranks.tile_elements - under_way) / held, 1, ranks.window / most);
  tile_elements = std::clamp<std::int64_t>(room / (under_way + held * tiles_at_once), 1, ranks.tile_elements);
}

namespace {

std::vector<CostStep> steps_between(const GroupShape& ranks) {
  std::vector<CostStep> steps;
  for (const PatStep& step : pat_steps(ranks.ranks, ranks.ranks))
    steps.push_back(bruck_step(ranks, step.distance, static_cast<double>(step.offsets.size()) / ranks.ranks));
  return steps;
}

}  // namespace

std::vector<CostStep> pat_scatter_cost(const GroupShape& ranks) {
  std::vector<CostStep> steps = steps_between(ranks);
  // The nearest ones come first: all blocks are loaded then, and sums wait in the TCM.
  if (!steps.empty()) steps.back().memory = (ranks.ranks + 1) / (steps.back().share * ranks.ranks);
  return steps;
}

std::vector<CostStep> pat_gather_cost(const GroupShape& ranks) {
  std::vector<CostStep> costs = steps_between(ranks);
  const std::vector<PatStep> steps = pat_steps(ranks.ranks, ranks.ranks);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const auto moves = [](std::int64_t offset) { return std::popcount(static_cast<std::uint64_t>(offset)); };
    const auto& offsets = steps[step].offsets;
    const int most = moves(std::ranges::max(offsets, {}, moves));
    const auto moved = std::ranges::count(offsets, most, moves);
    costs[step].fresh = static_cast<double>(moved) / static_cast<double>(offsets.size());
    costs[step].memory = 1;
    if (step == 0) costs[step].memory += 2 / static_cast<double>(offsets.size());  // the own block
  }
  return costs;
}

}  // namespace kernbench::distributed
