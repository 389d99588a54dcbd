// Norms of residual sums: the bits of the sum and of the norm by themselves, in one launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/transformer.h"
#include "support.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using torch::Tensor;

std::vector<std::string> launches_of(const RunResult& result, std::size_t last) {
  std::vector<std::string> names;
  for (std::size_t i = result.launches.size() - last; i < result.launches.size(); ++i)
    names.push_back(result.launches[i].name.substr(0, result.launches[i].name.find('#')));
  return names;
}

TEST(ResidualNorms, HaveTheBitsOfTheSumAndOfItsNormForAnyViewAndPlacement) {
  for_random_cases(24, [&](Draw& draw) {
    const DType dtype = draw.of<DType>({DType::f32, DType::f16, DType::bf16});
    const Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(1, 4)), 5000);
    const Pair x = random_pair(draw, sizes, normal(dtype, 2)), residual = random_pair(draw, sizes, normal(dtype, 3));
    const Pair weight = random_pair(draw, {sizes.back()}, normal(dtype));
    const Pair bias = random_pair(draw, {sizes.back()}, normal(dtype));
    const std::vector<std::int64_t> shape{sizes.back()};
    {
      const auto [norm, sum] = torch::ahbm::add_rms_norm(x.device, residual.device, shape, weight.device, 1e-5);
      const Tensor alone = x.device + residual.device;
      EXPECT_TRUE(torch::equal(sum, alone));
      EXPECT_TRUE(torch::equal(norm, torch::rms_norm(alone, shape, weight.device, 1e-5)));
    }
    {
      const auto [norm, sum] =
          torch::ahbm::add_layer_norm(x.device, residual.device, shape, weight.device, bias.device);
      const Tensor alone = x.device + residual.device;
      EXPECT_TRUE(torch::equal(sum, alone));
      EXPECT_TRUE(torch::equal(norm, torch::layer_norm(alone, shape, weight.device, bias.device)));
    }
    const auto [norm, sum] = torch::ahbm::add_layer_norm(x.host, residual.host, shape, weight.host, bias.host);
    EXPECT_TRUE(torch::equal(sum, x.host + residual.host));
    EXPECT_TRUE(torch::equal(norm, torch::layer_norm(sum, shape, weight.host, bias.host)));
  });
}

// One row over 128 PEs, many rows, and rows too long for the TCM.
TEST(ResidualNorms, AreOneLaunchWhereALineFitsAndShorterThanTwo) {
  NOT_UNDER_SANITIZERS("long");
  struct Expected {
    Sizes sizes;
    std::vector<std::string> launches;
  };
  const std::vector<Expected> cases{{{1, 8192}, {"add_rms_norm"}},
                                    {{512, 4096}, {"add_rms_norm"}},
                                    {{2, 400'000}, {"add", "rms_norm.square", "rms_norm.square", "rms_norm"}}};
  for (const Expected& each : cases) {
    SCOPED_TRACE(each.sizes[1]);
    SimulateOptions options;
    options.topology = "ahbm-1sip";
    options.data = false;
    const auto run = [&](bool together) {
      return simulate(options, [&] {
        const auto f16 = torch::dtype(torch::kHalf).device("ahbm");
        const Tensor x = torch::empty(each.sizes, f16), residual = torch::empty(each.sizes, f16);
        const Tensor weight = torch::empty({each.sizes[1]}, f16);
        torch::ahbm::synchronize();
        if (together)
          (void)torch::ahbm::add_rms_norm(x, residual, {each.sizes[1]}, weight);
        else
          (void)torch::rms_norm(x + residual, {each.sizes[1]}, weight);
        torch::ahbm::synchronize();
      });
    };
    const RunResult together = run(true), apart = run(false);
    EXPECT_EQ(launches_of(together, together.launches.size()), each.launches);
    if (each.launches.size() == 1) {
      EXPECT_LT(together.simulated_time, apart.simulated_time);
    }
  }
}

// Of one row, and of three that PEs hold the ends of: 128 programs would read 128 rows, by one page of each holder.
TEST(ResidualNorms, OfFewLinesLoadEachLineOnce) {
  for (const std::int64_t rows : {1, 3, 16}) {
    if (kSanitized && rows != 3) continue;
    SCOPED_TRACE(rows);
    SimulateOptions options;
    options.topology = "ahbm-1sip";
    options.data = false;
    const RunResult result = simulate(options, [&] {
      const auto f16 = torch::dtype(torch::kHalf).device("ahbm");
      const Tensor x = torch::empty({rows, 4096}, f16), residual = torch::empty({rows, 4096}, f16);
      const Tensor weight = torch::empty({4096}, f16);
      torch::ahbm::synchronize();
      (void)torch::ahbm::add_rms_norm(x, residual, {4096}, weight);
      torch::ahbm::synchronize();
    });
    const LaunchResult& norm = result.launches.back();
    const std::int64_t tensor = rows * 4096 * 2;
    // Whole lines of both and the own parts of both, the weights of these; two tensors are written.
    const std::int64_t weights = rows == 3 ? tensor / 3 : tensor;  // a part of three lines has the same columns of each
    EXPECT_EQ(norm.hbm_bytes.count(), 4 * tensor + weights + 2 * tensor);
    EXPECT_LT(norm.end - norm.start, Time::nanoseconds(3300));
  }
}

TEST(ResidualNorms, AnotherShapeOrTypeIsAnError) {
  simulate({.topology = "tiny"}, [] {
    const Tensor x = torch::zeros({4, 8}), weight = torch::ones({8});
    for (const Tensor& residual : {torch::zeros({8}), torch::zeros({4, 8}, torch::kHalf)}) {
      try {
        (void)torch::ahbm::add_rms_norm(x, residual, {8}, weight);
        FAIL() << "no error";
      } catch (const ValueError& error) {
        EXPECT_THAT(error.what(), HasSubstr("add_rms_norm: x and the residual must have one shape and type, but x is "
                                            "[4, 8] Float on cpu and the residual ["));
      }
    }
  });
}

}  // namespace
}  // namespace kernbench
