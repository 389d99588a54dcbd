// Plans of products are made once: for one shape, type and placement, on whatever SIP.
#include "runtime/functions/gemm_plans.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "kernbench/kernbench.h"
#include "kernbench/plan_store.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/functions/device_kernels.h"
#include "support/sanitizers.h"
#include "tile/library/gemm_groups.h"
#include "tile/library/gemm_plan_text.h"

namespace kernbench::runtime {
namespace {

using torch::Tensor;
using PlanRef = std::shared_ptr<const tile::library::GemmPlan>;

struct Operands {
  std::int64_t m = 64, n = 48, k = 32;
  DType dtype = DType::f16;
  int device = 0;
  DPPolicy b = {};
  bool transposed = false;
  MatmulPlanOptions options = {};
};

PlanRef plan_of(const Operands& what) {
  const auto where = torch::dtype(what.dtype).device(torch::Device(torch::kAHBM, what.device));
  const Tensor a = torch::empty({what.m, what.k}, where), c = torch::empty({what.m, what.n}, where);
  const Tensor b = what.transposed ? torch::empty({what.n, what.k}, where.placement(what.b)).t()
                                   : torch::empty({what.k, what.n}, where.placement(what.b));
  auto& operations = static_cast<SimulatedOperations&>(current_context("plan_of").simulation.devices().operations());
  return operations.plan_matmul(a, b, what.options, c);
}

TEST(GemmPlans, AreMadeOnceForEachProductOnAnySip) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=2"};
  options.quick_plans = true;
  simulate(options, [] {
    const PlanRef plan = plan_of({});
    EXPECT_EQ(plan_of({}), plan);
    EXPECT_EQ(plan_of({.device = 1}), plan);
    EXPECT_NE(plan_of({.m = 65}), plan);
    EXPECT_NE(plan_of({.n = 49}), plan);
    EXPECT_NE(plan_of({.k = 33}), plan);
    EXPECT_NE(plan_of({.dtype = DType::f32}), plan);
    EXPECT_NE(plan_of({.b = {.pe = Placement::replicate}}), plan);
    EXPECT_NE(plan_of({.b = {.num_pes = 1}}), plan);
    EXPECT_NE(plan_of({.transposed = true}), plan);
    EXPECT_NE(plan_of({.options = {.tile_k = 16}}), plan);
    EXPECT_NE(plan_of({.options = {.exact_order = false}}), plan);
    EXPECT_EQ(plan_of({}), plan) << "the others have not pushed it out";
  });
}

TEST(GemmPlans, AreForgottenWhenThereAreMany) {
  NOT_UNDER_SANITIZERS("long");
  SimulateOptions options;
  options.topology = "tiny";
  options.quick_plans = true;
  simulate(options, [] {
    const std::weak_ptr<const tile::library::GemmPlan> first = plan_of({.m = 2, .n = 2, .k = 1});
    EXPECT_FALSE(first.expired());
    for (std::int64_t k = 2; k < 300; ++k) plan_of({.m = 2, .n = 2, .k = k});
    EXPECT_TRUE(first.expired());
  });
}

TEST(GemmPlans, AreEqualWhenTheyWereTextsMeanwhile) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"sip.cubes.mesh=[2, 2]"};
  simulate(options, [] {
    const MatmulPlanOptions replayed{.measured = false};
    for (const Operands& what :
         {Operands{}, Operands{.m = 1, .n = 512, .k = 512, .transposed = true, .options = replayed},
          Operands{.m = 33, .n = 65, .k = 129, .b = {.pe = Placement::replicate}, .options = replayed},
          Operands{.k = 4096, .options = {.exact_order = false, .split_k = 2, .measured = false}}}) {
      const PlanRef plan = plan_of(what);
      const std::string text = tile::library::to_text(*plan);
      const auto read = tile::library::plan_from_text(text);
      ASSERT_TRUE(read) << text;
      EXPECT_EQ(tile::library::to_text(*read), text);
      EXPECT_EQ(tile::library::choices(*read), tile::library::choices(*plan));
      EXPECT_EQ(read->ranges.size(), plan->ranges.size());
      EXPECT_EQ(read->estimated_ns, plan->estimated_ns);
    }
  });
}

