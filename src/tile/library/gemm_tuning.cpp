#include "tile/library/gemm_tuning.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "kernbench/tl/program.h"
#include "tile/library/gemm_beside.h"
#include "tile/library/gemm_groups.h"
#include "tile/library/gemm_search.h"

namespace kernbench::tile::library {

namespace {

/// Where measurements are cheap, what lies beside the shortest plan is measured, and then beside that one, at most so
/// often. assumption
constexpr int kMostClimbed = 8;
/// Of so many of the plans that are shortest, programs also load together what several of them need. assumption: some
/// seconds for a shape are worth a better plan.
constexpr std::size_t kTogetherPlans = 4;
/// Longer steps are tried of plans that load together and take so many times the shortest, at most.
constexpr double kLongerStepsWithin = 1.1;
/// Of fewer programs a group saves little, 2 to 5 % of a product on machines of 2 to 8 PEs, and whether it does changes
/// from one machine to the next: a better machine could be slower (perf/credibility).
constexpr std::int64_t kFewestTogether = 32;
/// A part for the vector engine is measured for so many ways to share the product: those with the shortest replays,
/// which know nothing of that engine. Where measurements are dear, in parts of what a product may cost, for so many of
/// the plans that are shortest without.
constexpr std::size_t kVectorGrids = 3;
constexpr std::size_t kVectorPlans = 2;
/// Steps that suit both engines on many machines, and are tried on every one: of this length, the first of half of it,
/// and so many under way.
constexpr std::int64_t kSharedStep = 128, kSharedDepth = 2;
/// Steps that grow begin with this part of a program's k, and are so many times as long at most.
constexpr std::int64_t kGrowingSteps = 32, kLongestGrowing = 8;

/// Where a plan whose measurement is dear takes so many times what the arrays need, so many ways to share the product
/// are measured in wide steps, too: so many steps under way, of a multiple of so many of k. assumption: a measurement
/// takes seconds.
constexpr double kFarFromArrays = 1.1;
constexpr std::size_t kWideGrids = 3;
constexpr std::int64_t kWideDepth = 5, kWideStep = 64;
/// Likewise, so many plans with other numbers of parts of k.
constexpr std::size_t kOtherParts = 2;

std::int64_t k_of_a_program(const GemmPlan& plan) {
  const GemmRange& range = plan.ranges.front();
  return range.k[1] - range.k[0];
}

/// What the array needs for the range of a program.
double array_ns(const GemmEstimate& law, const GemmRange& range) {
  const double once = law.until_next(range.m[1] - range.m[0], range.n[1] - range.n[0], range.k[1] - range.k[0], false);
  return static_cast<double>(range.batch[1] - range.batch[0]) * once;
}

/// What programs read when those that need the same part of an operand load it together: slices and links have it once.
/// Members in several cubes share only a part of their ways, which is not counted.
GemmBlock read_together(const GemmCandidate& candidate) {
  GemmBlock block = candidate.block;
  const auto once = [](OperandTraffic& traffic, double& link, double members) {
    for (double* bytes : {&traffic.own, &traffic.cube, &traffic.remote, &traffic.hops, &traffic.hottest})
      *bytes /= members;
    link /= members;
  };
  const auto parts = [](std::int64_t wanted, std::int64_t extent) {
    return static_cast<double>(std::min(wanted, extent));
  };
  once(block.a, block.links.a, parts(candidate.cubes.n * candidate.pes.n, candidate.whole.n));
  once(block.b, block.links.b, parts(candidate.cubes.m * candidate.pes.m, candidate.whole.m));
  block.links.both = block.links.a + block.links.b;
  return block;
}

bool is_of(const GemmPlan& plan, const GemmCandidate& candidate) {
  const bool whole = candidate.whole.m == plan.shape.m && candidate.whole.n == plan.shape.n;
  return candidate.cubes == plan.cubes && candidate.pes == plan.pes && whole == plan.edges.empty();
}

/// The same steps, with a part for the vector engine in both or in none, in blocks of the array as large.
bool is_same(const GemmPlan& one, const GemmPlan& other) {
  return same_steps(one, other) && (one.vector_share > 0) == (other.vector_share > 0) &&
         std::min(one.fold.rows, one.tile_m) == std::min(other.fold.rows, other.tile_m) &&
         std::min(one.fold.columns, one.tile_n) == std::min(other.fold.columns, other.tile_n);
}

bool holds_same(std::span<const GemmPlan> all, const GemmPlan& one) {
  return std::ranges::any_of(all, [&](const GemmPlan& other) { return is_same(one, other); });
}

}  // namespace

GemmTuning::GemmTuning(GemmPartitioner& partitioner, std::span<GemmCandidate> candidates,
                       std::span<const GemmChoice> replayed, const PlanTimer& timer)
    : partitioner_(partitioner),
      problem_(partitioner.problem()),
      topology_(partitioner.topology()),
      law_(partitioner.law()),
      candidates_(candidates),
      replayed_(replayed),
      measurements_(timer),
      share_(problem_, topology_, law_) {}

GemmPlan GemmTuning::least(std::span<const GemmChoice> shortlist) {
  std::vector<GemmPlan> plans;
  plans.reserve(shortlist.size());
  for (const GemmChoice& choice : shortlist) plans.push_back(partitioner_.plan(choice));
  GemmPlan mates = plans[0];
  const bool with_mates = partitioner_.pe_count() >= kFewestTogether && load_together(mates);
  std::vector<double> times = measurements_.first(plans[0], with_mates ? &mates : nullptr);
  const double mates_ns = with_mates ? times[1] : kNever;
  times.resize(1);
  if (mates_ns < times[0]) {
    measurements_.expect_cost_of_mates();
    TimedPlan of_mates = within_cubes(least_of_mates({std::move(mates), mates_ns}, plans));
    return with_growing_steps(in_wide_steps(in_other_parts(std::move(of_mates))));
  }
  const std::span<const GemmPlan> others =
      std::span(plans).subspan(1, with_mates && measurements_.are_dear() ? 0 : plans.size() - 1);
  std::ranges::copy(measurements_.shorter_than(times[0], others), std::back_inserter(times));
  times.resize(plans.size(), kNever);
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return times[i]; });
  TimedPlan shortest = with_vector_share(plans, order, times[order[0]]);
  shortest = within_cubes(climbed(std::move(shortest), plans));
  shortest = together(std::move(shortest), plans, order, {std::move(mates), mates_ns});
  return with_growing_steps(in_wide_steps(in_other_parts(std::move(shortest))));
}

