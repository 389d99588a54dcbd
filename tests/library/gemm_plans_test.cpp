// Plans of products are made once: for one shape, type and placement, on whatever SIP.
#include "runtime/functions/gemm_plans.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "kernbench/kernbench.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/functions/device_kernels.h"

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
  SimulateOptions options;
  options.topology = "tiny";
  simulate(options, [] {
    const std::weak_ptr<const tile::library::GemmPlan> first = plan_of({.m = 2, .n = 2, .k = 1});
    EXPECT_FALSE(first.expired());
    for (std::int64_t k = 2; k < 300; ++k) plan_of({.m = 2, .n = 2, .k = k});
    EXPECT_TRUE(first.expired());
  });
}

}  // namespace
}  // namespace kernbench::runtime