TEST(GemmPlans, HaveTheGroupsThatLoadTogetherWhenTheyWereTextsMeanwhile) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"sip.cubes.mesh=[2, 2]"};
  simulate(options, [] {
    tile::library::GemmPlan plan = *plan_of({.m = 256, .n = 256, .k = 64});
    ASSERT_TRUE(tile::library::load_together(plan));
    const auto read = tile::library::plan_from_text(tile::library::to_text(plan));
    ASSERT_TRUE(read);
    for (const auto mates : {&tile::library::GemmPlan::mates_a, &tile::library::GemmPlan::mates_b}) {
      ASSERT_EQ(((*read).*mates).size(), (plan.*mates).size());
      for (std::size_t i = 0; i < (plan.*mates).size(); ++i) {
        const auto &one = (plan.*mates)[i], &other = ((*read).*mates)[i];
        ASSERT_EQ(one == nullptr, other == nullptr);
        if (one == nullptr) continue;
        EXPECT_EQ(one->name, other->name);
        EXPECT_EQ(one->programs, other->programs);
      }
    }
    EXPECT_EQ(tile::library::to_text(*read), tile::library::to_text(plan));
  });
}

TEST(GemmPlans, AreNotMadeOfDamagedTexts) {
  tile::library::GemmPlan plan;
  plan.ranges.resize(3);
  plan.edges.resize(2);
  const std::string text = tile::library::to_text(plan);
  ASSERT_TRUE(tile::library::plan_from_text(text));
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto read = tile::library::plan_from_text(text.substr(0, length));
    // Digits that are missing at the end leave a number.
    EXPECT_TRUE(!read || text.find(' ', length) == std::string::npos) << length;
  }
  EXPECT_FALSE(tile::library::plan_from_text(text + " 1"));
  EXPECT_FALSE(tile::library::plan_from_text(text + "x"));
  EXPECT_FALSE(tile::library::plan_from_text("gemm plan 99999999999999999999"));
}

/// Counts what is asked of it.
class CountingStore final : public PlanStore {
 public:
  std::optional<std::string> find(std::string_view key) override {
    const auto found = texts.find(key);
    if (found == texts.end()) return std::nullopt;
    ++hits;
    return found->second;
  }
  void keep(std::string_view key, std::string_view plan) override {
    EXPECT_TRUE(texts.emplace(key, plan).second) << "kept already";
  }
  std::map<std::string, std::string, std::less<>> texts;
  int hits = 0;
};

std::string planned_with(CountingStore* store, const Operands& what, const std::string& topology = "tiny",
                         const std::vector<std::string>& overrides = {}, bool quick = false) {
  SimulateOptions options;
  options.topology = topology;
  options.overrides = overrides;
  options.plans = store;
  options.quick_plans = quick;
  std::string text;
  simulate(options, [&] { text = tile::library::to_text(*plan_of(what)); });
  return text;
}

TEST(GemmPlans, OfAnotherRunAreTakenFromTheStore) {
  CountingStore store;
  const std::string without = planned_with(nullptr, {});
  EXPECT_EQ(planned_with(&store, {}), without);
  EXPECT_EQ(store.texts.size(), 1u);
  EXPECT_EQ(planned_with(&store, {}), without);
  EXPECT_EQ(store.hits, 1);
  // What is there is what is taken: no plan is made.
  tile::library::GemmPlan other = *tile::library::plan_from_text(without);
  other.tile_k = 7;
  store.texts.begin()->second = tile::library::to_text(other);
  EXPECT_EQ(planned_with(&store, {}), tile::library::to_text(other));
  store.texts.begin()->second = "damaged";
  store.texts.erase(store.texts.begin());
  EXPECT_EQ(planned_with(&store, {}), without);
}

TEST(GemmPlans, OfTheStoreAreOnesOfTheSameProductAndMachine) {
  CountingStore store;
  planned_with(&store, {}, "tiny", {}, true);
  auto expect_new = [&, known = std::size_t{1}](const Operands& what, const std::vector<std::string>& overrides,
                                                const std::string& topology = "tiny", bool quick = true) mutable {
    planned_with(&store, what, topology, overrides, quick);
    EXPECT_EQ(store.hits, 0);
    EXPECT_EQ(store.texts.size(), ++known);
  };
  expect_new({.m = 65}, {});
  expect_new({.dtype = DType::bf16}, {});
  expect_new({.b = {.num_pes = 1}}, {});
  expect_new({.transposed = true}, {});
  expect_new({.options = {.exact_order = false}}, {});
  expect_new({}, {}, "tiny", false);
  expect_new({}, {"cube.hbm.bandwidth=200GB/s"});
  expect_new({}, {"pe.clock=2GHz"});
  expect_new({}, {}, "ahbm-1sip");
}

