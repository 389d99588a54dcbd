// Library kernels compute between their loads and stores in one command of the vector engine.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/kernbench.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using torch::Tensor;

/// The launch of the last function that `program` calls, on the shipped machine, without data.
LaunchResult last_launch(const std::function<void()>& program) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  options.quick_plans = true;
  return simulate(options, program).launches.back();
}

TEST(LibraryFusion, FunctionsOfSeveralOperationsAreOneCommandForEachBlock) {
  NOT_UNDER_SANITIZERS("times only");
  const auto half = torch::dtype(torch::kHalf).device("ahbm");
  const std::vector<std::pair<std::string, std::function<Tensor(const Tensor&)>>> functions = {
      {"gelu", [](const Tensor& x) { return torch::gelu(x); }},
      {"silu", [](const Tensor& x) { return torch::silu(x); }},
      {"softmax", [](const Tensor& x) { return torch::softmax(x, -1); }},
      {"log_softmax", [](const Tensor& x) { return torch::log_softmax(x, -1); }},
      {"layer_norm", [&](const Tensor& x) { return torch::layer_norm(x, {1024}, torch::empty({1024}, half)); }},
      {"rms_norm", [](const Tensor& x) { return torch::rms_norm(x, {1024}); }},
      {"sum", [](const Tensor& x) { return torch::sum(x, -1); }}};
  for (const auto& [name, function] : functions) {
    const auto launch = last_launch([&] { function(torch::empty({1024, 1024}, half)); });
    ASSERT_EQ(launch.kernel, name);
    EXPECT_GT(launch.fused_bytes, Bytes(0)) << name;
    std::map<std::string, std::int64_t> vector;
    for (const auto& operation : launch.operations) {
      if (operation.engine == "vector") vector[operation.operation] += operation.count;
    }
    ASSERT_EQ(vector.size(), 1U) << name;
    EXPECT_EQ(vector.begin()->first, "fuse") << name;
  }
}

TEST(LibraryFusion, AnEpilogueIsOneCommandForEachTileOfTheProduct) {
  NOT_UNDER_SANITIZERS("long");
  const auto half = torch::dtype(torch::kHalf).device("ahbm");
  const auto launch = last_launch(
      [&] { torch::addmm(torch::empty({512}, half), torch::empty({512, 512}, half), torch::empty({512, 512}, half)); });
  std::int64_t fused = 0;
  for (const auto& operation : launch.operations) {
    if (operation.operation == "fuse") fused = operation.count;
    EXPECT_NE(operation.operation, "add");
    EXPECT_NE(operation.operation, "cast");
  }
  EXPECT_GT(fused, 0);
}

}  // namespace
}  // namespace kernbench