/// `best`, or what is found from it, and from the first of `plans` of other grids, by changing one extent, the depth
/// or the first step at a time, while that makes it shorter. Where measurements are cheap: what is found then depends
/// little on which plans were measured before.
TimedPlan GemmTuning::climbed(TimedPlan best, std::span<const GemmPlan> plans) {
  std::vector<GemmPlan> from{best.plan}, tried(plans.begin(), plans.end());
  tried.push_back(best.plan);
  for (const GemmPlan& plan : plans) {
    const auto in_its_grid = [&](const GemmPlan& other) { return same_grid(plan, other); };
    if (from.size() <= kRefinedGrids && std::ranges::none_of(from, in_its_grid)) from.push_back(plan);
  }
  bool improved = true;
  for (int step = 0; step < kMostClimbed && measurements_.are_cheap(); ++step) {
    std::vector<GemmPlan> near;
    for (const GemmPlan& plan : from) add_near(near, tried, plan);
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
void GemmTuning::add_near(std::vector<GemmPlan>& near, std::span<const GemmPlan> tried, const GemmPlan& plan) const {
  const auto candidate = std::ranges::find_if(candidates_, [&](const GemmCandidate& one) { return is_of(plan, one); });
  const auto add = [&](GemmPlan one) {
    if (!holds_same(near, one) && !holds_same(tried, one)) near.push_back(std::move(one));
  };
  for (const GemmTiles& tiles : tiles_beside(tiles_of(plan), candidate->block, problem_)) {
    if (!law_.fits(tiles)) continue;
    GemmPlan one = partitioner_.plan(partitioner_.choice(*candidate, tiles));
    one.fold = plan.fold;
    std::vector<GemmPlan> shared;
    share_.add(shared, one, tiles);
    if (plan.vector_share == 0) add(std::move(one));
    for (GemmPlan& other : shared) add(std::move(other));
  }
  for (GemmPlan& other : in_smaller_folds(plan)) add(std::move(other));
}

/// `best`, whose programs load together what several of them need, or another one of `plans` so, or with longer steps
/// or a part for the vector engine. Where loading together is shorter for the first of `plans`, the others are
/// not measured without: that takes several times as long, since a load of one program's own goes to each holder.
TimedPlan GemmTuning::least_of_mates(TimedPlan best, const std::vector<GemmPlan>& plans) {
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
  share_.add(shared, best.plan, tiles_of(best.plan));
  share_.add_in_steps_for_both(shared, best.plan, measurements_.are_cheap());
  measurements_.take_shorter(std::move(shared), best);
  return best;
}

/// `best`, or it or one of the first of `plans` in `order` whose programs load together what several of them need,
/// such as `mates`. Their loads are then few, and steps may be longer.
TimedPlan GemmTuning::together(TimedPlan best, const std::vector<GemmPlan>& plans, std::span<const std::size_t> order,
                               TimedPlan mates) {
  if (partitioner_.pe_count() < kFewestTogether) return best;
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
  if (mates.ns < kLongerStepsWithin * best.ns) {
    if (problem_.tile_k == 0) add_longer_steps(tried, mates.plan);
    add_smaller_tiles(tried, mates.plan);
  }
  const bool shorter = mates.ns < measurements_.margin() * best.ns;
  measurements_.take_shorter(std::move(tried), shorter ? best = std::move(mates) : best,
                             shorter ? 1 : measurements_.margin());
  return best;
}

/// Whether few plans are measured, and `best` takes much more than the arrays need. Not where the caller gives tiles,
/// nor of few rows or columns, which are far from the arrays by what they read.
bool GemmTuning::is_far_from_arrays(const TimedPlan& best) const {
  const bool free = problem_.tile_m == 0 && problem_.tile_n == 0 && problem_.tile_k == 0 && problem_.depth == 0;
  const bool few =
      problem_.shape.m <= topology_.pe.gemm.array.height || problem_.shape.n <= topology_.pe.gemm.array.width;
  return free && !few && measurements_.are_dear() &&
         best.ns > kFarFromArrays * array_ns(law_, best.plan.ranges.front());
}

/// `best`, or the shortest replay with another number of parts of k, where few plans are measured. Replays may be kind
/// to few parts, whose programs read nearly all from other cubes: of [128, 8192] times [8192, 28672] in two parts the
/// replay is 75 us and the simulation 132, in eight 70 and 75.
TimedPlan GemmTuning::in_other_parts(TimedPlan best) {
  if (!is_far_from_arrays(best)) return best;
  std::vector<GemmPlan> others;
  std::set<std::int64_t> parts{best.plan.split_k};
  for (const GemmChoice& replayed : replayed_) {
    const bool is_new = parts.insert(replayed.candidate->cubes.k * replayed.candidate->pes.k).second;
    if (is_new && others.size() < kOtherParts) others.push_back(partitioner_.plan(replayed));
  }
  measurements_.allow(others.size());
  measurements_.take_shorter(std::move(others), best);
  return best;
}

/// `best`, or another way to share a product of which few plans are measured, with programs that load together in steps
/// as wide as the TCM allows. Replays know nothing of loads by multicast: they choose large tiles, which read little,
/// and have then room for few rows of B. Where B is cut by rows, all programs ask the few slices that hold these.
TimedPlan GemmTuning::in_wide_steps(TimedPlan best) {
  if (best.plan.split_k > 1 || partitioner_.pe_count() < kFewestTogether || !is_far_from_arrays(best)) return best;
  std::vector<GemmPlan> wide;
  for (const GemmChoice& choice : widest_steps()) {
    GemmPlan plan = partitioner_.plan(choice);
    if (load_together(plan)) wide.push_back(std::move(plan));
  }
  measurements_.allow(wide.size());
  measurements_.take_shorter(std::move(wide), best);
  return best;
}

/// Of each way to share the product one, the most promising ones. Which of those with equal blocks is the shortest
/// depends on where the operands lie: a group of one cube reads its copy, one of several cubes spreads over the mesh.
std::vector<GemmChoice> GemmTuning::widest_steps() {
  std::vector<GemmChoice> all;
  for (GemmCandidate& candidate : candidates_) {
    const bool whole = candidate.whole.m == problem_.shape.m && candidate.whole.n == problem_.shape.n;
    if (!whole || candidate.cubes.k * candidate.pes.k > 1) continue;
    if (const GemmChoice widest = widest_steps(candidate); widest.candidate != nullptr) all.push_back(widest);
  }
  std::ranges::stable_sort(all, {}, &GemmChoice::ns);
  if (all.size() > kWideGrids) all.resize(kWideGrids);
  return all;
}

/// The tiles of whole arrays with the least estimate; none where no steps fit.
GemmChoice GemmTuning::widest_steps(GemmCandidate& candidate) {
  partitioner_.measure_links(candidate);
  const GemmBlock block = read_together(candidate);
  const MeshExtent& array = topology_.pe.gemm.array;
  GemmChoice best;
  for (const std::int64_t rows : {1, 2, 4, 8}) {
    for (const std::int64_t columns : {1, 2, 4, 8}) {
      GemmTiles tiles;
      tiles.m = std::min(rows * array.height, block.m), tiles.n = std::min(columns * array.width, block.n);
      tiles.k = kWideStep, tiles.depth = kWideDepth;
      if (block.k < kWideStep || !law_.fits(tiles)) continue;
      for (GemmTiles longer = tiles; longer.k <= block.k && law_.fits(longer); longer.k += kWideStep) tiles = longer;
      tiles.first_k = first_step(tiles.k, 4);
      if (const double ns = law_.time(block, tiles) + candidate.more; ns < best.ns) best = {ns, &candidate, tiles};
    }
  }
  return best;
}

/// `best`, or the same with both engines and steps that begin short and grow slowly: loads, of which two are under
/// way, then keep up with the products from the first one on, and the array is filled and drained a few times only.
GemmPlan GemmTuning::with_growing_steps(TimedPlan best) {
  const std::int64_t k = k_of_a_program(best.plan), first = k / kGrowingSteps / kVectorItems * kVectorItems;
  if (first < kLongStep || problem_.tile_k > 0 || problem_.depth > 0) return best.plan;
  GemmTiles tiles = tiles_of(best.plan);
  tiles.first_k = first, tiles.k = kLongestGrowing * first, tiles.depth = 2;
  while (tiles.k > 2 * first && law_.tcm_bytes(tiles) + 2 * law_.sum_bytes(tiles) > law_.tcm_budget()) tiles.k -= first;
  std::vector<GemmPlan> growing;
  for (const auto& [begin, more] : {std::pair{first, first * 3 / 8}, std::pair{first, first / 2},
                                    std::pair{first * 3 / 4 / kVectorItems * kVectorItems, first / 4}}) {
    GemmPlan plan = best.plan;
    plan.more_k = more, tiles.first_k = begin;
    share_.add(growing, std::move(plan), tiles);
  }
  measurements_.take_shorter(std::move(growing), best, 1);
  return best.plan;
}

/// `plan` in other tiles, where these fit.
void GemmTuning::add_in_tiles(std::vector<GemmPlan>& all, const GemmPlan& plan, const GemmTiles& tiles) const {
  if (!law_.fits(tiles)) return;
  all.push_back(plan);
  set_tiles(all.back(), tiles);
  all.back().tcm_bytes = law_.tcm_bytes(tiles);
}

void GemmTuning::add_longer_steps(std::vector<GemmPlan>& all, const GemmPlan& plan) const {
  const GemmTiles found = tiles_of(plan);
  for (const std::int64_t times : {2, 4}) {
    for (const std::int64_t first : {found.first_k, 2 * found.first_k}) {
      GemmTiles tiles = found;
      tiles.k = std::min(times * found.k, k_of_a_program(plan));
      tiles.first_k = std::min(first, tiles.k);
      if (tiles.k != found.k) add_in_tiles(all, plan, tiles);
    }
  }
}

/// `plan` in tiles of half the rows or columns where these are several folds: what it loads twice then comes from its
/// mates, the first sums are stored sooner, and more steps fit.
void GemmTuning::add_smaller_tiles(std::vector<GemmPlan>& all, const GemmPlan& plan) const {
  if (plan.vector_share > 0) return;
  const MeshExtent& array = topology_.pe.gemm.array;
  for (const std::int64_t depth : std::set<std::int64_t>{plan.depth, depths_of(problem_).back()}) {
    GemmTiles lower = tiles_of(plan), narrower = lower;
    lower.m = tl::cdiv(plan.tile_m, 2), narrower.n = tl::cdiv(plan.tile_n, 2);
    lower.depth = narrower.depth = depth;
    if (problem_.tile_m == 0 && plan.tile_m > array.height) add_in_tiles(all, plan, lower);
    if (problem_.tile_n == 0 && plan.tile_n > array.width) add_in_tiles(all, plan, narrower);
  }
}

/// The first of `plans` in `order`, which takes `ns`, or a plan with a part for the vector engine: with the steps of
/// the shortest ones, then with others.
TimedPlan GemmTuning::with_vector_share(const std::vector<GemmPlan>& plans, std::span<const std::size_t> order,
                                        double ns) {
  TimedPlan best{plans[order[0]], ns};
  measurements_.take_shorter(measurements_.are_cheap() ? shared_of_replays() : shared_of_shortest(plans, order), best);
  if (best.plan.vector_share == 0) return best;
  std::vector<GemmPlan> shared;
  share_.add_in_steps_for_both(shared, best.plan, measurements_.are_cheap());
  measurements_.take_shorter(std::move(shared), best);
  return best;
}

/// With a part for the vector engine the first few of `order`, and the first few that have several steps under way.
std::vector<GemmPlan> GemmTuning::shared_of_shortest(const std::vector<GemmPlan>& plans,
                                                     std::span<const std::size_t> order) const {
  std::vector<GemmPlan> shared;
  std::size_t deep = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const GemmPlan& plan = plans[order[place]];
    const bool several = plan.depth > 1;
    if (place < kVectorPlans || (several && deep < kVectorPlans)) share_.add(shared, plan, tiles_of(plan));
    if (several) ++deep;
  }
  return shared;
}

/// With a part for the vector engine for each of a few ways to share the product the plan with steps which suit both
/// engines on many machines, and of the shortest replays one with one step and one with several under way.
std::vector<GemmPlan> GemmTuning::shared_of_replays() const {
  std::vector<GemmPlan> shared;
  std::map<const GemmCandidate*, std::array<bool, 2>> there;
  for (const GemmChoice& one : replayed_) {
    const bool is_new = !there.contains(one.candidate);
    if (is_new && there.size() == kVectorGrids) continue;
    if (is_new) add_with_shared_steps(shared, one);
    bool& is_there = there[one.candidate][one.tiles.depth > 1];
    if (is_there) continue;
    const std::size_t before = shared.size();
    share_.add(shared, partitioner_.plan(one), one.tiles);
    is_there = shared.size() > before;
  }
  return shared;
}

void GemmTuning::add_with_shared_steps(std::vector<GemmPlan>& shared, const GemmChoice& replayed) const {
  GemmChoice one = replayed;
  one.tiles.k = kSharedStep, one.tiles.first_k = kSharedStep / 2, one.tiles.depth = kSharedDepth;
  // The ranges are made for these steps: where each program begins along k depends on them.
  if (one.candidate->block.k > kSharedStep && share_.are_free(one.tiles, replayed.tiles))
    share_.add(shared, partitioner_.plan(one), one.tiles);
}

/// Whether writing and reading the sums of `parts` of k is little beside reading B once.
bool GemmTuning::sums_are_few(std::int64_t parts) const {
  constexpr std::int64_t kLittle = 8, kWrittenAndRead = 8;
  return kLittle * kWrittenAndRead * parts * problem_.shape.m <= problem_.shape.k * item_size(problem_.dtype);
}

/// With all rows in each program; null where there is none, or its sums are many.
GemmCandidate* GemmTuning::fewest_parts_within_cubes() const {
  GemmCandidate* fewest = nullptr;
  const auto parts = [](const GemmCandidate& one) { return one.cubes.k * one.pes.k; };
  for (GemmCandidate& one : candidates_) {
    if (one.block.b.remote > 0 || one.block.m != problem_.shape.m) continue;
    if (fewest == nullptr || parts(one) < parts(*fewest)) fewest = &one;
  }
  if (fewest == nullptr || parts(*fewest) == 1 || !sums_are_few(parts(*fewest))) return nullptr;
  return fewest;
}

/// `best`, or a plan of few rows whose programs read B in their own cube only, in as few parts of k as that takes:
/// what one PE of the cube holds after the other, each beginning with its own.
TimedPlan GemmTuning::within_cubes(TimedPlan best) {
  const bool free = problem_.tile_m == 0 && problem_.tile_n == 0 && problem_.tile_k == 0 && problem_.depth == 0;
  if (!free || best.plan.split_k == 1 || problem_.shape.m > topology_.pe.gemm.array.height) return best;
  GemmCandidate* const fewest = fewest_parts_within_cubes();
  if (fewest == nullptr) return best;
  partitioner_.measure_links(*fewest);
  std::vector<GemmPlan> plans;
  const std::int64_t held = partitioner_.rows_of_b();
  for (const std::int64_t k : {held, held / 2}) {
    for (const std::int64_t first : {k, k / 2}) {
      const GemmTiles tiles{fewest->block.m, fewest->block.n, std::min(k, fewest->block.k), 2, first};
      if (first < kVectorRows || !law_.fits(tiles)) continue;
      GemmPlan plan = partitioner_.plan(partitioner_.choice(*fewest, tiles));
      const std::size_t before = plans.size();
      share_.add(plans, plan, tiles);
      if (plans.size() == before) plans.push_back(std::move(plan));
    }
  }
  measurements_.take_shorter(std::move(plans), best);
  return best;
}

}  // namespace kernbench::tile::library
