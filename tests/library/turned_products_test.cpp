// Products of few rows: weights [n, k] are read as they lie, C^T = B^T A^T; and the vector engine takes a part of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using torch::Tensor;

struct FewRowsProduct {
  std::int64_t m, n, k;
  DType dtype = DType::f16;
  bool linear = true, bias = false, exact = false;
};

/// What the plan says of `name`; empty: nothing.
std::string choice(const RunResult& result, const std::string& name) {
  for (const LaunchResult& launch : result.launches) {
    if (!launch.plan) continue;
    const auto found = std::ranges::find(launch.plan->choices, name, &std::pair<std::string, std::string>::first);
    if (found != launch.plan->choices.end()) return found->second;
  }
  return "";
}

/// Runs the product on whole numbers, whose sums are exact in any order: the device's bits must be the host's.
RunResult product(const FewRowsProduct& sizes, const char* topology, bool quick_plans = false,
                  const std::vector<std::string>& overrides = {}) {
  SimulateOptions options;
  options.topology = topology;
  options.overrides = overrides;
  options.quick_plans = quick_plans;
  return simulate(options, [&] {
    torch::ahbm::set_exact_matmul_order(sizes.exact);
    const auto whole = [&](std::vector<std::int64_t> extents) {
      return torch::randint(-2, 3, extents, torch::kFloat).to(sizes.dtype);
    };
    const Tensor x = whole({sizes.m, sizes.k});
    const Tensor w = sizes.linear ? whole({sizes.n, sizes.k}) : whole({sizes.k, sizes.n});
    const Tensor bias = sizes.bias ? whole({sizes.n}) : Tensor();
    const auto multiply = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
      return sizes.linear ? torch::nn::functional::linear(a, b, c) : torch::matmul(a, b);
    };
    const Tensor on_device = multiply(x.to("ahbm"), w.to("ahbm"), sizes.bias ? bias.to("ahbm") : Tensor());
    EXPECT_TRUE(torch::equal(on_device.cpu(), multiply(x, w, bias)))
        << topology << " " << sizes.m << " x " << sizes.n << " x " << sizes.k << " " << name(sizes.dtype);
  });
}

TEST(TurnedProducts, HaveTheBitsOfTheHostInEveryTypeAndOrder) {
  for (const std::string topology : {"tiny", "ahbm-1sip", "ahbm-2sip"}) {
    if (kSanitized && topology != "tiny") continue;
    for (const FewRowsProduct& sizes : std::vector<FewRowsProduct>{{1, 200, 300},
                                                                   {3, 130, 77, DType::f32},
                                                                   {7, 65, 129, DType::bf16, true, true},
                                                                   {2, 256, 512, DType::f16, true, true, true},
                                                                   {5, 100, 64, DType::i32},
                                                                   {16, 31, 500, DType::f16, true, true}}) {
      const RunResult result = product(sizes, topology.c_str(), true);
      ASSERT_FALSE(result.error) << result.error->message;
      EXPECT_EQ(choice(result, "computes"), 2 * sizes.m <= sizes.n ? "C^T = B^T A^T" : "");
    }
  }
}

TEST(TurnedProducts, AreThoseWhoseWeightsAreLargerThanWhatTheyMultiply) {
  EXPECT_EQ(choice(product({.m = 64, .n = 64, .k = 64}, "tiny"), "computes"), "");
  EXPECT_EQ(choice(product({.m = 4, .n = 64, .k = 64, .linear = false}, "tiny"), "computes"), "");
}

/// By a plan that was measured: replays give the vector engine nothing.
RunResult on_one_cube(const FewRowsProduct& sizes) {
  return product(sizes, "ahbm-1sip", false, {"sip.cubes.mesh=[1, 1]", "cube.pes.mesh=[2, 2]"});
}

TEST(VectorShare, OfAProductOfOneRowHasTheBitsOfTheHost) {
  for (const bool linear : {true, false}) {
    if (!linear && !takes_all_cases()) continue;
    const RunResult result = on_one_cube({.m = 1, .n = 512, .k = 512, .linear = linear, .bias = linear});
    ASSERT_FALSE(result.error) << result.error->message;
    EXPECT_NE(choice(result, "vector_share"), "") << linear;
  }
}

// Without any of it there is one: OfAProductOfOneRowHasTheBitsOfTheHost.
TEST(VectorShare, IsNoneWhereTheOrderOfTheSumsIsToldOrValuesAreIntegersOrRowsAreMany) {
  NOT_UNDER_SANITIZERS("long");
  const auto share = [](const FewRowsProduct& sizes) { return choice(on_one_cube(sizes), "vector_share"); };
  EXPECT_EQ(share({.m = 1, .n = 512, .k = 512, .exact = true}), "");
  EXPECT_EQ(share({.m = 1, .n = 512, .k = 512, .dtype = DType::i32}), "");
  EXPECT_EQ(share({.m = 256, .n = 256, .k = 256}), "");
}

// The GEMM engine has one row of its 64 to do: without the lanes it takes 8.6 us of the 4096 x 4096 weights, of which a
// PE has as many as of 8192 x 8192 on all cubes (Attained.ProductsOfFewRows…).
TEST(VectorShare, LeavesTheArrayLessThanAllWeights) {
  NOT_UNDER_SANITIZERS("long");
  if (!takes_all_cases()) GTEST_SKIP() << "ProductsOfFewRows says it of all cubes: make test-full";
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.overrides = {"sip.cubes.mesh=[2, 2]"};
  options.data = false;
  const RunResult result = simulate(options, [] {
    const auto where = torch::dtype(torch::kHalf).device("ahbm");
    torch::linear(torch::empty({1, 4096}, where), torch::empty({4096, 4096}, where));
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.at(0);
  const auto busy = [&](const char* engine) {
    const auto found = std::ranges::find(launch.engines, engine, &EngineResult::engine);
    return found == launch.engines.end() ? Time::zero() : found->busiest;
  };
  EXPECT_LT(busy("gemm"), Time::nanoseconds(8'600));
  EXPECT_GT(busy("vector"), Time::nanoseconds(2'000));
  EXPECT_LE(launch.end - launch.start, Time::microseconds(12));
}

}  // namespace
}  // namespace kernbench