TEST(GemmPlans, OfTheStoreKnowViewsAndWhatFollowsTheProduct) {
  CountingStore store;
  SimulateOptions options;
  options.topology = "tiny";
  options.quick_plans = true;
  options.plans = &store;
  const auto plan = [&](const std::function<void(const Tensor&, const Tensor&)>& product) {
    simulate(options, [&] {
      const auto where = torch::dtype(torch::kHalf).device("ahbm");
      product(torch::empty({64, 32}, where), torch::empty({32, 48}, where));
    });
    return store.texts.size();
  };
  EXPECT_EQ(plan([](const Tensor& a, const Tensor& b) { torch::matmul(a, b); }), 1u);
  EXPECT_EQ(plan([](const Tensor& a, const Tensor& b) { torch::matmul(a.slice(0, 0, 32), b); }), 2u);
  EXPECT_EQ(plan([](const Tensor& a, const Tensor& b) { torch::matmul(a.slice(0, 32, 64), b); }), 3u);
  const auto with_rows_apart = [](const Tensor&, const Tensor& b) {
    torch::matmul(torch::empty({64, 64}, torch::dtype(torch::kHalf).device("ahbm")).slice(1, 0, 32), b);
  };
  EXPECT_EQ(plan(with_rows_apart), 4u);
  EXPECT_EQ(store.hits, 0) << "they lie elsewhere";
  const auto biased = [](const Tensor& a, const Tensor& b) {
    torch::addmm(torch::empty({48}, torch::dtype(torch::kHalf).device("ahbm")), a, b);
  };
  EXPECT_EQ(plan(biased), 5u);
  EXPECT_EQ(plan(biased), 5u);
  EXPECT_EQ(store.hits, 1);
}

TEST(GemmPlans, QuickOnesAreThoseOfReplaysAndAreKeptApart) {
  CountingStore store;
  SimulateOptions options;
  options.topology = "tiny";
  options.plans = &store;
  std::string measured, quick, replayed;
  const auto text = [](bool by_measurements) {
    const auto where = torch::dtype(torch::kHalf).device("ahbm");
    const auto a = torch::empty({256, 512}, where), b = torch::empty({512, 256}, where),
               out = torch::empty({256, 256}, where);
    auto& devices = current_context("test").simulation.devices();
    auto& operations = static_cast<SimulatedOperations&>(devices.operations());
    return tile::library::to_text(*operations.plan_matmul(a, b, {.measured = by_measurements}, out));
  };
  simulate(options, [&] { measured = text(true), replayed = text(false); });
  EXPECT_NE(measured, replayed) << "a product for which measurements matter";
  options.quick_plans = true;
  const RunResult result = simulate(options, [&] { quick = text(true); });
  EXPECT_EQ(quick, replayed);
  EXPECT_EQ(result.switches.at("quick_plans"), "true");
  EXPECT_EQ(store.texts.size(), 2u);
  options.quick_plans = false;
  simulate(options, [&] { EXPECT_EQ(text(true), measured); });
}

TEST(GemmPlans, OfTheStoreChangeNoResult) {
  CountingStore store;
  const auto fingerprint = [&](PlanStore* plans) {
    SimulateOptions options;
    options.topology = "tiny";
    options.plans = plans;
    options.quick_plans = kSanitized;
    const RunResult result = simulate(options, [] {
      const auto x = torch::randn({96, 130}, torch::dtype(torch::kHalf)).to("ahbm");
      torch::matmul(x, torch::randn({130, 70}, torch::dtype(torch::kHalf)).to("ahbm")).cpu();
    });
    return std::tuple(result.times_fingerprint, result.values_fingerprint, result.simulated_time);
  };
  const auto without = fingerprint(nullptr);
  EXPECT_EQ(fingerprint(&store), without);
  EXPECT_EQ(fingerprint(&store), without);
  EXPECT_EQ(store.hits, 1);
}

}  // namespace
}  // namespace kernbench::runtime
