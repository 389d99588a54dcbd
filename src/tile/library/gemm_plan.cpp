#include "tile/library/gemm_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "kernbench/error.h"
#include "kernbench/tl/program.h"
#include "kernbench/units.h"
#include "tile/library/gemm_beside.h"
#include "tile/library/gemm_edges.h"
#include "tile/library/gemm_estimate.h"
#include "tile/library/gemm_groups.h"
#include "tile/library/gemm_measurements.h"
#include "tile/library/gemm_replay.h"
#include "tile/library/gemm_traffic.h"

namespace kernbench::tile::library {

namespace {

/// The second launch that adds the parts of k, but for what it moves: an empty launch on 128 PEs takes 2.0 us, the way
/// to the HBM and back some 0.5. Measured on ahbm-1sip; near plans are measured as a whole.
constexpr double kSecondLaunchNs = 2500;
constexpr std::int64_t kLargestTile = 4096;
/// A plan gives way to another one when that is expected to be so much shorter. So small changes of a machine change
/// few plans, and of plans that are about equal the one with larger tiles, longer steps and fewer loads under way wins.
constexpr double kMargin = PlanMeasurements::kMargin;
/// Grids whose best tiles are replayed: so many at most, and none whose estimate is so many times the least. The
/// estimate is between a half and the double of what it should be where many programs share links.
constexpr std::size_t kFinalists = 8;
constexpr double kFinalistsWithin = 2.5;
/// Plans that are measured where there is a timer, the one of the best replay included: of each grid so many at most,
/// and none whose replay takes so many times the least. Those that do all of k in one step are counted apart.
constexpr std::size_t kMeasured = 6;
constexpr std::size_t kMeasuredInOneStep = 2;
constexpr std::size_t kMeasuredOfGrid = 3;
constexpr double kMeasuredWithin = 1.15;
/// Of so many ways to share a product beside the best one tiles near theirs are replayed, too: of those whose first
/// replays take so many times the least at most. The estimate's tiles for a grid change from one machine to the next,
/// and the grid must not drop out with them.
constexpr std::size_t kRefinedGrids = 2;
constexpr double kRefinedWithin = 1.5;
/// Where measurements are cheap, what lies beside the shortest plan is measured, and then beside that one, at most so
/// often. assumption
constexpr int kMostClimbed = 8;
/// Loads take so many DMA queues in turn, at most: the shipped machines'. Of more, more loads are under way, and what
/// is needed first comes later. Measured with perf/credibility.
constexpr std::int64_t kDmaQueues = 4;
/// Of so many of the plans that are shortest, programs also load together what several of them need. assumption: some
/// seconds for a shape are worth a better plan.
constexpr std::size_t kTogetherPlans = 4;
/// Longer steps are tried of plans that load together and take so many times the shortest, at most.
constexpr double kLongerStepsWithin = 1.1;
/// Of fewer programs a group saves little, 2 to 5 % of a product on machines of 2 to 8 PEs, and whether it does changes
/// from one machine to the next: a better machine could be slower (perf/credibility).
constexpr std::int64_t kFewestTogether = 32;
/// Edges are worth it where they leave at most so many of the array's folds, and cost so many times what the array
/// takes for theirs: their tiles are narrow, so that loads and the array's fill show. Measured with 4097^3 on
/// ahbm-1sip.
constexpr double kEdgesLeave = 0.9, kEdgesCost = 2;
/// The vector engine's part of a step is worth trying where it is at least so much, measured for so many ways to share
/// the product: those with the shortest replays, which know nothing of that engine. Where measurements are dear, in
/// parts of what a product may cost, for so many of the plans that are shortest without.
constexpr double kLeastVectorShare = 0.05;
constexpr std::size_t kVectorGrids = 3;
constexpr std::size_t kVectorPlans = 2;
/// Steps that suit both engines on many machines, and are tried on every one: of this length, the first of half of it,
/// and so many under way.
constexpr std::int64_t kSharedStep = 128, kSharedDepth = 2;
/// Its parts are of so many items: whole accesses of 64 B of the shipped machines where steps are long. Short steps are
/// those of matrices whose rows are cut over the PEs, and there each item is a row.
constexpr std::int64_t kVectorItems = 32, kVectorRows = 4, kLongStep = 256;
/// Steps that grow begin with this part of a program's k, and are so many times as long at most.
constexpr std::int64_t kGrowingSteps = 32, kLongestGrowing = 8;
/// Of so many rows (or columns) its products are chained, so many at a time: with the cycles of the shipped machines'
/// engines 4.5 for each weight in place of 5 at two rows, 12 in place of 16 at eight.
constexpr std::int64_t kFewestChained = 4, kChain = 4;
/// Lengths of a step that are tried for tiles of one size.
constexpr int kTriedSteps = 5;

// ---- the grid of programs
// --------------------------------------------------------------------------------------------

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

GemmRange range_of(const GemmShape& shape, const GemmPlan::Grid& cubes, const GemmPlan::Grid& pes, std::int64_t cube,
                   std::int64_t pe) {
  const auto outer = position(cubes, cube), inner = position(pes, pe);
  const auto both = [&](std::int64_t extent, std::size_t axis, std::int64_t over_cubes, std::int64_t over_pes) {
    return cut(cut({0, extent}, outer[axis], over_cubes), inner[axis], over_pes);
  };
  const Axis batch = both(shape.batch, 0, cubes.batch, pes.batch), k = both(shape.k, 1, cubes.k, pes.k);
  const Axis m = both(shape.m, 2, cubes.m, pes.m), n = both(shape.n, 3, cubes.n, pes.n);
  GemmRange range;
  std::copy_n(std::array{batch.begin, batch.end}.data(), 2, range.batch);
  std::copy_n(std::array{m.begin, m.end}.data(), 2, range.m);
  std::copy_n(std::array{n.begin, n.end}.data(), 2, range.n);
  std::copy_n(std::array{k.begin, k.end}.data(), 2, range.k);
  range.split = outer[1] * pes.k + inner[1];
  range.k_start = range.k[0];
  return range;
}

/// Ways to write `count` as a product of parts for (batch or k, m, n).
std::vector<std::array<std::int64_t, 3>> factorings(std::int64_t count) {
  std::vector<std::array<std::int64_t, 3>> all;
  for (std::int64_t x = 1; x <= count; ++x) {
    if (count % x != 0) continue;
    for (std::int64_t m = 1; m <= count / x; ++m)
      if (count / x % m == 0) all.push_back({x, m, count / x / m});
  }
  return all;
}

/// How many of the parts of an extent are not empty, and of them cubes.
struct Used {
  std::int64_t parts = 0, cubes = 0;
};

Used used_parts(std::int64_t extent, std::int64_t over_cubes, std::int64_t over_pes) {
  Used used;
  for (std::int64_t cube = 0; cube < over_cubes; ++cube) {
    const Axis outer = cut({0, extent}, cube, over_cubes);
    if (outer.begin >= outer.end) break;
    ++used.cubes;
    const std::int64_t length = outer.end - outer.begin;
    used.parts += tl::cdiv(length, tl::cdiv(length, over_pes));
  }
  return used;
}

class Planner {
 public:
  Planner(const GemmProblem& problem, std::span<const PeCoordinate> pes, const GemmOperands& operands,
          const topology::Topology& topology, const PlanTimer& timer)
      : problem_(problem),
        pes_(pes),
        operands_(operands),
        a_(operands.a),
        b_(operands.b),
        topology_(topology),
        measured_(static_cast<bool>(timer)),
        measurements_(timer),
        law_(problem, topology,
             row_of(a_, problem.transposed_a ? 1 : 2, problem.transposed_a ? problem.shape.m : problem.shape.k),
             row_of(b_, problem.transposed_b ? 1 : 2, problem.transposed_b ? problem.shape.k : problem.shape.n)),
        locality_a_(a_, pes, topology),
        locality_b_(b_, pes, topology) {
    sharing_a_ = sharing(a_, problem.shape.m, problem.shape.k),
    sharing_b_ = sharing(b_, problem.shape.k, problem.shape.n);
    // Cubes with equally many PEs make two levels; anything else is one list.
    while (per_cube_ < count() && pes[static_cast<std::size_t>(per_cube_)].cube == pes[0].cube) ++per_cube_;
    for (std::int64_t i = 0; i < count(); ++i) {
      const auto first = i / per_cube_ * per_cube_;
      const bool same = pes[static_cast<std::size_t>(i)].cube == pes[static_cast<std::size_t>(first)].cube;
      if (!same || count() % per_cube_ != 0) {
        per_cube_ = count();
        break;
      }
    }
  }

