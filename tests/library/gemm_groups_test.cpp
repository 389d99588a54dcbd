// Products whose programs load tiles together: who loads with whom, the same values, and less time.
#include "tile/library/gemm_groups.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/kernbench.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/functions/device_kernels.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::runtime {
namespace {

using tile::library::GemmPlan;
using tile::library::GemmRange;
using tile::library::load_together;
using torch::Tensor;

SimulatedOperations& device_operations() {
  return static_cast<SimulatedOperations&>(current_context("test").simulation.devices().operations());
}

GemmRange range(std::int64_t m, std::int64_t m_end, std::int64_t n, std::int64_t n_end, std::int64_t k_start = 0) {
  GemmRange range;
  range.batch[1] = 1;
  range.m[0] = m, range.m[1] = m_end, range.n[0] = n, range.n[1] = n_end, range.k[1] = 64;
  range.k_start = k_start;
  return range;
}

std::vector<std::int64_t> mates(const std::vector<std::shared_ptr<const tl::MulticastGroup>>& of, std::size_t program) {
  return of.at(program) == nullptr ? std::vector<std::int64_t>() : of[program]->programs;
}

TEST(GemmGroups, ProgramsOfARowShareAAndThoseOfAColumnShareB) {
  GemmPlan plan;
  plan.tile_m = plan.tile_n = 16;
  plan.ranges = {range(0, 32, 0, 32, 8), range(0, 32, 32, 64, 24), range(32, 64, 0, 32, 40), range(32, 64, 32, 64)};
  ASSERT_TRUE(load_together(plan));
  EXPECT_EQ(mates(plan.mates_a, 0), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(mates(plan.mates_a, 3), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(mates(plan.mates_b, 0), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(mates(plan.mates_b, 3), (std::vector<std::int64_t>{1, 3}));
  EXPECT_NE(plan.mates_a[0]->name, plan.mates_a[2]->name);
  EXPECT_NE(plan.mates_a[0]->name, plan.mates_b[0]->name);
  for (const GemmRange& each : plan.ranges) EXPECT_EQ(each.k_start, 0) << "they walk k from one place";
}

TEST(GemmGroups, WhoLoadsATileMoreOftenLoadsAlone) {
  GemmPlan plan;
  plan.tile_m = plan.tile_n = 16;
  // The last column is short: one tile of n in place of two, so A comes half as often.
  plan.ranges = {range(0, 32, 0, 32), range(0, 32, 32, 64), range(0, 32, 64, 80), GemmRange()};
  ASSERT_TRUE(load_together(plan));
  EXPECT_EQ(mates(plan.mates_a, 0), (std::vector<std::int64_t>{0, 1}));
  EXPECT_TRUE(mates(plan.mates_a, 2).empty());
  EXPECT_TRUE(mates(plan.mates_a, 3).empty());
  EXPECT_TRUE(plan.mates_b.empty());
}

TEST(GemmGroups, WhereNobodyReadsTheSameNothingChanges) {
  GemmPlan plan;
  plan.tile_m = plan.tile_n = 16;
  plan.ranges = {range(0, 32, 0, 32, 8), range(32, 64, 32, 64, 16)};
  EXPECT_FALSE(load_together(plan));
  EXPECT_EQ(plan.ranges[0].k_start, 8);
  EXPECT_FALSE(plan.loads_together());
}

/// One product by the plan that replays choose, alone and together.
void expect_same_values(const std::string& topology, std::int64_t m, std::int64_t n, std::int64_t k) {
  SimulateOptions options;
  options.topology = topology;
  simulate(options, [&] {
    const auto where = torch::dtype(torch::kHalf).device("ahbm");
    torch::manual_seed(static_cast<std::uint64_t>(m * n * k));
    const Tensor a = torch::randn({m, k}, where), b = torch::randn({k, n}, where);
    const Tensor alone = torch::empty({m, n}, where), together = torch::empty({m, n}, where);
    MatmulPlanOptions how;
    how.measured = false;
    how.plan = device_operations().plan_matmul(a, b, how, alone);
    device_operations().matmul(a, b, {}, how, alone);
    auto shared = std::make_shared<GemmPlan>(*how.plan);
    ASSERT_TRUE(load_together(*shared)) << m << " x " << n << " x " << k;
    how.plan = shared;
    device_operations().matmul(a, b, {}, how, together);
    EXPECT_TRUE(torch::equal(alone.cpu(), together.cpu())) << topology << " " << m << " x " << n << " x " << k;
  });
}

TEST(GemmGroups, TheSameBitsInTheOrderOfK) {
  expect_same_values("tiny", 64, 48, 96);
  expect_same_values("tiny", 33, 130, 70);
  std::mt19937_64 random(14);
  for (int round = 0; round < number_of_cases(5, 1, 0); ++round) {
    expect_same_values("ahbm-1sip", 64 + static_cast<std::int64_t>(random() % 400),
                       64 + static_cast<std::int64_t>(random() % 400), 1 + static_cast<std::int64_t>(random() % 300));
  }
}

TEST(GemmGroups, DefaultProductsLoadTogetherAndTakeLessTime) {
  NOT_UNDER_SANITIZERS("long");
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  if (!takes_all_cases()) options.overrides = {"sip.cubes.mesh=[2, 2]"};
  const RunResult result = simulate(options, [&] {
    const auto where = torch::dtype(torch::kHalf).device("ahbm");
    const Tensor a = torch::empty({1024, 1024}, where), b = torch::empty({1024, 1024}, where);
    const Tensor c = torch::empty({1024, 1024}, where);
    MatmulPlanOptions how{.exact_order = false};
    auto plan = std::make_shared<GemmPlan>(*device_operations().plan_matmul(a, b, how, c));
    EXPECT_TRUE(plan->loads_together());
    how.plan = plan;
    device_operations().matmul(a, b, {}, how, c);
    plan = std::make_shared<GemmPlan>(*plan);
    plan->mates_a.clear(), plan->mates_b.clear();
    how.plan = plan;
    device_operations().matmul(a, b, {}, how, c);
    torch::ahbm::synchronize();
  });
  ASSERT_EQ(result.launches.size(), 2u);
  const LaunchResult &together = result.launches[0], &alone = result.launches[1];
  EXPECT_LT(100 * (together.end - together.start).count(), 98 * (alone.end - alone.start).count());
  EXPECT_LT(4 * together.hbm_bytes.count(), alone.hbm_bytes.count());
  if (takes_all_cases()) {
    EXPECT_LT(together.end - together.start, Time::nanoseconds(5'700)) << "tiles of half the rows or columns are tried";
  }
  ASSERT_TRUE(together.plan);
  EXPECT_EQ(together.plan->choices.back(), (std::pair<std::string, std::string>{"multicast", "A, B"}));
}

}  // namespace
}  // namespace kernbench::runtime
