// Plans that are measured before one is chosen: what a measurement says is what the product then takes, and nothing of
// it is seen in the simulation that asked.
#include "runtime/functions/gemm_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/kernbench.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/functions/device_kernels.h"
#include "runtime/functions/trial_meter.h"
#include "sim/errors.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "tile/library/gemm_groups.h"

namespace kernbench::runtime {
namespace {

using tile::library::GemmPlan;
using torch::Tensor;
using PlanRef = std::shared_ptr<const GemmPlan>;

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Matrices {
  std::int64_t m, n, k;
  bool weights = false;  // b comes as [n, k]
  DPPolicy a = {}, b = {};
};

struct TrialOperands {
  Tensor a, b, out;
};

TrialOperands operands(const Matrices& sizes, int device = 0) {
  const auto where = torch::dtype(torch::kHalf).device(torch::Device(torch::kAHBM, device));
  TrialOperands made;
  made.a = torch::empty({sizes.m, sizes.k}, where.placement(sizes.a));
  made.b = sizes.weights ? torch::empty({sizes.n, sizes.k}, where.placement(sizes.b)).t()
                         : torch::empty({sizes.k, sizes.n}, where.placement(sizes.b));
  made.out = torch::empty({sizes.m, sizes.n}, where);
  return made;
}

SimulatedOperations& operations() {
  return static_cast<SimulatedOperations&>(current_context("test").simulation.devices().operations());
}

std::int64_t now() {
  return current_context("test").simulation.scheduler().now().count();
}

/// What a product takes here, from the call to its completion, in nanoseconds.
double taken(const TrialOperands& product, const PlanRef& plan) {
  const std::int64_t begin = now();
  MatmulPlanOptions options;
  options.exact_order = false;
  options.plan = plan;
  operations().matmul(product.a, product.b, {}, options, product.out);
  torch::ahbm::synchronize();
  return static_cast<double>(now() - begin) * 1e-3;
}

PlanRef plan_of(const TrialOperands& product, const MatmulPlanOptions& options = {.exact_order = false}) {
  return operations().plan_matmul(product.a, product.b, options, product.out);
}

/// Of `plan` on the private machine.
tile::library::PlanTimes trials(const TrialOperands& product, const GemmPlan& plan, double limit = kNever) {
  const TrialProduct as_asked{product.a, product.b, product.out};
  const auto timer = trial_timer(as_asked, current_context("test").simulation.topology());
  return timer({&plan, 1}, limit);
}

double trial(const TrialOperands& product, const GemmPlan& plan) {
  return trials(product, plan).ns.at(0);
}

SimulateOptions machine(const std::string& topology, bool data = false) {
  SimulateOptions options;
  options.topology = topology;
  options.data = data;
  return options;
}

TEST(GemmTrial, TakesWhatTheProductTakesToThePicosecond) {
  const DPPolicy columns{.cube = Placement::replicate, .pe = Placement::column_wise};
  const std::vector<Matrices> products{
      {64, 48, 32}, {1, 2048, 1024, true}, {130, 70, 257}, {256, 256, 256, false, {}, columns}};
  for (const std::string topology : {"tiny", "ahbm-1sip", "ahbm-2sip"}) {
    if (kSanitized && topology != "tiny") continue;
    for (const Matrices& sizes : products) {
      // A SIP of ahbm-2sip is that of ahbm-1sip: one product says that its other SIP is no matter.
      if (topology == "ahbm-2sip" && sizes.m != 64) continue;
      if (topology == "ahbm-1sip" && sizes.m > 64 && !takes_all_cases()) continue;
      simulate(machine(topology), [&] {
        const TrialOperands product = operands(sizes);
        const PlanRef plan = plan_of(product, {.exact_order = false, .measured = false});  // any will do
        const auto [times, costs] = trials(product, *plan);
        const double took = taken(product, plan);
        if (costs.at(0) > tile::library::kCheapMeasurement)
          EXPECT_EQ(times.at(0), took) << topology << " " << sizes.m;
        else
          EXPECT_GE(times.at(0), took) << topology << " " << sizes.m;
      });
    }
  }
}

// What is short by chance is not so on a machine that is a little better, and the longest time counts.
TEST(GemmTrial, OfACheapOneIsTheLongestTimeOnThisMachineAndOnSlightlyBetterOnes) {
  NOT_UNDER_SANITIZERS("times only");
  SimulateOptions options = machine("ahbm-1sip");
  options.overrides = {"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[2, 2]", "cube.hbm.bandwidth=600GB/s"};
  SimulateOptions memory = options, links = options;
  memory.overrides.insert(memory.overrides.end(), {"cube.hbm.latency=67.5ns", "pe.control.issue=3ns"});
  links.overrides.insert(links.overrides.end(), {"cube.noc.link.latency=1.5ns", "pe.mmu.miss=90ns"});
  int longer = 0;
  for (const std::int64_t tile_k : {32, 48, 64, 96, 128}) {
    PlanRef plan;
    double tried = 0, here = 0, better = 0;
    simulate(options, [&] {
      ASSERT_EQ(current_context("test").simulation.topology().cube.hbm.latency, Time::nanoseconds(90));
      const TrialOperands product = operands({512, 512, 512});
      MatmulPlanOptions how{.exact_order = false};
      how.tile_k = tile_k;
      plan = plan_of(product, how);
      tried = trial(product, *plan), here = taken(product, plan);
    });
    for (const SimulateOptions& near : {memory, links})
      simulate(near, [&] { better = std::max(better, taken(operands({512, 512, 512}), plan)); });
    EXPECT_EQ(tried, std::max(here, better)) << tile_k;
    longer += better > here ? 1 : 0;
  }
  EXPECT_GT(longer, 0);
}

// A plan that is kept has its blocks and its queues on a machine with a larger array and more queues.
TEST(GemmTrial, AKeptPlanTakesAsLongOnALargerArrayWithMoreQueues) {
  SimulateOptions options = machine("tiny");
  std::vector<double> times;
  PlanRef plan;
  for (const auto& more : std::vector<std::vector<std::string>>{
           {"pe.gemm.array=[32, 32]", "pe.dma.queues=1"},
           {"pe.gemm.array=[32, 64]", "pe.dma.queues=1"},
           {"pe.gemm.array=[64, 32]", "pe.dma.queues=1"},
           {"pe.gemm.array=[32, 32]", "pe.dma.queues=4"},
       }) {
    options.overrides = more;
    options.overrides.emplace_back("pe.dma.outstanding=1");
    simulate(options, [&] {
      const TrialOperands product = operands({256, 256, 256});
      MatmulPlanOptions how{.exact_order = false};
      how.tile_m = how.tile_n = 64;
      if (!plan) plan = plan_of(product, how);
      times.push_back(taken(product, plan));
    });
  }
  ASSERT_EQ(plan->dma_queues, 1);
  EXPECT_GT(plan->tile_n, plan->fold.columns);
  EXPECT_GT(plan->tile_m, plan->fold.rows);
  EXPECT_EQ(times, std::vector<double>(4, times.front()));
}

TEST(GemmTrial, LoadsTakeFourQueuesAtMost) {
  SimulateOptions options = machine("tiny");
  options.overrides = {"pe.dma.queues=8"};
  simulate(options, [] { EXPECT_EQ(plan_of(operands({64, 64, 64}))->dma_queues, 4); });
}

/// What a trial says that ends early, and what the product takes.
struct Estimate {
  double estimated = 0, took = 0;
};
Estimate estimate_of(const Matrices& sizes, bool together) {
  Estimate estimate;
  SimulateOptions options = machine("ahbm-1sip");
  options.overrides = {"sip.cubes.mesh=[2, 2]"};
  simulate(options, [&] {
    const TrialOperands product = operands(sizes);
    auto plan = std::make_shared<GemmPlan>(*plan_of(product, {.exact_order = true, .measured = false}));
    ASSERT_EQ(together, together && tile::library::load_together(*plan));
    estimate = {trial(product, *plan), taken(product, plan)};
    EXPECT_NE(estimate.estimated, estimate.took) << "was simulated to its end";
  });
  return estimate;
}

TEST(GemmTrial, EstimatesALongProductFromItsFirstSteps) {
  NOT_UNDER_SANITIZERS("long");
  // Bound by the arrays, each step takes as long as the one before.
  const Estimate steady = estimate_of({4096, 4096, 4096}, true);
  EXPECT_NEAR(steady.estimated, steady.took, 0.08 * steady.took);
  // Short steps of each program's own are bound by the links at first.
  const Estimate short_steps = estimate_of({4096, 4096, 4096}, false);
  EXPECT_NEAR(short_steps.estimated, short_steps.took, 0.2 * short_steps.took);
  if (!takes_all_cases()) return;
  // Bound by memory, the programs ask the same slices at first and spread out: too long, but in the right order.
  const Estimate alone = estimate_of({512, 8192, 8192}, false), together = estimate_of({512, 8192, 8192}, true);
  EXPECT_LT(together.took, alone.took);
  EXPECT_LT(together.estimated, alone.estimated);
  for (const Estimate& each : {alone, together}) EXPECT_NEAR(each.estimated, each.took, 0.4 * each.took);
}

TEST(GemmTrial, GivesUpEarlyWhereThereIsNoHope) {
  simulate(machine("tiny"), [] {
    const TrialOperands product = operands({256, 256, 512});
    const PlanRef plan = plan_of(product, {.exact_order = true});
    const auto whole = trials(product, *plan);
    const auto within = trials(product, *plan, 1.01 * whole.ns.at(0));
    EXPECT_EQ(within.ns, whole.ns);
    EXPECT_EQ(within.costs, whole.costs);
    // By the limit alone it would end at four fifths of its time.
    const auto hopeless = trials(product, *plan, 0.8 * whole.ns.at(0));
    EXPECT_EQ(hopeless.ns.at(0), kNever);
    EXPECT_LT(hopeless.costs.at(0), 0.65 * whole.costs.at(0));
  });
}

TEST(GemmTrial, TheRestIsEstimatedAtThePaceOfTheLaterRoundsButForThoseAskedForAtTheBegin) {
  const auto at = [](std::int64_t ns) { return Time::picoseconds(1000 * ns); };
  // Two rounds whose loads were there at the begin, then one each 20 ns; 5 of 10 multiplications are left.
  const std::vector<TrialRound> rounds{{at(10), 1}, {at(20), 2}, {at(40), 3}, {at(60), 4}, {at(80), 5}};
  EXPECT_DOUBLE_EQ(rest_ns(rounds, 2, 10), 100);
  // Of many rounds the later half: 30 ns for 2 multiplications, and 4 of 16 are left.
  const std::vector<TrialRound> slower{{at(10), 2}, {at(20), 4}, {at(30), 6}, {at(60), 8}, {at(90), 10}, {at(120), 12}};
  EXPECT_DOUBLE_EQ(rest_ns(slower, 1, 16), 60);
}

/// When a product is done on a machine that differs from the shipped one as `overrides` say.
std::int64_t end_of_product(std::vector<std::string> overrides) {
  SimulateOptions options = machine("ahbm-1sip");
  options.overrides = std::move(overrides);
  options.models.add_dma("same", [](const DmaFigures& figures, const ModelParameters&) {
    struct Same final : DmaModel {
      explicit Same(Time own_setup) : own_setup_(own_setup) {}
      Time setup(const DmaDescriptor&) override { return own_setup_; }
      Time own_setup_;
    };
    return std::make_unique<Same>(figures.setup);
  });
  std::int64_t end = 0;
  simulate(options, [&] {
    const TrialOperands product = operands({300, 200, 100});
    end = static_cast<std::int64_t>(taken(product, plan_of(product)) * 1e3);
  });
  return end;
}

TEST(GemmTrial, AModelOfOnesOwnChangesNoPlan) {
  NOT_UNDER_SANITIZERS("times only");
  EXPECT_EQ(end_of_product({"sip.cubes.mesh=[2,2]", "pe.dma.model=same"}), end_of_product({"sip.cubes.mesh=[2,2]"}));
}

TEST(GemmTrial, EndsAtTheLimit) {
  simulate(machine("tiny"), [] {
    const TrialOperands product = operands({64, 48, 32});
    const TrialProduct as_asked{product.a, product.b, product.out};
    const PlanRef plan = plan_of(product);
    const auto timer = trial_timer(as_asked, current_context("test").simulation.topology());
    const double took = trial(product, *plan);
    EXPECT_EQ(timer({plan.get(), 1}, took).ns.at(0), took);
    EXPECT_TRUE(std::isinf(timer({plan.get(), 1}, took - 0.001).ns.at(0)));
    EXPECT_GT(timer({plan.get(), 1}, kNever).costs[0], 0);
    EXPECT_LT(timer({plan.get(), 1}, kNever).costs[0], 0.01);
  });
}

TEST(GemmTrial, TimesNothingMoreOnceTheRunWasAskedToStop) {
  simulate(machine("tiny"), [] {
    const TrialOperands product = operands({64, 48, 32});
    const TrialProduct as_asked{product.a, product.b, product.out};
    const PlanRef plan = plan_of(product);
    const std::vector<GemmPlan> plans(3, *plan);
    std::atomic<bool> stop = false;
    const auto timer = trial_timer(as_asked, current_context("test").simulation.topology(), &stop);
    EXPECT_EQ(timer(plans, kNever).ns.front(), taken(product, plan));
    stop = true;
    for (const double time : timer(plans, kNever).ns) EXPECT_TRUE(std::isinf(time));
  });
}

/// Processor time until a run ends that is asked to stop before or after a product is planned.
double seconds_until_stopped(bool before) {
  std::atomic<bool> stop = false;
  SimulateOptions options = machine("ahbm-1sip");
  options.overrides = {"sip.cubes.mesh=[1, 1]"};
  options.stop_requested = &stop;
  double seconds = 0;
  EXPECT_THROW(simulate(options,
                        [&] {
                          const TrialOperands product = operands({512, 512, 512});
                          stop = before;
                          const std::clock_t begin = std::clock();
                          plan_of(product);
                          seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
                          stop = true;
                          torch::ahbm::synchronize();
                          (void)torch::zeros({64}, torch::dtype(torch::kHalf).device("ahbm"))[0].item<float>();
                        }),
               sim::InterruptedError);
  return seconds;
}

TEST(GemmTrial, APlanUnderWayDoesNotHoldUpARunThatIsToStop) {
  NOT_UNDER_SANITIZERS("long");
  EXPECT_LT(2 * seconds_until_stopped(true), seconds_until_stopped(false));
}

TEST(GemmTrial, OfSeveralPlansEachTakesWhatItTakesAloneUnlessOneBeforeItIsShorter) {
  simulate(machine("tiny"), [] {
    const TrialOperands product = operands({128, 256, 512});
    std::vector<GemmPlan> plans;
    for (const std::int64_t length : {64, 8, 512, 128, 16, 256})
      plans.push_back(*plan_of(product, {.exact_order = false, .tile_k = length, .measured = false}));
    const TrialProduct as_asked{product.a, product.b, product.out};
    const auto timer = trial_timer(as_asked, current_context("test").simulation.topology());
    const std::vector<double> together = timer(plans, kNever).ns;
    ASSERT_EQ(together.size(), plans.size());
    std::vector<double> alone;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      alone.push_back(trial(product, plans[i]));
      const double least = *std::ranges::min_element(alone);
      if (std::isfinite(together[i])) {
        EXPECT_EQ(together[i], alone[i]) << plans[i].tile_k;
      } else {
        EXPECT_GT(alone[i], least) << plans[i].tile_k;
      }
    }
    EXPECT_EQ(*std::ranges::min_element(together), *std::ranges::min_element(alone));
  });
}

TEST(GemmTrial, IsNotSeenInTheSimulationThatAsks) {
  SimulateOptions options = machine(kSanitized ? "tiny" : "ahbm-2sip");
  options.overrides = {"sip.cubes.mesh=[2, 1]"};
  simulate(options, [] {
    const TrialOperands product = operands({64, 256, 256}, kSanitized ? 0 : 1);
    const std::int64_t begin = now();
    const PlanRef plan = plan_of(product);
    EXPECT_EQ(now(), begin);
    EXPECT_LT(trial(product, *plan), 1e6);
    EXPECT_EQ(now(), begin);
    EXPECT_EQ(torch::ahbm::current_device(), 0);
  });
}

TEST(GemmTrial, ThePlanIsTheSameWithAndWithoutValuesAndOnEverySip) {
  NOT_UNDER_SANITIZERS("long");
  std::vector<std::string> chosen;
  for (const bool data : {false, true}) {
    for (const int device : {0, 1}) {
      if (data && device == 0) continue;  // differs from one of the others in both
      SimulateOptions options = machine("ahbm-2sip", data);
      options.overrides = {"sip.cubes.mesh=[2, 1]"};
      simulate(options, [&] {
        std::string text;
        for (const auto& [name, value] : tile::library::choices(*plan_of(operands({64, 512, 256}, device))))
          text += name + "=" + value + " ";
        chosen.push_back(text);
      });
    }
  }
  for (const std::string& text : chosen) EXPECT_EQ(text, chosen.front());
}

TEST(GemmTrial, NoProductIsSlowerThanByThePlanOfTheReplay) {
  NOT_UNDER_SANITIZERS("long");
  int faster = 0;
  SimulateOptions options = machine("ahbm-1sip");
  std::vector<Matrices> products{{1, 4096, 4096}, {8, 2048, 4096}, {64, 1024, 1024, true}, {300, 100, 700}};
  if (!takes_all_cases()) {
    options.overrides = {"sip.cubes.mesh=[1, 1]"};
    products = {{1, 1024, 1024}, {300, 100, 700}};
  }
  for (const Matrices& sizes : products) {
    double times[2] = {};
    for (const bool measured : {false, true}) {
      simulate(options, [&] {
        const TrialOperands product = operands(sizes);
        times[measured ? 1 : 0] = taken(product, plan_of(product, {.exact_order = false, .measured = measured}));
      });
    }
    EXPECT_LE(times[1], times[0]) << sizes.m << " x " << sizes.n << " x " << sizes.k;
    faster += times[1] < 0.99 * times[0] ? 1 : 0;
  }
  EXPECT_GE(faster, takes_all_cases() ? 2 : 1);
}

}  // namespace
}  // namespace kernbench::runtime