  GemmPlan plan() {
    check_smallest();
    std::vector<Candidate> candidates = grids();
    if (candidates.empty()) {
      throw ValueError(
          fmt::format("matrix product: k cannot be split into {} parts over {} cubes of {} PEs; the parts "
                      "over cubes and over PEs must divide these numbers",
                      problem_.split_k, count() / per_cube_, per_cube_));
    }
    // The most promising first, so that the others need no search.
    std::ranges::stable_sort(candidates, {}, &Candidate::at_least);
    return a_.empty() || b_.empty() ? finished(least_estimate(candidates)) : least_replay(candidates);
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(pes_.size()); }

  /// One way to share the product over the PEs.
  struct Candidate {
    GemmPlan::Grid cubes, pes;
    GemmShape whole;  // less than the product's by its edges
    GemmBlock block;
    double more = 0;      // of the launch that adds the parts of k, and of edges
    double at_least = 0;  // whatever the tiles
  };
  struct Best {
    double ns = kNever;
    const Candidate* candidate = nullptr;
    GemmTiles tiles;
  };

  /// Where it is not known who holds what.
  Best least_estimate(std::vector<Candidate>& candidates) {
    Best best;
    for (Candidate& candidate : candidates) {
      if (candidate.at_least >= kMargin * best.ns) continue;
      measure_links(candidate);
      if (candidate.at_least < kMargin * best.ns) search(candidate, best);
    }
    return with_first_step(best);
  }

  /// The estimate's best tiles for each of the most promising grids, then what is near the best of these.
  GemmPlan least_replay(std::vector<Candidate>& candidates) {
    std::vector<Best> finalists;
    double least = kNever;
    for (Candidate& candidate : candidates) {
      if (candidate.at_least >= kFinalistsWithin * least) continue;
      measure_links(candidate);
      if (candidate.at_least >= kFinalistsWithin * least) continue;
      Best own;
      search(candidate, own);
      if (own.candidate == nullptr) continue;
      finalists.push_back(with_first_step(own));
      least = std::min(least, finalists.back().ns);
    }
    std::ranges::stable_sort(finalists, {}, &Best::ns);
    if (finalists.size() > kFinalists) finalists.resize(kFinalists);
    GemmReplay replay(problem_, topology_, law_, pes_, operands_);
    Best best;
    for (const Best& finalist : finalists) {
      if (finalist.ns < kFinalistsWithin * least)
        try_replay(replay, *finalist.candidate, finalist.tiles, best, kRefinedWithin);
    }
    // Before the best one is refined: the others have not been, either.
    std::vector<Best> others = measured_ ? best_of_other_grids(best) : std::vector<Best>();
    refine(replay, best);
    if (!measured_) return finished(best);
    for (Best& other : others) refine(replay, other);
    return least_measured(best, candidates);
  }

  /// The shortest replays of other ways to share the product.
  std::vector<Best> best_of_other_grids(const Best& best) const {
    std::vector<Best> others;
    for (const Best& one : replayed_) {
      if (one.candidate == best.candidate || one.ns > kRefinedWithin * best.ns) continue;
      const auto same = std::ranges::find(others, one.candidate, &Best::candidate);
      if (same == others.end())
        others.push_back(one);
      else if (one.ns < same->ns)
        *same = one;
    }
    std::ranges::stable_sort(others, {}, &Best::ns);
    if (others.size() > kRefinedGrids) others.resize(kRefinedGrids);
    return others;
  }

  /// Of the plans whose replays are about as short as that of `best`: replays leave out what a simulation does not.
  GemmPlan least_measured(const Best& best, std::span<Candidate> candidates) {
    const std::vector<Best> all = shortlist(best);
    std::vector<GemmPlan> plans;
    plans.reserve(all.size());
    for (const Best& one : all) plans.push_back(finished(one));
    GemmPlan mates = plans[0];
    const bool with_mates = can_load_together(mates);
    std::vector<double> times = measurements_.first(plans[0], with_mates ? &mates : nullptr);
    const double mates_ns = with_mates ? times[1] : kNever;
    times.resize(1);
    if (mates_ns < times[0]) {
      measurements_.expect_cost_of_mates();
      return with_growing_steps(within_cubes(least_of_mates({std::move(mates), mates_ns}, plans), candidates));
    }
    const std::span<const GemmPlan> others =
        std::span(plans).subspan(1, with_mates && measurements_.are_dear() ? 0 : plans.size() - 1);
    std::ranges::copy(measurements_.shorter_than(times[0], others), std::back_inserter(times));
    times.resize(plans.size(), kNever);
    std::vector<std::size_t> order(plans.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return times[i]; });
    TimedPlan shortest = with_vector_share(plans, order, times[order[0]]);
    shortest = within_cubes(climbed(std::move(shortest), plans, candidates), candidates);
    return with_growing_steps(together(std::move(shortest), plans, order, {std::move(mates), mates_ns}));
  }

