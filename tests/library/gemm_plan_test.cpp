// The plan of a matrix product: every product once, within the TCM, near its operands.
#include "tile/library/gemm_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/placement.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"
#include "topology/load.h"

namespace kernbench::tile::library {
namespace {

topology::Topology machine(const char* name) {
  return topology::load_topology(source_tree::path(std::string("topologies/") + name + ".yaml"));
}

std::vector<PeCoordinate> all_pes(const topology::Topology& topology) {
  std::vector<PeCoordinate> pes;
  for (std::int32_t cube = 0; cube < topology.sip.cubes.count(); ++cube)
    for (std::int32_t pe = 0; pe < topology.cube.pes.count(); ++pe) pes.push_back({SipId{0}, CubeId{cube}, PeId{pe}});
  return pes;
}

std::vector<GemmPart> parts(const DPPolicy& policy, std::int64_t rows, std::int64_t columns,
                            const topology::Topology& topology) {
  std::vector<GemmPart> parts;
  const std::vector<std::int64_t> shape{rows, columns};
  for (const auto& shard :
       resolve_dp_policy(policy, shape, 2, topology.cube.pes.count(), topology.sip.cubes.count(), SipId{0})) {
    GemmPart part{.owner = {shard.sip, shard.cube, shard.pe}};
    part.end[0] = 1;
    for (std::size_t d = 0; d < 2; ++d) {
      part.begin[d + 1] = shard.offset[d];
      part.end[d + 1] = shard.offset[d] + shard.shape[d];
    }
    parts.push_back(part);
  }
  return parts;
}

std::int64_t volume(const GemmRange& range) {
  if (range.empty()) return 0;
  return (range.batch[1] - range.batch[0]) * (range.m[1] - range.m[0]) * (range.n[1] - range.n[0]) *
         (range.k[1] - range.k[0]);
}

bool disjoint(const GemmRange& a, const GemmRange& b) {
  const auto apart = [](const std::int64_t(&x)[2], const std::int64_t(&y)[2]) { return x[1] <= y[0] || y[1] <= x[0]; };
  return apart(a.batch, b.batch) || apart(a.m, b.m) || apart(a.n, b.n) || apart(a.k, b.k);
}

TEST(GemmPlan, RangesCoverEveryProductOnceAndTilesFitTheTcm) {
  for (const char* name : {"tiny", "ahbm-1sip"}) {
    const auto topology = machine(name);
    const auto pes = all_pes(topology);
    for (const GemmShape shape :
         {GemmShape{1, 1, 1, 1}, GemmShape{1, 4096, 4096, 4096}, GemmShape{1, 1, 4096, 1000}, GemmShape{7, 130, 3, 65},
          GemmShape{64, 128, 128, 64}, GemmShape{1, 97, 101, 103}, GemmShape{1, 16, 100000, 512}}) {
      for (const KOrder order : {KOrder::exact, KOrder::any}) {
        for (const DType dtype : {DType::i8, DType::f16, DType::f32}) {
          GemmProblem problem;
          problem.shape = shape;
          problem.dtype = dtype;
          problem.order = order;
          problem.epilogue = dtype == DType::f32;
          const GemmPlan plan = plan_gemm(problem, pes, {}, topology);
          ASSERT_EQ(plan.ranges.size(), pes.size());
          std::int64_t covered = 0;
          for (const auto& edges : plan.edges) covered += volume(edges[0]) + volume(edges[1]);
          for (std::size_t i = 0; i < plan.ranges.size(); ++i) {
            covered += volume(plan.ranges[i]);
            if (plan.ranges[i].empty()) continue;
            EXPECT_GE(plan.ranges[i].k_start, plan.ranges[i].k[0]);
            EXPECT_LT(plan.ranges[i].k_start, plan.ranges[i].k[1]);
            for (std::size_t j = 0; j < i; ++j)
              ASSERT_TRUE(plan.ranges[j].empty() || disjoint(plan.ranges[i], plan.ranges[j]));
          }
          EXPECT_EQ(covered, shape.batch * shape.m * shape.n * shape.k);
          EXPECT_LE(plan.tcm_bytes, topology.pe.tcm.capacity.count() / topology.pe.contexts);
          EXPECT_GE(plan.tcm_bytes, 2 * plan.tile_m * plan.tile_n * 4);
          EXPECT_TRUE(order == KOrder::any || plan.split_k == 1);
        }
      }
    }
  }
}

/// All that a plan's programs work on.
std::vector<GemmRange> all_ranges(const GemmPlan& plan) {
  std::vector<GemmRange> all = plan.ranges;
  for (const auto& edges : plan.edges) all.insert(all.end(), edges.begin(), edges.end());
  std::erase_if(all, [](const GemmRange& range) { return range.empty(); });
  return all;
}

TEST(GemmPlan, RowsAndColumnsThatWouldCostAnotherPassOfAllArraysAreSharedAsEdges) {
  NOT_UNDER_SANITIZERS("searches on a shipped machine");
  const auto topology = machine("ahbm-1sip");
  const std::int64_t array = topology.pe.gemm.array.width;
  for (const GemmShape shape : {GemmShape{1, 4097, 4097, 4097}, GemmShape{1, 4095, 4097, 4033},
                                GemmShape{1, 4100, 4090, 2048}, GemmShape{1, 2050, 8193, 2048}}) {
    if (shape.m != 4100 && shape.m != 4097 && !takes_all_cases()) continue;
    for (const KOrder order : {KOrder::exact, KOrder::any}) {
      GemmProblem problem;
      problem.shape = shape;
      problem.order = order;
      problem.split_k = 1;
      const auto a = parts({}, shape.m, shape.k, topology), b = parts({}, shape.k, shape.n, topology);
      const GemmPlan plan = plan_gemm(problem, all_pes(topology), {a, b, {}}, topology);
      // Programs that all walk k in order wait for loads longer than for their arrays, and may do without.
      if (plan.edges.empty()) {
        EXPECT_EQ(order, KOrder::exact) << shape.m << " x " << shape.n;
        continue;
      }
      ASSERT_EQ(plan.edges.size(), plan.ranges.size());
      const std::vector<GemmRange> all = all_ranges(plan);
      std::int64_t covered = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        covered += volume(all[i]);
        for (std::size_t j = 0; j < i; ++j) ASSERT_TRUE(disjoint(all[i], all[j]));
      }
      EXPECT_EQ(covered, shape.m * shape.n * shape.k);
      for (std::size_t i = 0; i < plan.ranges.size(); ++i) {
        std::int64_t folds = 0;
        for (const GemmRange& range : {plan.ranges[i], plan.edges[i][0], plan.edges[i][1]})
          if (!range.empty())
            folds += (range.m[1] - range.m[0] + array - 1) / array * ((range.n[1] - range.n[0] + array - 1) / array);
        EXPECT_LE(folds, shape.m * shape.n / array / array / 128 + 3) << i;
      }
    }
  }
}

TEST(GemmPlan, LeavesNoEdgesWhereArraysAreFilledAnyhow) {
  const auto topology = machine("ahbm-1sip");
  for (const GemmShape shape : {GemmShape{1, 4096, 4096, 512}, GemmShape{1, 4095, 4095, 512}, GemmShape{1, 65, 65, 512},
                                GemmShape{4, 4097, 4097, 64}}) {
    GemmProblem problem;
    problem.shape = shape;
    EXPECT_TRUE(plan_gemm(problem, all_pes(topology), {}, topology).edges.empty()) << shape.m;
  }
}

TEST(GemmPlan, KeepsTrafficInsideOfCubesWhereThePlacementAllows) {
  const auto topology = machine("ahbm-1sip");
  const DPPolicy weights{.cube = Placement::replicate, .pe = Placement::column_wise};
  GemmProblem problem;
  problem.shape = {1, 4096, 4096, 4096};
  const auto a = parts({}, 4096, 4096, topology), b = parts(weights, 4096, 4096, topology);
  const GemmPlan plan = plan_gemm(problem, all_pes(topology), {a, b, {}}, topology);
  // A cube has its rows of A and a copy of B; each of its PEs holds the columns of B that it multiplies.
  EXPECT_EQ(plan.cubes.m, 16);
  EXPECT_EQ(plan.pes.n, 8);
  EXPECT_EQ(plan.tile_m, 256);
  EXPECT_EQ(plan.tile_n, 512);
}

TEST(GemmPlan, BeginsAtTheOwnPartOfKWhereTheOrderIsFree) {
  const auto topology = machine("ahbm-1sip");
  const DPPolicy rows{.cube = Placement::replicate, .pe = Placement::row_wise};
  GemmProblem problem;
  problem.shape = {1, 4096, 4096, 4096};
  problem.order = KOrder::any;
  problem.split_k = 1;
  const auto a = parts({}, 4096, 4096, topology), b = parts(rows, 4096, 4096, topology);
  const GemmPlan plan = plan_gemm(problem, all_pes(topology), {a, b, {}}, topology);
  for (std::size_t pe = 0; pe < 8; ++pe) EXPECT_EQ(plan.ranges[pe].k_start, static_cast<std::int64_t>(pe) * 512);
}

TEST(GemmPlan, SplitsKWhenThereIsLittleElseToShare) {
  const auto topology = machine("ahbm-1sip");
  GemmProblem problem;
  problem.shape = {1, 64, 64, 1 << 16};
  problem.order = KOrder::any;
  EXPECT_GT(plan_gemm(problem, all_pes(topology), {}, topology).split_k, 1);
  // The sums of parts of a large result would travel further than the operands.
  problem.shape = {1, 2048, 2048, 2048};
  const auto a = parts({}, 2048, 2048, topology), b = parts({}, 2048, 2048, topology);
  EXPECT_EQ(plan_gemm(problem, all_pes(topology), {a, b, {}}, topology).split_k, 1);
}

/// Takes what it is told for each plan, and remembers the plans. Those of programs that load together, or with a part
/// for the vector engine, all take `later`.
struct ToldTimes {
  std::vector<GemmPlan> plans;
  std::vector<double> times;
  double later = std::numeric_limits<double>::infinity();
  double cost = 0.01;           // of each measurement: not cheap
  double cost_together = cost;  // of programs that load together
  std::size_t measured = 0, together = 0;
  PlanTimer timer() {
    return [this](std::span<const GemmPlan> all, double) {
      PlanTimes told;
      for (const GemmPlan& plan : all) {
        told.ns.push_back(time_of(plan));
        told.costs.push_back(plan.loads_together() ? cost_together : cost);
      }
      return told;
    };
  }

