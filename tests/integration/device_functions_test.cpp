// Functions of device tensors give what the same functions of host tensors give, by kernels, in stream order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "programs.h"

namespace kernbench::device_functions_test {
namespace {

using testing::tiny;
using torch::Tensor;

struct Case {
  const char* name;
  std::function<Tensor(const Tensor& x, const Tensor& y)> function;
};

/// x and y are [6, 10], of one floating-point type.
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"x * 2 + y", [](const Tensor& x, const Tensor& y) { return x * 2 + y; }},
      {"1 - x / (y * y + 1)", [](const Tensor& x, const Tensor& y) { return 1 - x / (y * y + 1); }},
      {"row broadcast", [](const Tensor& x, const Tensor& y) { return x - y[0]; }},
      {"column broadcast", [](const Tensor& x, const Tensor& y) { return x * y.narrow(1, 3, 1); }},
      {"transposed", [](const Tensor& x, const Tensor& y) { return (x.t() + y.t()).exp(); }},
      {"step", [](const Tensor& x, const Tensor& y) { return x.slice(1, 1, 10, 3).maximum(y.slice(1, 0, 9, 3)); }},
      {"alpha", [](const Tensor& x, const Tensor& y) { return x.add(y, 0.5).sub(x, 2); }},
      {"clamp", [](const Tensor& x, const Tensor& y) { return x.clamp(-0.5, 0.5) + y.relu(); }},
      {"activations", [](const Tensor& x, const Tensor& y) { return torch::gelu(x) + torch::silu(y) + x.tanh(); }},
      {"where", [](const Tensor& x, const Tensor& y) { return torch::where(x > y, x, y * 3); }},
      {"masked", [](const Tensor& x, const Tensor& y) { return x.masked_fill(y < 0, -1); }},
      {"mask", [](const Tensor& x, const Tensor& y) { return (x > 0).logical_and(y <= 0.25); }},
      {"sum of all", [](const Tensor& x, const Tensor&) { return x.sum(); }},
      {"sum of rows", [](const Tensor& x, const Tensor& y) { return (x + y).sum(1); }},
      {"count", [](const Tensor& x, const Tensor&) { return (x > 0).sum(0, true); }},
      {"mean", [](const Tensor& x, const Tensor&) { return x.mean(torch::IntArrayRef{0}); }},
      {"extremes", [](const Tensor& x, const Tensor&) { return x.amax(0) - x.amin(0); }},
      {"argmax", [](const Tensor& x, const Tensor&) { return x.argmax(1); }},
      {"index of all", [](const Tensor& x, const Tensor&) { return x.argmin(); }},
      {"topk", [](const Tensor& x, const Tensor&) { return std::get<0>(x.topk(3, 1)); }},
      {"index of topk", [](const Tensor& x, const Tensor&) { return std::get<1>(x.topk(2, 0, false)); }},
      {"var", [](const Tensor& x, const Tensor&) { return x.var(torch::IntArrayRef{1}); }},
      {"norm", [](const Tensor& x, const Tensor&) { return x.norm(2, 1); }},
      {"logsumexp", [](const Tensor& x, const Tensor&) { return x.logsumexp(1); }},
      {"all and any", [](const Tensor& x, const Tensor&) { return (x < 9).all(0).logical_and((x > 0).any(0)); }},
      {"cumsum", [](const Tensor& x, const Tensor&) { return x.cumsum(1); }},
      {"softmax", [](const Tensor& x, const Tensor&) { return x.softmax(-1); }},
      {"log_softmax", [](const Tensor& x, const Tensor&) { return x.log_softmax(0); }},
      {"layer_norm", [](const Tensor& x, const Tensor& y) { return torch::layer_norm(x, {10}, y[0], y[1]); }},
      {"rms_norm", [](const Tensor& x, const Tensor& y) { return torch::rms_norm(x, {10}, y[2], 1e-3); }},
      {"matmul", [](const Tensor& x, const Tensor& y) { return x.matmul(y.t()); }},
      {"linear", [](const Tensor& x, const Tensor& y) { return torch::linear(x, y, x.t()[0]); }},
      {"addmm", [](const Tensor& x, const Tensor& y) { return x.t()[1].addmm(x, y.t(), 2, 0.5); }},
      {"batched", [](const Tensor& x, const Tensor& y) { return x.view({2, 3, 10}).matmul(y.view({2, 3, 10}).mT()); }},
      {"dot", [](const Tensor& x, const Tensor& y) { return x[0].dot(y[1]); }},
      {"outer", [](const Tensor& x, const Tensor& y) { return x[0].outer(y[1]); }},
      {"cat", [](const Tensor& x, const Tensor& y) { return torch::cat({x, y.narrow(1, 0, 3)}, 1); }},
      {"stack", [](const Tensor& x, const Tensor& y) { return torch::stack({x, y}, 1); }},
      {"split", [](const Tensor& x, const Tensor&) { return x.split(4, 1)[1] + x.chunk(3, 1)[0]; }},
      {"tril", [](const Tensor& x, const Tensor&) { return x.tril(1); }},
      {"reshape", [](const Tensor& x, const Tensor&) { return x.t().reshape({4, 15}) + 1; }},
      {"in place",
       [](const Tensor& x, const Tensor& y) {
         Tensor z = x.clone();
         z.select(1, 2) += y.select(1, 3);
         z.mul_(2).narrow(0, 1, 2).fill_(0.5);
         z -= y;
         return z;
       }},
      {"attention",
       [](const Tensor& x, const Tensor& y) {
         const Tensor scores = x.matmul(y.t()) / 3.0;
         return scores.masked_fill(torch::ones_like(scores).triu(1) > 0, -1e4).softmax(-1).matmul(x);
       }},
  };
  return all;
}