  /// `best`, or what is found from it, and from the first of `plans` of other grids, by changing one extent, the depth
  /// or the first step at a time, while that makes it shorter. Where measurements are cheap: what is found then depends
  /// little on which plans were measured before.
  TimedPlan climbed(TimedPlan best, std::span<const GemmPlan> plans, std::span<const Candidate> candidates) {
    std::vector<GemmPlan> from{best.plan}, tried(plans.begin(), plans.end());
    tried.push_back(best.plan);
    for (const GemmPlan& plan : plans) {
      const auto in_its_grid = [&](const GemmPlan& other) { return same_grid(plan, other); };
      if (from.size() <= kRefinedGrids && std::ranges::none_of(from, in_its_grid)) from.push_back(plan);
    }
    bool improved = true;
    for (int step = 0; step < kMostClimbed && measurements_.are_cheap(); ++step) {
      std::vector<GemmPlan> near;
      for (const GemmPlan& plan : from) add_near(near, tried, plan, candidates);
      tried.insert(tried.end(), near.begin(), near.end());
      const double before = best.ns;
      measurements_.take_shorter(std::move(near), best, 1);
      const bool before_improved = std::exchange(improved, best.ns < before);
      if (!improved && !before_improved) break;
      // Where nothing beside it is shorter, something beside the same in other folds may be.
      from = improved ? std::vector<GemmPlan>{best.plan} : in_smaller_folds(best.plan);
    }
    return best;
  }

  /// Plans beside `plan` that are neither in `near` nor in `tried`: one in other tiles, with and without a part for the
  /// vector engine, or one in smaller folds.
  void add_near(std::vector<GemmPlan>& near, std::span<const GemmPlan> tried, const GemmPlan& plan,
                std::span<const Candidate> candidates) const {
    const auto candidate = std::ranges::find_if(candidates, [&](const Candidate& one) { return is_of(plan, one); });
    const auto is_there = [](std::span<const GemmPlan> all, const GemmPlan& one) {
      return std::ranges::any_of(all, [&](const GemmPlan& other) {
        return same_steps(one, other) && (one.vector_share > 0) == (other.vector_share > 0) &&
               std::min(one.fold.rows, one.tile_m) == std::min(other.fold.rows, other.tile_m) &&
               std::min(one.fold.columns, one.tile_n) == std::min(other.fold.columns, other.tile_n);
      });
    };
    const auto add = [&](GemmPlan one) {
      if (!is_there(near, one) && !is_there(tried, one)) near.push_back(std::move(one));
    };
    for (const GemmTiles& tiles : tiles_beside(tiles_of(plan), candidate->block, problem_, depths())) {
      if (law_.tcm_bytes(tiles) > law_.tcm_budget()) continue;
      GemmPlan one = finished({law_.time(candidate->block, tiles) + candidate->more, &*candidate, tiles});
      one.fold = plan.fold;
      std::vector<GemmPlan> shared;
      add_shared(shared, one, tiles);
      if (plan.vector_share == 0) add(std::move(one));
      for (GemmPlan& other : shared) add(std::move(other));
    }
    for (GemmPlan& other : in_smaller_folds(plan)) add(std::move(other));
  }

  static bool is_of(const GemmPlan& plan, const Candidate& candidate) {
    const bool whole = candidate.whole.m == plan.shape.m && candidate.whole.n == plan.shape.n;
    return candidate.cubes == plan.cubes && candidate.pes == plan.pes && whole == plan.edges.empty();
  }

  /// `best`, whose programs load together what several of them need, or another one of `plans` so, or with longer steps
  /// or a part for the vector engine. Where loading together is shorter for the first of `plans`, the others are
  /// not measured without: that takes several times as long, since a load of one program's own goes to each holder.
  TimedPlan least_of_mates(TimedPlan best, const std::vector<GemmPlan>& plans) {
    std::vector<GemmPlan> in_steps, in_one;
    for (GemmPlan plan : std::span(plans).subspan(1)) {
      load_together(plan);
      (plan.first_k < k_of_a_program(plan) ? in_steps : in_one).push_back(std::move(plan));
    }
    measurements_.take_shorter(std::move(in_steps), best, 1);
    if (problem_.tile_k == 0) add_longer_steps(in_one, best.plan);
    add_smaller_tiles(in_one, best.plan);
    measurements_.take_shorter(std::move(in_one), best, 1);
    std::vector<GemmPlan> shared;
    const GemmTiles found = tiles_of(best.plan);
    add_shared(shared, best.plan, found);
    add_steps_for_both(shared, best.plan);
    measurements_.take_shorter(std::move(shared), best);
    return best;
  }

  bool can_load_together(GemmPlan& plan) const { return count() >= kFewestTogether && load_together(plan); }

  /// `best`, or it or one of the first of `plans` in `order` whose programs load together what several of them need,
  /// such as `mates`. Their loads are then few, and steps may be longer.
  TimedPlan together(TimedPlan best, const std::vector<GemmPlan>& plans, std::span<const std::size_t> order,
                     TimedPlan mates) {
    if (count() < kFewestTogether) return best;
    std::vector<GemmPlan> tried;
    const auto add = [&](GemmPlan plan) {
      if (load_together(plan)) tried.push_back(std::move(plan));
    };
    for (const std::size_t i : order.first(std::min(order.size(), kTogetherPlans))) {
      if (i != 0) add(plans[i]);
    }
    measurements_.take_shorter(std::move(tried), mates, 1);
    tried.clear();
    if (best.plan.vector_share > 0) add(best.plan);
    if (problem_.tile_k == 0 && mates.ns < kLongerStepsWithin * best.ns) add_longer_steps(tried, mates.plan);
    if (mates.ns < kLongerStepsWithin * best.ns) add_smaller_tiles(tried, mates.plan);
    const bool shorter = mates.ns < measurements_.margin() * best.ns;
    measurements_.take_shorter(std::move(tried), shorter ? best = std::move(mates) : best,
                               shorter ? 1 : measurements_.margin());
    return best;
  }