 private:
  double time_of(const GemmPlan& plan) {
    ++measured;
    if (plan.loads_together()) ++together;
    if (plan.loads_together() || plan.vector_share > 0) return later;
    plans.push_back(plan);
    return plans.size() > times.size() ? 1000 : times[plans.size() - 1];
  }
};

bool same(const GemmPlan& one, const GemmPlan& other) {
  return choices(one) == choices(other);
}

TEST(GemmPlan, IsTheOneThatAMeasurementFindsShortest) {
  NOT_UNDER_SANITIZERS("seven searches on a shipped machine");
  const auto topology = machine("ahbm-1sip");
  GemmProblem problem;
  problem.shape = {1, 512, 512, 512};
  const auto parts_a = parts({}, 512, 512, topology);
  const GemmOperands operands{parts_a, parts_a, parts_a};
  const auto plan_by = [&](ToldTimes& told) {
    return plan_gemm(problem, all_pes(topology), operands, topology, told.timer());
  };
  ToldTimes equal;
  const GemmPlan replayed = plan_gemm(problem, all_pes(topology), operands, topology);
  EXPECT_TRUE(same(plan_by(equal), replayed));
  ASSERT_GE(equal.plans.size(), 3U);
  EXPECT_LE(equal.plans.size(), 8U);
  EXPECT_TRUE(same(equal.plans[0], replayed)) << "the one of the best replay is measured, too";
  for (std::size_t i = 0; i < equal.plans.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(same(equal.plans[i], equal.plans[j]));

  ToldTimes third{{}, {1000, 1000, 980}};
  EXPECT_TRUE(same(plan_by(third), equal.plans[2]));
  ToldTimes hardly{{}, {1000, 1000, 995}};
  EXPECT_TRUE(same(plan_by(hardly), equal.plans[2]));
  const double never = std::numeric_limits<double>::infinity();
  ToldTimes broken{{}, {never, 1000, never}};
  EXPECT_TRUE(same(plan_by(broken), equal.plans[1]));
  ToldTimes none{{}, std::vector<double>(8, never)};
  EXPECT_TRUE(same(plan_by(none), replayed));
}

TEST(GemmPlan, WhatLiesBesideTheShortestIsMeasuredOnceWhereThatIsCheap) {
  NOT_UNDER_SANITIZERS("searches on a shipped machine");
  const auto topology = machine("ahbm-1sip");
  GemmProblem problem;
  problem.shape = {1, 512, 512, 512};
  const auto all = parts({}, 512, 512, topology);
  const auto asked_at = [&](double cost) {
    ToldTimes told;
    told.cost = cost;
    plan_gemm(problem, all_pes(topology), {all, all, all}, topology, told.timer());
    return told.plans;
  };
  const std::vector<GemmPlan> few = asked_at(1.01 * kCheapMeasurement), many = asked_at(0.99 * kCheapMeasurement);
  EXPECT_GT(many.size(), 4 * few.size());
  for (std::size_t i = 0; i < many.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(same(many[i], many[j])) << i << " " << j;
  const auto in_smaller_folds = [](const GemmPlan& plan) { return plan.fold.rows < 64 || plan.fold.columns < 64; };
  EXPECT_TRUE(std::ranges::any_of(many, in_smaller_folds));
  EXPECT_FALSE(std::ranges::any_of(few, in_smaller_folds));
}

TEST(GemmPlan, LoadsTogetherWhereAMeasurementSaysThatItIsShorter) {
  NOT_UNDER_SANITIZERS("searches on a shipped machine");
  const auto topology = machine("ahbm-1sip");
  GemmProblem problem;
  problem.shape = {1, 512, 512, 512};
  const auto parts_a = parts({}, 512, 512, topology);
  const GemmOperands operands{parts_a, parts_a, parts_a};
  ToldTimes shorter{{}, {1000}, 990}, longer{{}, {1000}, 1001};
  EXPECT_TRUE(plan_gemm(problem, all_pes(topology), operands, topology, shorter.timer()).loads_together());
  EXPECT_EQ(shorter.plans.size(), 1U) << "the others are measured together only, which costs a fraction";
  EXPECT_FALSE(plan_gemm(problem, all_pes(topology), operands, topology, longer.timer()).loads_together());
  EXPECT_GT(longer.plans.size(), 2U);
  // Few programs load alone, whatever a measurement says.
  const auto small = machine("tiny");
  const auto parts_small = parts({}, 512, 512, small);
  ToldTimes few{{}, {1000}, 100};
  const GemmOperands of_two{parts_small, parts_small, parts_small};
  EXPECT_FALSE(plan_gemm(problem, all_pes(small), of_two, small, few.timer()).loads_together());
}

TEST(GemmPlan, DoesAllOfKInOneStepWhereTheArraysFillWeighsMore) {
  const auto topology = topology::load_topology("ahbm-1sip", {"sip.cubes.mesh=[2, 2]", "pe.dma.setup=15ns",
                                                              "pe.gemm.array=[128, 64]", "pe.gemm.model=scale_sim_os"});
  GemmProblem problem;
  problem.shape = {1, 512, 512, 128};
  problem.order = KOrder::any;
  problem.dtype = DType::f32;
  const auto a = parts({}, 512, 128, topology), out = parts({}, 512, 512, topology);
  const auto b = parts({.cube = Placement::replicate, .pe = Placement::column_wise}, 128, 512, topology);
  EXPECT_EQ(plan_gemm(problem, all_pes(topology), {a, b, out}, topology).first_k, 128);
}

// A measurement ends where a plan before it is shorter, and which have ended by then is a matter of the host's threads.
TEST(GemmPlan, IsTheSameWhicheverOfTheLongerPlansWereMeasuredToTheirEnd) {
  NOT_UNDER_SANITIZERS("searches on a shipped machine");
  const auto topology = machine("ahbm-1sip");
  GemmProblem problem;
  problem.shape = {1, 512, 512, 512};
  problem.order = KOrder::any;
  problem.dtype = DType::f32;  // on which the vector engine can take a part
  const auto all = parts({}, 512, 512, topology);
  std::vector<std::vector<GemmPlan>> asked;  // of each of the two
  for (const std::size_t ended : {1, 2}) {
    std::vector<double> times(16, 1200);
    times[0] = 1000, times[ended] = 1100, times[3 - ended] = std::numeric_limits<double>::infinity();
    std::vector<GemmPlan>& all_asked = asked.emplace_back();
    ToldTimes told{{}, times};
    const PlanTimer timer = [&](std::span<const GemmPlan> plans, double limit) {
      all_asked.insert(all_asked.end(), plans.begin(), plans.end());
      return told.timer()(plans, limit);
    };
    plan_gemm(problem, all_pes(topology), {all, all, all}, topology, timer);
    EXPECT_LE(told.plans.size(), times.size());
    EXPECT_GT(told.measured, told.plans.size() + told.together) << "plans with a part for the vector engine";
    EXPECT_GT(told.together, 0U);
  }
  ASSERT_EQ(asked[0].size(), asked[1].size());
  for (std::size_t i = 0; i < asked[0].size(); ++i) EXPECT_TRUE(same(asked[0][i], asked[1][i])) << i;
}

TEST(GemmPlan, IsTheSameWhetherOrNotOneThatLoadsTogetherAndIsLongerWasMeasuredToItsEnd) {
  NOT_UNDER_SANITIZERS("searches on a shipped machine");
  const auto topology = machine("ahbm-1sip");
  GemmProblem problem;
  problem.shape = {1, 512, 512, 512};
  const auto all = parts({}, 512, 512, topology);
  std::vector<std::vector<GemmPlan>> asked;  // of each of the two
  for (const double mates : {1050.0, std::numeric_limits<double>::infinity()}) {
    std::vector<GemmPlan>& all_asked = asked.emplace_back();
    const PlanTimer timer = [&](std::span<const GemmPlan> plans, double) {
      PlanTimes told{std::vector<double>(plans.size(), 1200)};
      if (all_asked.empty()) told.ns = {1000, mates};
      all_asked.insert(all_asked.end(), plans.begin(), plans.end());
      return told;
    };
    plan_gemm(problem, all_pes(topology), {all, all, all}, topology, timer);
    EXPECT_TRUE(all_asked.at(1).loads_together());
  }
  ASSERT_EQ(asked[0].size(), asked[1].size());
  for (std::size_t i = 0; i < asked[0].size(); ++i) EXPECT_TRUE(same(asked[0][i], asked[1][i])) << i;
}

TEST(GemmPlan, OfAProductWhoseMeasurementsCostMuchIsMeasuredAloneAndTogetherOnly) {
  NOT_UNDER_SANITIZERS("long");
  const auto topology = machine("ahbm-1sip");
  GemmProblem problem;
  problem.shape = {1, 4096, 4096, 4096};
  const auto parts_a = parts({}, 4096, 4096, topology);
  const GemmOperands operands{parts_a, parts_a, parts_a};
  for (const double later : {990.0, 1010.0}) {
    ToldTimes told{{}, {1000}, later, 0.5};
    const GemmPlan plan = plan_gemm(problem, all_pes(topology), operands, topology, told.timer());
    EXPECT_EQ(told.measured, 2U);
    EXPECT_EQ(told.plans.size(), 1U);
    EXPECT_EQ(plan.loads_together(), later < 1000);
  }
  ToldTimes dear{{}, {1000}, 900, 0.1}, cheap{{}, {1000}, 900, 0.05}, free{{}, {1000}, 900};
  for (ToldTimes* const told : {&dear, &cheap, &free})
    plan_gemm(problem, all_pes(topology), operands, topology, told->timer());
  EXPECT_EQ(dear.plans.size(), 1U);
  EXPECT_EQ(dear.together, 3U);
  ToldTimes cheaper{{}, {1000}, 900, 0.1, 0.03}, longer{{}, {1000}, 1010, 0.1, 0.03};
  for (ToldTimes* const told : {&cheaper, &longer})
    plan_gemm(problem, all_pes(topology), operands, topology, told->timer());
  EXPECT_GT(cheaper.together, 3U) << "those that load together cost less, and are the shorter ones";
  EXPECT_EQ(longer.together, dear.together);
  EXPECT_GT(cheap.measured, 6U);
  EXPECT_EQ(cheap.measured, free.measured);
}

// Replays know nothing of loads by multicast. With a W cut by rows over all PEs, 256 rows and 128 columns were chosen,
// so that few rows of W were under way, whose slices all programs asked: gpt3_qkv took 702 us where 526 are possible.
TEST(GemmPlan, FarFromWhatTheArraysNeedIsAlsoMeasuredInWideStepsOfOtherWaysToShare) {
  NOT_UNDER_SANITIZERS("searches on a shipped machine");
  topology::Topology topology = machine("ahbm-1sip");
  topology.sip.cubes = {2, 2};
  GemmProblem problem;
  problem.shape = {1, 512, 9216, 3072};
  const auto a = parts({}, 512, 3072, topology), b = parts({}, 3072, 9216, topology),
             c = parts({}, 512, 9216, topology);
  constexpr double kArraysNs = 512.0 * 9216 * 3072 / 32 / (64 * 64 * 0.95);
  std::vector<std::size_t> measured;
  for (const double far : {1.05, 2.0}) {
    std::vector<GemmPlan> together;
    const PlanTimer timer = [&](std::span<const GemmPlan> plans, double) {
      PlanTimes told;
      for (const GemmPlan& plan : plans) {
        if (plan.loads_together()) together.push_back(plan);
        const double rows = static_cast<double>(plan.depth * plan.tile_k);
        told.ns.push_back(plan.loads_together() ? far * kArraysNs * (1 - rows * 1e-4) : 10 * kArraysNs);
        told.costs.push_back(0.07);  // dear
      }
      return told;
    };
    const GemmPlan plan = plan_gemm(problem, all_pes(topology), {a, b, c}, topology, timer);
    measured.push_back(together.size());
    if (far < 1.1) continue;
    std::vector<std::pair<GemmPlan::Grid, GemmPlan::Grid>> grids;
    for (const GemmPlan& one : std::span(together).subspan(measured.front())) {
      EXPECT_EQ(one.depth, 5);
      const std::int64_t budget = topology.pe.tcm.capacity.count() / topology.pe.contexts;
      const std::int64_t longer = one.depth * 2 * 64 * (one.tile_m + one.tile_n);
      EXPECT_LE(one.tcm_bytes, budget);
      EXPECT_GT(one.tcm_bytes + longer, budget) << "steps are as long as fit";
      EXPECT_EQ(std::ranges::count(grids, std::pair(one.cubes, one.pes)), 0);
      grids.emplace_back(one.cubes, one.pes);
    }
    EXPECT_TRUE(plan.loads_together());
  }
  EXPECT_EQ(measured[0], 3U) << "near what the arrays need";
  EXPECT_EQ(measured[1], measured[0] + 3);
}

// Replays leave out what holds loads up on their way from other cubes: [128, 8192] times [8192, 28672] was computed in
// two parts of k in 140 us where eight parts take 95.
TEST(GemmPlan, FarFromWhatTheArraysNeedIsAlsoMeasuredInOtherNumbersOfPartsOfK) {
  NOT_UNDER_SANITIZERS("searches on a shipped machine");
  topology::Topology topology = machine("ahbm-1sip");
  topology.sip.cubes = {2, 2};
  GemmProblem problem;
  problem.shape = {1, 128, 7168, 4096};
  problem.order = KOrder::any;
  const auto a = parts({}, 128, 4096, topology), b = parts({}, 4096, 7168, topology),
             c = parts({}, 128, 7168, topology);
  constexpr double kArraysNs = 128.0 * 7168 * 4096 / 32 / (64 * 64 * 0.95);
  for (const double far : {1.05, 2.0}) {
    std::vector<std::int64_t> splits;  // of the plans that are measured
    const PlanTimer timer = [&](std::span<const GemmPlan> plans, double) {
      PlanTimes told;
      for (const GemmPlan& plan : plans) {
        splits.push_back(plan.split_k);
        const double parts_ns = splits.front() == plan.split_k ? far * kArraysNs : 0.9 * far * kArraysNs;
        told.ns.push_back(plan.loads_together() ? 10 * kArraysNs : parts_ns);
        told.costs.push_back(0.07);  // dear
      }
      return told;
    };
    const GemmPlan plan = plan_gemm(problem, all_pes(topology), {a, b, c}, topology, timer);
    const auto others = std::ranges::count_if(splits, [&](std::int64_t split) { return split != splits.front(); });
    EXPECT_GE(others, far < 1.1 ? 0 : 1);
    EXPECT_LE(others, far < 1.1 ? 0 : 2);
    EXPECT_EQ(plan.split_k == splits.front(), far < 1.1);
    std::ranges::sort(splits);
    const auto unique = std::ranges::unique(splits);
    EXPECT_EQ(std::distance(splits.begin(), unique.begin()), 1 + others) << "of each number of parts one";
  }
}

TEST(GemmPlan, IsNotMeasuredWhereNobodyKnowsWhoHoldsWhat) {
  const auto topology = machine("ahbm-1sip");
  GemmProblem problem;
  problem.shape = {1, 512, 512, 512};
  ToldTimes told;
  plan_gemm(problem, all_pes(topology), {}, topology, told.timer());
  EXPECT_TRUE(told.plans.empty());
}

TEST(GemmPlan, SaysWhichTileDoesNotFit) {
  const auto topology = machine("tiny");
  GemmProblem problem;
  problem.shape = {1, 4096, 4096, 4096};
  problem.tile_m = problem.tile_n = problem.tile_k = 2048;
  try {
    plan_gemm(problem, all_pes(topology), {}, topology);
    FAIL() << "no error";
  } catch (const OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("2048 x 2048 x 2048"), std::string::npos) << error.what();
  }
  problem.tile_m = problem.tile_n = problem.tile_k = 0;
  problem.split_k = 7;
  EXPECT_THROW(plan_gemm(problem, all_pes(topology), {}, topology), ValueError);
}

}  // namespace
}  // namespace kernbench::tile::library
