// Tensors placed by default: every PE works, whatever the shape, and functions over rows take one launch where they
// can.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using torch::Tensor;

struct RowFunction {
  std::string name;
  std::function<Tensor(const Tensor&)> call;
};

std::vector<RowFunction> row_functions() {
  return {{"softmax", [](const Tensor& x) { return torch::softmax(x, -1); }},
          {"log_softmax", [](const Tensor& x) { return torch::log_softmax(x, -1); }},
          {"layer_norm", [](const Tensor& x) { return torch::layer_norm(x, {x.size(-1)}); }},
          {"gelu", [](const Tensor& x) { return torch::gelu(x); }},
          {"sum of rows", [](const Tensor& x) { return x.sum(-1); }},
          {"sum", [](const Tensor& x) { return x.sum(); }}};
}

SimulateOptions on(const char* topology) {
  SimulateOptions options;
  options.topology = topology;
  options.data = false;
  return options;
}

struct Timing {
  Time time;
  std::vector<std::int64_t> pes;  // of each launch
};

Timing run_of(const RowFunction& function, const std::vector<std::int64_t>& sizes) {
  const RunResult result = simulate(on("ahbm-1sip"), [&] {
    const Tensor x = torch::empty(sizes, torch::dtype(torch::kHalf).device("ahbm"));
    const Tensor y = function.call(x);
    torch::ahbm::synchronize();
  });
  Timing run{.time = result.simulated_time, .pes = {}};
  for (const LaunchResult& launch : result.launches) run.pes.push_back(launch.pes);
  return run;
}

TEST(EveryPe, ABatchOfMatricesTakesTheTimeOfItsRows) {
  NOT_UNDER_SANITIZERS("times only");
  for (const RowFunction& function : row_functions()) {
    const Timing flat = run_of(function, {1024, 256});
    for (const std::vector<std::int64_t>& sizes :
         std::vector<std::vector<std::int64_t>>{{1, 1024, 256}, {8, 128, 256}, {2, 8, 64, 256}}) {
      EXPECT_EQ(run_of(function, sizes).time, flat.time) << function.name << " of " << sizes.size() << " dimensions";
    }
  }
}

TEST(EveryPe, WorksOnFewRows) {
  for (const RowFunction& function : row_functions()) {
    const Timing run = run_of(function, {8, 128 * 1024});
    EXPECT_EQ(run.pes.front(), 128) << function.name;
  }
}

/// Whole numbers that are small enough for exact sums; other functions are compared with the host's.
TEST(EveryPe, ResultsAreTheHostsForShapesThatNeedPartsOfRows) {
  for (const char* topology : {"tiny", "ahbm-1sip"}) {
    if (kSanitized && std::string(topology) != "tiny") continue;
    SimulateOptions options;
    options.topology = topology;
    simulate(options, [] {
      for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{
               {3, 20000}, {2, 5, 7000}, {64, 1024}, {1, 129, 300}, {8, 64, 96}, {70000}, {2, 70001}}) {
        const Tensor host = torch::randint(-4, 5, sizes, torch::kFloat), device = host.to("ahbm");
        EXPECT_TRUE(torch::equal(device.sum().cpu(), host.sum()));
        EXPECT_TRUE(torch::equal(device.sum(-1).cpu(), host.sum(-1)));
        EXPECT_TRUE(torch::equal(device.amax(0).cpu(), host.amax(0)));
        if (sizes.size() == 3) {
          EXPECT_TRUE(torch::equal(device.sum({1, 2}).cpu(), host.sum({1, 2})));
          EXPECT_TRUE(torch::equal(device.sum({0, 1}).cpu(), host.sum({0, 1})));
        }
        EXPECT_TRUE(torch::equal(device.argmax(-1).cpu(), host.argmax(-1)));
        EXPECT_TRUE(torch::allclose(torch::softmax(device, -1).cpu(), torch::softmax(host, -1), 1e-5, 1e-7));
        EXPECT_TRUE(torch::allclose(torch::layer_norm(device, {sizes.back()}).cpu(),
                                    torch::layer_norm(host, {sizes.back()}), 1e-4, 1e-5));
      }
    });
  }
}

}  // namespace
}  // namespace kernbench