  /// `best`, or the same with both engines and steps that begin short and grow slowly: loads, of which two are under
  /// way, then keep up with the products from the first one on, and the array is filled and drained a few times only.
  GemmPlan with_growing_steps(TimedPlan best) {
    const std::int64_t k = k_of_a_program(best.plan), first = k / kGrowingSteps / kVectorItems * kVectorItems;
    if (first < kLongStep || problem_.tile_k > 0 || problem_.depth > 0) return best.plan;
    GemmTiles tiles = tiles_of(best.plan);
    tiles.first_k = first, tiles.k = kLongestGrowing * first, tiles.depth = 2;
    while (tiles.k > 2 * first && law_.tcm_bytes(tiles) + 2 * law_.sum_bytes(tiles) > law_.tcm_budget())
      tiles.k -= first;
    std::vector<GemmPlan> growing;
    for (const auto& [begin, more] : {std::pair{first, first * 3 / 8}, std::pair{first, first / 2},
                                      std::pair{first * 3 / 4 / kVectorItems * kVectorItems, first / 4}}) {
      GemmPlan plan = best.plan;
      plan.more_k = more, tiles.first_k = begin;
      add_shared(growing, std::move(plan), tiles);
    }
    measurements_.take_shorter(std::move(growing), best, 1);
    return best.plan;
  }

  static std::int64_t k_of_a_program(const GemmPlan& plan) {
    const GemmRange& range = plan.ranges.front();
    return range.k[1] - range.k[0];
  }

  void add_longer_steps(std::vector<GemmPlan>& all, const GemmPlan& plan) const {
    const GemmTiles found = tiles_of(plan);
    for (const std::int64_t times : {2, 4}) {
      for (const std::int64_t first : {found.first_k, 2 * found.first_k}) {
        GemmTiles tiles = found;
        tiles.k = std::min(times * found.k, k_of_a_program(plan));
        tiles.first_k = std::min(first, tiles.k);
        if (tiles.k == found.k || law_.tcm_bytes(tiles) > law_.tcm_budget()) continue;
        all.push_back(plan);
        all.back().tile_k = tiles.k, all.back().first_k = tiles.first_k, all.back().tcm_bytes = law_.tcm_bytes(tiles);
      }
    }
  }

  /// `plan` in tiles of half the rows or columns where these are several folds: what it loads twice then comes from its
  /// mates, the first sums are stored sooner, and more steps fit.
  void add_smaller_tiles(std::vector<GemmPlan>& all, const GemmPlan& plan) const {
    if (plan.vector_share > 0) return;
    const MeshExtent& array = topology_.pe.gemm.array;
    const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t depth) {
      GemmTiles tiles = tiles_of(plan);
      tiles.m = m, tiles.n = n, tiles.depth = depth;
      if (law_.tcm_bytes(tiles) > law_.tcm_budget()) return;
      all.push_back(plan);
      all.back().tile_m = m, all.back().tile_n = n, all.back().depth = depth;
      all.back().tcm_bytes = law_.tcm_bytes(tiles);
    };
    for (const std::int64_t depth : std::set<std::int64_t>{plan.depth, depths().back()}) {
      if (problem_.tile_m == 0 && plan.tile_m > array.height) add(tl::cdiv(plan.tile_m, 2), plan.tile_n, depth);
      if (problem_.tile_n == 0 && plan.tile_n > array.width) add(plan.tile_m, tl::cdiv(plan.tile_n, 2), depth);
    }
  }

  /// The first of `plans` in `order`, which takes `ns`, or a plan with a part for the vector engine: with the steps of
  /// the shortest ones, then with others. Two engines want shorter steps, more of them under way.
  TimedPlan with_vector_share(const std::vector<GemmPlan>& plans, std::span<const std::size_t> order, double ns) {
    TimedPlan best{plans[order[0]], ns};
    measurements_.take_shorter(measurements_.are_cheap() ? worth_sharing() : worth_sharing(plans, order), best);
    if (best.plan.vector_share == 0) return best;
    std::vector<GemmPlan> shared;
    add_steps_for_both(shared, best.plan);
    measurements_.take_shorter(std::move(shared), best);
    return best;
  }

  /// `plan` with a part for the vector engine, in other steps: both engines want shorter ones, more of them under way.
  void add_steps_for_both(std::vector<GemmPlan>& shared, const GemmPlan& plan) const {
    const GemmTiles found = tiles_of(plan);
    for (const std::int64_t k : {found.k, found.k / 2}) {
      for (const std::int64_t depth : {2, 3}) {
        for (const std::int64_t part : {1, 2}) {
          if (part > 1 && !measurements_.are_cheap()) continue;
          GemmTiles tiles = found;
          tiles.k = k, tiles.first_k = k / part, tiles.depth = depth;
          if (tiles != found && tiles.first_k > 0 && are_free(tiles, found)) add_shared(shared, plan, tiles);
        }
      }
    }
  }