void compare(torch::ScalarType type, double tolerance) {
  SimulateOptions options = tiny();
  options.quick_plans = true;
  simulate(options, [&] {
    torch::manual_seed(11);
    const Tensor x = torch::randn({6, 10}).to(type), y = torch::randn({6, 10}).to(type);
    const Tensor device_x = x.to("ahbm"), device_y = y.to("ahbm");
    for (const Case& c : cases()) {
      SCOPED_TRACE(c.name);
      const Tensor expected = c.function(x, y), actual = c.function(device_x, device_y);
      EXPECT_TRUE(actual.device().is_ahbm());
      EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
      EXPECT_TRUE(actual.sizes() == expected.sizes());
      EXPECT_TRUE(actual.cpu().to(torch::kDouble).allclose(expected.to(torch::kDouble), tolerance, tolerance));
    }
  });
}

TEST(DeviceFunctions, GiveInFloatsWhatTheHostGives) {
  compare(torch::kFloat, 1e-5);
}
TEST(DeviceFunctions, GiveInHalvesWhatTheHostGives) {
  compare(torch::kHalf, 2e-2);
}

TEST(DeviceFunctions, TakeTheSameTimesWithoutData) {
  const auto run = [](bool data) {
    SimulateOptions options = tiny();
    options.data = data;
    options.quick_plans = true;
    return simulate(options, [] {
      const Tensor x = torch::ones({6, 10}, torch::device("ahbm")), y = x + 1;
      for (const Case& c : cases()) c.function(x, y);
      torch::ahbm::synchronize();
    });
  };
  const RunResult with = run(true), without = run(false);
  ASSERT_EQ(with.launches.size(), without.launches.size());
  for (std::size_t i = 0; i < with.launches.size(); ++i) {
    EXPECT_EQ(with.launches[i].name, without.launches[i].name);
    EXPECT_EQ(with.launches[i].end, without.launches[i].end);
  }
}

TEST(DeviceFunctions, HostFunctionsCostNoSimulatedTime) {
  const RunResult result = simulate(tiny(), [] {
    const Tensor x = torch::randn({64, 64});
    for (int i = 0; i < 3; ++i) x.matmul(x).softmax(0).sum().item<float>();
  });
  EXPECT_EQ(result.simulated_time, Time());
  EXPECT_TRUE(result.launches.empty());
}

TEST(DeviceFunctions, GoToTheCurrentStream) {
  const RunResult result = simulate(tiny(), [] {
    const Tensor x = torch::ones({2, 10}, torch::device("ahbm"));
    torch::ahbm::synchronize();
    const torch::ahbm::Stream stream;
    const torch::ahbm::StreamGuard guard(stream);
    const Tensor y = x + 1;
    EXPECT_FALSE(stream.query());
    EXPECT_TRUE(torch::ahbm::default_stream().query());
    EXPECT_EQ(y.cpu()[1][9].item<float>(), 2.0f);
  });
}

}  // namespace
}  // namespace kernbench::device_functions_test