  /// The first few of `order`, and the first few that have several steps under way.
  std::vector<GemmPlan> worth_sharing(const std::vector<GemmPlan>& plans, std::span<const std::size_t> order) const {
    std::vector<GemmPlan> shared;
    std::size_t deep = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const GemmPlan& plan = plans[order[place]];
      const bool several = plan.depth > 1;
      if (place < kVectorPlans || (several && deep < kVectorPlans)) add_shared(shared, plan, tiles_of(plan));
      if (several) ++deep;
    }
    return shared;
  }

  /// Whether the caller leaves it to the library to take these steps in place of `found`.
  bool are_free(const GemmTiles& tiles, const GemmTiles& found) const {
    return (problem_.tile_k == 0 || tiles.k == found.k) && (problem_.depth == 0 || tiles.depth == problem_.depth);
  }

  /// Whether writing and reading the sums of `parts` of k is little beside reading B once.
  bool sums_are_few(std::int64_t parts) const {
    constexpr std::int64_t kLittle = 8, kWrittenAndRead = 8;
    return kLittle * kWrittenAndRead * parts * problem_.shape.m <= problem_.shape.k * item_size(problem_.dtype);
  }

  /// `best`, or a plan of few rows whose programs read B in their own cube only, in as few parts of k as that takes:
  /// what one PE of the cube holds after the other, each beginning with its own.
  TimedPlan within_cubes(TimedPlan best, std::span<Candidate> candidates) {
    const bool free = problem_.tile_m == 0 && problem_.tile_n == 0 && problem_.tile_k == 0 && problem_.depth == 0;
    if (!free || best.plan.split_k == 1 || problem_.shape.m > topology_.pe.gemm.array.height) return best;
    Candidate* fewest = nullptr;
    const auto parts = [](const Candidate& one) { return one.cubes.k * one.pes.k; };
    for (Candidate& one : candidates) {
      if (one.block.b.remote > 0 || one.block.m != problem_.shape.m) continue;
      if (fewest == nullptr || parts(one) < parts(*fewest)) fewest = &one;
    }
    if (fewest == nullptr || parts(*fewest) == 1 || !sums_are_few(parts(*fewest))) return best;
    measure_links(*fewest);
    std::vector<GemmPlan> plans;
    for (const std::int64_t k : {sharing_b_.rows, sharing_b_.rows / 2}) {
      for (const std::int64_t first : {k, k / 2}) {
        const GemmTiles tiles{fewest->block.m, fewest->block.n, std::min(k, fewest->block.k), 2, first};
        if (first < kVectorRows || law_.tcm_bytes(tiles) > law_.tcm_budget()) continue;
        GemmPlan plan = finished({law_.time(fewest->block, tiles) + fewest->more, fewest, tiles});
        const std::size_t before = plans.size();
        add_shared(plans, plan, tiles);
        if (plans.size() == before) plans.push_back(std::move(plan));
      }
    }
    measurements_.take_shorter(std::move(plans), best);
    return best;
  }

  /// Plans with a part for the vector engine: for each of a few ways to share the product that with steps which suit
  /// both engines on many machines, and of the shortest replays one with one step and one with several under way.
  std::vector<GemmPlan> worth_sharing() const {
    std::vector<GemmPlan> shared;
    std::map<const Candidate*, std::array<bool, 2>> there;
    for (const Best& one : replayed_) {
      const bool is_new = !there.contains(one.candidate);
      if (is_new && there.size() == kVectorGrids) continue;
      if (is_new) add_with_shared_steps(shared, one);
      bool& is_there = there[one.candidate][one.tiles.depth > 1];
      if (is_there) continue;
      const std::size_t before = shared.size();
      add_shared(shared, finished(one), one.tiles);
      is_there = shared.size() > before;
    }
    return shared;
  }

  void add_with_shared_steps(std::vector<GemmPlan>& shared, Best one) const {
    const GemmTiles found = one.tiles;
    one.tiles.k = kSharedStep, one.tiles.first_k = kSharedStep / 2, one.tiles.depth = kSharedDepth;
    // The ranges are made for these steps: where each program begins along k depends on them.
    if (one.candidate->block.k > kSharedStep && are_free(one.tiles, found))
      add_shared(shared, finished(one), one.tiles);
  }

  static GemmTiles tiles_of(const GemmPlan& plan) {
    return {plan.tile_m, plan.tile_n, plan.tile_k, plan.depth, plan.first_k};
  }
  static bool same_grid(const GemmPlan& one, const GemmPlan& other) {
    return one.cubes == other.cubes && one.pes == other.pes;
  }
  /// Programs walk the same ranges in the same steps.
  static bool same_steps(const GemmPlan& one, const GemmPlan& other) {
    return same_grid(one, other) && tiles_of(one) == tiles_of(other) && one.more_k == other.more_k &&
           one.edges.size() == other.edges.size();
  }

  /// `plan` in other steps, with a part for the vector engine, where it is worth while and fits.
  void add_shared(std::vector<GemmPlan>& shared, GemmPlan plan, const GemmTiles& tiles) const {
    plan.tile_k = tiles.k, plan.depth = tiles.depth, plan.first_k = tiles.first_k;
    plan.vector_share = vector_share(plan);
    plan.tcm_bytes = law_.tcm_bytes(tiles) + 2 * law_.sum_bytes(tiles);
    if (plan.vector_share < kLeastVectorShare || vector_length(plan, plan.tile_k) == 0) return;
    const auto is_same = [&](const GemmPlan& other) { return same_steps(plan, other); };
    if (plan.tcm_bytes <= law_.tcm_budget() && std::ranges::none_of(shared, is_same)) shared.push_back(std::move(plan));
  }

  /// The part of a step with which both engines take equally long; none where values would not be those of f32 sums of
  /// rounded products, or the order of the sums is told, or the array is full.
  double vector_share(const GemmPlan& plan) const {
    if (problem_.order == KOrder::exact || !is_floating_point(problem_.dtype)) return 0;
    if (std::min(plan.tile_m, plan.tile_n) > topology_.pe.gemm.array.height) return 0;
    const auto k = static_cast<double>(plan.tile_k);
    const double array = law_.until_next(plan.tile_m, plan.tile_n, plan.tile_k, true) / k;
    // What the array takes turned the lanes have permuted.
    const double more = array - law_.permutation_ns(tiles_of(plan)) / k;
    return more / (more + law_.on_lanes(plan.tile_m, plan.tile_n));
  }

  /// Nothing is loaded while the array works. Replays tell such plans apart, and the others, but are kinder to these.
  static bool in_one_step(const Best& one) { return one.tiles.first_k >= one.candidate->block.k; }

  /// The time up to which replays are measured: of those in one step, and of those in several.
  std::array<double, 2> measured_up_to() const {
    std::array<double, 2> least{kNever, kNever};
    for (const Best& one : replayed_) least[in_one_step(one)] = std::min(least[in_one_step(one)], one.ns);
    return {kMeasuredWithin * least[0], kMeasuredWithin * least[1]};
  }

  /// `best` and then the others, the shortest replays first.
  std::vector<Best> shortlist(const Best& best) {
    std::ranges::stable_sort(replayed_, {}, &Best::ns);
    const std::array<double, 2> most_ns = measured_up_to();
    std::vector<Best> all{best};
    std::map<const Candidate*, std::size_t> of_grid{{best.candidate, 1}};
    std::array<std::size_t, 2> of_sort{};
    ++of_sort[in_one_step(best)];
    const auto is_there = [&](const Best& one) {
      return std::ranges::any_of(
          all, [&](const Best& other) { return one.candidate == other.candidate && one.tiles == other.tiles; });
    };
    // Where few grids are left, more of each.
    for (const std::size_t most : {kMeasuredOfGrid, kMeasured}) {
      for (const Best& one : replayed_) {
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

  /// Where there is a timer, a replay ends that takes `within` times the shortest so far.
  void try_replay(GemmReplay& replay, const Candidate& candidate, const GemmTiles& tiles, Best& best,
                  double within = kMeasuredWithin) {
    if (law_.tcm_bytes(tiles) > law_.tcm_budget()) return;
    const double limit = (measured_ ? within : kMargin) * best.ns - candidate.more;
    const double ns = replay.time(ranges(candidate, tiles), candidate.block, tiles, limit) + candidate.more;
    if (measured_ && std::isfinite(ns)) replayed_.push_back({ns, &candidate, tiles});
    if (ns < kMargin * best.ns) best = {ns, &candidate, tiles};
  }

  /// Steps of other lengths, more or fewer of them under way, and other first ones.
  void refine(GemmReplay& replay, Best& best) {
    const Candidate& candidate = *best.candidate;
    const GemmTiles found = best.tiles;
    for (const std::int64_t depth : depths()) {
      GemmTiles tiles = found;
      tiles.depth = depth;
      if (depth != found.depth) try_replay(replay, candidate, tiles, best);
    }
    if (problem_.tile_k == 0) {
      const std::int64_t k = best.tiles.k;
      for (const std::int64_t other : {2 * k, k / 2}) {
        GemmTiles tiles = best.tiles;
        tiles.k = std::min(other, candidate.block.k);
        tiles.first_k = std::min(tiles.first_k, tiles.k);
        if (tiles.k < 1 || tiles.k == k) continue;
        for (const std::int64_t depth : depths()) {
          tiles.depth = depth;
          try_replay(replay, candidate, tiles, best);
        }
      }
    }
    try_one_step(replay, best);
    if (measured_) refine_extents(replay, best);
    const GemmTiles steps = best.tiles;
    for (const std::int64_t part : {1, 2, 4, 8}) {
      GemmTiles tiles = steps;
      tiles.first_k = first_step(tiles.k, part);
      if (tiles.first_k != steps.first_k) try_replay(replay, candidate, tiles, best);
    }
  }

  /// All of a program's part of k in one command, which fills and drains the array once.
  void try_one_step(GemmReplay& replay, Best& best) {
    GemmTiles tiles = best.tiles;
    tiles.k = tiles.first_k = best.candidate->block.k;
    tiles.depth = 1;
    if (problem_.tile_k == 0 && problem_.depth <= 1 && tiles != best.tiles)
      try_replay(replay, *best.candidate, tiles, best);
  }

  /// Tiles of half and double the rows or columns.
  void refine_extents(GemmReplay& replay, Best& best) {
    const Candidate& candidate = *best.candidate;
    const GemmTiles found = best.tiles;
    const auto resized = [&](std::int64_t m, std::int64_t n) {
      GemmTiles tiles = found;
      tiles.m = std::clamp<std::int64_t>(m, 1, candidate.block.m),
      tiles.n = std::clamp<std::int64_t>(n, 1, candidate.block.n);
      if (tiles != found) try_replay(replay, candidate, tiles, best);
    };
    if (problem_.tile_m == 0) resized(found.m / 2, found.n), resized(2 * found.m, found.n);
    if (problem_.tile_n == 0) resized(found.m, found.n / 2), resized(found.m, 2 * found.n);
  }

  bool allowed(const Candidate& candidate) const {
    const std::int64_t split = candidate.cubes.k * candidate.pes.k;
    if (problem_.split_k > 0) return split == problem_.split_k;
    return split == 1 || (problem_.order == KOrder::any && split * 64 <= problem_.shape.k);
  }

  std::vector<Candidate> grids() {
    const bool batched = problem_.shape.batch > 1 && problem_.split_k <= 1;
    const auto grid = [&](const std::array<std::int64_t, 3>& parts) {
      return GemmPlan::Grid{.batch = batched ? parts[0] : 1, .m = parts[1], .n = parts[2], .k = batched ? 1 : parts[0]};
    };
    std::vector<Candidate> candidates;
    const auto inner_factorings = factorings(per_cube_);
    for (const auto& outer : factorings(count() / per_cube_)) {
      for (const auto& inner : inner_factorings) {
        Candidate candidate;
        candidate.cubes = grid(outer), candidate.pes = grid(inner);
        if (!allowed(candidate)) continue;
        candidate.whole = problem_.shape;
        measure(candidate);
        candidates.push_back(candidate);
        if (leave_edges(candidate)) candidates.push_back(candidate);
      }
    }
    return candidates;
  }

  /// Lets the programs work on whole arrays, and share what is left; false where that saves little.
  bool leave_edges(Candidate& candidate) {
    if (problem_.shape.batch > 1 || candidate.cubes.k * candidate.pes.k > 1) return false;
    const MeshExtent& array = topology_.pe.gemm.array;
    const GemmEdges edges =
        fewest_folds(problem_.shape, candidate.cubes.m * candidate.pes.m, candidate.cubes.n * candidate.pes.n, array);
    const std::int64_t folds = tl::cdiv(candidate.block.m, array.height) * tl::cdiv(candidate.block.n, array.width);
    if (!edges.any(problem_.shape) || static_cast<double>(edges.folds) > kEdgesLeave * static_cast<double>(folds))
      return false;
    candidate.whole = edges.whole;
    measure(candidate);
    const double more = kEdgesCost * static_cast<double>(edges.more) * law_.product(1, 1, problem_.shape.k);
    candidate.more += more, candidate.at_least += more;
    return true;
  }

  /// What the programs of a grid work on and read.
  void measure(Candidate& candidate) {
    const auto& shape = candidate.whole;
    const GemmPlan::Grid &cubes = candidate.cubes, &pes = candidate.pes;
    GemmBlock& block = candidate.block;
    const GemmRange first = range_of(shape, cubes, pes, 0, 0);
    block.batch = first.batch[1] - first.batch[0];
    block.m = first.m[1] - first.m[0], block.n = first.n[1] - first.n[0], block.k = first.k[1] - first.k[0];
    block.programs = block.cubes = 1;
    for (const Used& used : {used_parts(shape.batch, cubes.batch, pes.batch), used_parts(shape.m, cubes.m, pes.m),
                             used_parts(shape.n, cubes.n, pes.n), used_parts(shape.k, cubes.k, pes.k)}) {
      block.programs *= static_cast<double>(used.parts), block.cubes *= static_cast<double>(used.cubes);
    }
    const auto parts_of = [](std::int64_t extent, std::int64_t over_cubes, std::int64_t over_pes) {
      return static_cast<double>(used_parts(extent, over_cubes, over_pes).parts);
    };
    block.sharing_a = sharing_a_, block.sharing_b = sharing_b_;
    // Those beside each other ask one holder too, for other rows of A (columns of B) that it has, unless each begins
    // at a part of k of its own.
    const auto beside = [&](double parts, std::int64_t held, std::int64_t read) {
      if (problem_.order == KOrder::any) return 1.0;
      return std::clamp(static_cast<double>(held) / static_cast<double>(read), 1.0, parts);
    };
    const double across = parts_of(shape.m, cubes.m, pes.m), along = parts_of(shape.n, cubes.n, pes.n);
    const double ask_a = along * beside(across, sharing_a_.rows, block.m);
    const double ask_b = across * beside(along, sharing_b_.columns, block.n);
    block.sharing_a.readers = std::max(1.0, ask_a / sharing_a_.readers);
    block.sharing_b.readers = std::max(1.0, ask_b / sharing_b_.readers);
    sample(candidate);
    candidate.more = sum_ns(cubes.k * pes.k);
    candidate.at_least = law_.at_least(block) + candidate.more;
  }

  /// The traffic of a few cubes, one in each row and column of the mesh, stands for that of all.
  void sample(Candidate& candidate) {
    const std::int64_t cubes = count() / per_cube_, step = std::max<std::int64_t>(cubes / 4, 1);
    readers_a_.clear(), readers_b_.clear();
    std::int64_t sampled = 0;
    for (std::int64_t i = 0; i < cubes; i += step, ++sampled) {
      const std::int64_t cube = std::min(i + sampled % step, cubes - 1);
      add_readers(candidate, cube);
    }
    const double scale = static_cast<double>(cubes) / static_cast<double>(sampled);
    candidate.block.a = locality_a_.traffic(readers_a_, scale);
    candidate.block.b = locality_b_.traffic(readers_b_, scale);
  }

  void add_readers(const Candidate& candidate, std::int64_t cube) {
    for (std::int64_t pe = 0; pe < per_cube_; ++pe) {
      const GemmRange range = range_of(candidate.whole, candidate.cubes, candidate.pes, cube, pe);
      if (range.empty()) continue;
      const PeCoordinate reader = pes_[static_cast<std::size_t>(cube * per_cube_ + pe)];
      readers_a_.push_back(
          {reader, {{range.batch[0], range.m[0], range.k[0]}, {range.batch[1], range.m[1], range.k[1]}}});
      readers_b_.push_back(
          {reader, {{range.batch[0], range.k[0], range.n[0]}, {range.batch[1], range.k[1], range.n[1]}}});
    }
  }

  /// No cube stands for another one here: that a link is busier than others is what counts.
  void measure_links(Candidate& candidate) {
    readers_a_.clear(), readers_b_.clear();
    for (std::int64_t cube = 0; cube < count() / per_cube_; ++cube) add_readers(candidate, cube);
    candidate.block.links = busiest_link(locality_a_.link_loads(readers_a_), locality_b_.link_loads(readers_b_));
    candidate.at_least = law_.at_least(candidate.block) + candidate.more;
  }

  /// The parts' sums are written and read once, by whoever happens to hold them, in a launch of its own.
  double sum_ns(std::int64_t split) const {
    if (split == 1) return 0;
    const auto& shape = problem_.shape;
    const auto& mesh = topology_.sip.cubes;
    const double bytes = static_cast<double>(shape.m * shape.n * shape.batch * 8 * split);
    const double slices =
        static_cast<double>(topology_.cube.slice_bandwidth().count()) * 1e-9 * static_cast<double>(count());
    const double links = 2.0 * ((mesh.width - 1) * mesh.height + (mesh.height - 1) * mesh.width);
    const double hops = (mesh.width + mesh.height) / 3.0;
    const double between =
        links > 0 ? bytes * hops / (static_cast<double>(topology_.sip.link.payload_rate().count()) * 1e-9 * links * 0.3)
                  : 0;
    return kSecondLaunchNs + bytes / slices + between;
  }

  // ---- tiles of one program's block

  /// From the largest.
  static std::vector<std::int64_t> sizes(std::int64_t extent, std::int64_t wanted) {
    if (wanted > 0) return {std::min(wanted, extent)};
    std::vector<std::int64_t> all{extent};
    for (const std::int64_t parts : {2, 3}) all.push_back(std::min(tl::cdiv(tl::cdiv(extent, parts), 32) * 32, extent));
    for (std::int64_t size = 1; size < extent && size <= kLargestTile; size *= 2) all.push_back(size);
    std::erase_if(all, [](std::int64_t size) { return size > kLargestTile; });
    std::ranges::sort(all, std::greater{});
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  static std::int64_t first_step(std::int64_t tile_k, std::int64_t part) {
    return std::clamp<std::int64_t>(tile_k / part, std::min<std::int64_t>(32, tile_k), tile_k);
  }

  void search(const Candidate& candidate, Best& best) const {
    const GemmBlock& block = candidate.block;
    const auto sizes_k = sizes(block.k, problem_.tile_k);
    for (const std::int64_t m : sizes(block.m, problem_.tile_m)) {
      for (const std::int64_t n : sizes(block.n, problem_.tile_n)) {
        if (law_.at_least(block, m, n) + candidate.more >= kMargin * best.ns) continue;
        for (const std::int64_t depth : depths()) search_k(candidate, {m, n, 1, depth, 1}, sizes_k, best);
      }
    }
  }

  /// The deepest steps that fit, and a few shorter ones.
  void search_k(const Candidate& candidate, GemmTiles tiles, std::span<const std::int64_t> sizes_k, Best& best) const {
    int tried = 0;
    for (const std::int64_t k : sizes_k) {
      tiles.k = k;
      if (law_.tcm_bytes(tiles) > law_.tcm_budget()) continue;
      if (++tried > kTriedSteps) break;
      tiles.first_k = first_step(k, 4);
      const double ns = law_.time(candidate.block, tiles) + candidate.more;
      if (ns < kMargin * best.ns) best = {ns, &candidate, tiles};
    }
  }

  std::vector<std::int64_t> depths() const {
    if (problem_.depth > 0) return {problem_.depth};
    return {1, 2, 3, 5};
  }

  void check_smallest() const {
    const auto one = [](std::int64_t wanted, std::int64_t extent) {
      return wanted > 0 ? std::min(wanted, extent) : std::int64_t{1};
    };
    const GemmTiles least{one(problem_.tile_m, problem_.shape.m), one(problem_.tile_n, problem_.shape.n),
                          one(problem_.tile_k, problem_.shape.k), problem_.depth > 0 ? problem_.depth : 1, 1};
    if (law_.tcm_bytes(least) <= law_.tcm_budget()) return;
    throw OutOfMemoryError(fmt::format(
        "matrix product: no tile fits into {} of the TCM ({} shared by {} contexts); the tiles of {} x {} x {} "
        "need {}, each rounded up to pe.tcm.alignment of {}: raise pe.tcm.capacity, lower pe.contexts or "
        "pe.tcm.alignment, or ask for smaller tiles",
        to_text(Bytes(law_.tcm_budget())), to_text(topology_.pe.tcm.capacity), topology_.pe.contexts, least.m, least.n,
        least.k, to_text(Bytes(law_.tcm_bytes(least))), to_text(topology_.pe.tcm.alignment)));
  }

  /// Where along k a reader's own part of an operand begins, when the operand is split along it.
  std::optional<std::int64_t> own_k(PeCoordinate reader, const GemmRange& range, std::span<const GemmPart> parts,
                                    int axis) const {
    for (const auto& part : parts) {
      if (!(part.owner == reader) || (part.begin[axis] == 0 && part.end[axis] == problem_.shape.k)) continue;
      if (part.begin[axis] >= range.k[0] && part.begin[axis] < range.k[1]) return part.begin[axis];
    }
    return std::nullopt;
  }

  /// A short first step starts the engine early; a long one asks more holders at one time.
  Best with_first_step(const Best& found) const {
    Best best;
    for (const std::int64_t part : {1, 2, 4, 8}) {
      GemmTiles tiles = found.tiles;
      tiles.first_k = first_step(tiles.k, part);
      const double ns = law_.time_with_first_steps(found.candidate->block, tiles) + found.candidate->more;
      if (ns < kMargin * best.ns) best = {ns, found.candidate, tiles};
    }
    return best;
  }

  GemmPlan finished(const Best& best) const {
    GemmPlan plan;
    plan.shape = problem_.shape;
    plan.cubes = best.candidate->cubes, plan.pes = best.candidate->pes;
    plan.split_k = plan.cubes.k * plan.pes.k;
    plan.tile_m = best.tiles.m, plan.tile_n = best.tiles.n, plan.tile_k = best.tiles.k;
    plan.depth = best.tiles.depth, plan.first_k = best.tiles.first_k;
    plan.fold = {topology_.pe.gemm.array.height, topology_.pe.gemm.array.width};
    plan.dma_queues = std::min<std::int64_t>(topology_.pe.dma.queues, kDmaQueues);
    plan.tcm_bytes = law_.tcm_bytes(best.tiles);
    plan.a = nearby(best.candidate->block.a), plan.b = nearby(best.candidate->block.b);
    plan.estimated_ns = best.ns;
    plan.second_launch_ns = sum_ns(plan.split_k);
    plan.ranges = ranges(*best.candidate, best.tiles);
    const GemmShape& whole = best.candidate->whole;
    if (whole.m < plan.shape.m || whole.n < plan.shape.n)
      for (const GemmRange& range : plan.ranges) plan.edges.push_back(edges_of(plan.shape, whole, range));
    return plan;
  }

  static GemmPlan::Nearby nearby(const OperandTraffic& traffic) {
    const double all = traffic.all();
    return all > 0 ? GemmPlan::Nearby{traffic.own / all, traffic.cube / all} : GemmPlan::Nearby{};
  }

  /// One for each program.
  std::vector<GemmRange> ranges(const Candidate& candidate, const GemmTiles& tiles) const {
    std::vector<GemmRange> all;
    for (std::int64_t i = 0; i < count(); ++i) all.push_back(range(candidate, tiles, i));
    return all;
  }

  GemmRange range(const Candidate& candidate, const GemmTiles& tiles, std::int64_t index) const {
    GemmRange range = range_of(candidate.whole, candidate.cubes, candidate.pes, index / per_cube_, index % per_cube_);
    if (problem_.order == KOrder::exact) return range;
    const PeCoordinate reader = pes_[static_cast<std::size_t>(index)];
    auto start = own_k(reader, range, b_, 1);
    if (!start) start = own_k(reader, range, a_, 2);
    // On a whole step, so that programs which share one read it at one time or far apart.
    if (start) range.k_start = std::max(range.k[0], *start / tiles.k * tiles.k);
    return range;
  }

  /// What one holder has of an operand of rows x columns; `readers` stands for the copies that there are.
  OperandSharing sharing(std::span<const GemmPart> parts, std::int64_t rows, std::int64_t columns) const {
    if (parts.empty()) return {tl::cdiv(rows, count()), columns, 1};
    double held = 0;
    for (const auto& part : parts) {
      double volume = 1;
      for (int d = 0; d < 3; ++d) volume *= static_cast<double>(part.end[d] - part.begin[d]);
      held += volume;
    }
    const auto once = static_cast<double>(problem_.shape.batch * rows * columns);
    return {row_of(parts, 1, rows), row_of(parts, 2, columns), std::max(1.0, held / once)};
  }

  /// Elements that follow each other in the memory of the holders of an operand.
  static std::int64_t row_of(std::span<const GemmPart> parts, int axis, std::int64_t extent) {
    for (const auto& part : parts) extent = std::min(extent, part.end[axis] - part.begin[axis]);
    return std::max<std::int64_t>(extent, 1);
  }

  const GemmProblem& problem_;
  std::span<const PeCoordinate> pes_;
  const GemmOperands& operands_;
  std::span<const GemmPart> a_, b_;
  const topology::Topology& topology_;
  bool measured_;  // else the plan of the best estimate, or replay
  PlanMeasurements measurements_;
  GemmEstimate law_;
  OperandLocality locality_a_, locality_b_;
  OperandSharing sharing_a_, sharing_b_;              // with copies as readers
  std::vector<OperandReader> readers_a_, readers_b_;  // kept for their memory
  std::vector<Best> replayed_;                        // for the shortlist, where there is a timer
  std::int64_t per_cube_ = 0;
};

}  // namespace

GemmPlan plan_gemm(const GemmProblem& problem, std::span<const PeCoordinate> pes, const GemmOperands& operands,
                   const topology::Topology& topology, const PlanTimer& timer) {
  return Planner(problem, pes, operands, topology, timer).plan();
}

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

}  // namespace kernbench::tile::library
