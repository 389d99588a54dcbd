// Gated activations: values against formulas in double, bits against the composition in f32, one pass over memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "kernbench/error.h"
#include "support.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using torch::Tensor;

double silu_of(double x) {
  return x / (1 + std::exp(-x));
}
double gelu_of(double x) {
  return x * (1 + std::erf(x / std::sqrt(2))) / 2;
}
double gelu_tanh_of(double x) {
  return x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))) / 2;
}

struct Gated {
  std::string name;
  double (*activation)(double);
  std::function<Tensor(const Tensor& x)> of_halves;
  std::function<Tensor(const Tensor& gate, const Tensor& up)> of_two;
  std::function<Tensor(const Tensor& gate)> alone;
};

std::vector<Gated> gated_functions() {
  using T = const Tensor&;
  return {{"swiglu", silu_of, [](T x) { return torch::ahbm::swiglu(x); },
           [](T gate, T up) { return torch::ahbm::swiglu(gate, up); }, [](T gate) { return torch::silu(gate); }},
          {"geglu", gelu_of, [](T x) { return torch::ahbm::geglu(x); },
           [](T gate, T up) { return torch::ahbm::geglu(gate, up); }, [](T gate) { return torch::gelu(gate); }},
          {"geglu tanh", gelu_tanh_of, [](T x) { return torch::ahbm::geglu(x, "tanh"); },
           [](T gate, T up) { return torch::ahbm::geglu(gate, up, "tanh"); },
           [](T gate) { return torch::gelu(gate, "tanh"); }}};
}

std::vector<double> expected_of(const Gated& gated, const Tensor& gate, const Tensor& up) {
  std::vector<double> result = elements(gate);
  const std::vector<double> factors = elements(up);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = gated.activation(result[i]) * factors[i];
  return result;
}

// Three steps of f32, each within a few units: the gate's e^-x, and 1 + erf and 1 + tanh, which cancel below -3.
TEST(GatedActivations, AreTheFormulaForAnyViewAndPlacement) {
  for (const Gated& gated : gated_functions()) {
    for_random_cases(16, [&](Draw& draw) {
      const DType dtype = draw.of<DType>({DType::f32, DType::f16, DType::bf16});
      Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(1, 4)), 3000);
      const Pair gate = random_pair(draw, sizes, normal(dtype, 2)), up = random_pair(draw, sizes, normal(dtype));
      const double relative = unit(dtype) + 8 * unit(DType::f32), absolute = 0x1p-20;
      const auto expected = expected_of(gated, gate.host, up.host);
      expect_near(gated.of_two(gate.device, up.device), expected, relative, absolute, gated.name);
      expect_near(gated.of_two(gate.host, up.host), expected, relative, absolute, gated.name + " on the host");
      sizes.back() *= 2;
      const Pair both = random_pair(draw, sizes, normal(dtype, 2));
      const std::vector<Tensor> halves = both.host.chunk(2, -1);
      expect_near(gated.of_halves(both.device), expected_of(gated, halves[0], halves[1]), relative, absolute,
                  gated.name + " of halves");
    });
  }
}

TEST(GatedActivations, HaveTheBitsOfTheirStepsInF32RoundedOnce) {
  simulate({.topology = "tiny"}, [] {
    for (const Gated& gated : gated_functions()) {
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const Tensor gate = (torch::randn({1000}) * 4).to(dtype), up = torch::randn({1000}).to(dtype);
        const Tensor steps = (gated.alone(gate.to(torch::kFloat)) * up.to(torch::kFloat)).to(dtype);
        EXPECT_TRUE(torch::equal(gated.of_two(gate, up), steps)) << gated.name;
        EXPECT_TRUE(torch::equal(gated.of_two(gate.to("ahbm"), up.to("ahbm")).cpu(), steps)) << gated.name;
      }
    }
  });
}

TEST(GatedActivations, BroadcastAndTakeNumbersInDouble) {
  simulate({.topology = "tiny"}, [] {
    const Tensor gate = torch::randn({3, 1}, torch::kDouble), up = torch::randn({5}, torch::kDouble);
    EXPECT_TRUE(torch::equal(torch::ahbm::swiglu(gate, up), torch::silu(gate) * up));
    EXPECT_EQ(torch::ahbm::swiglu(torch::zeros({0, 4}).to("ahbm")).sizes().vec(), (Sizes{0, 2}));
  });
}

TEST(GatedActivations, ReadEachByteOnceAndWriteOnce) {
  const RunResult result = simulate({.topology = "tiny", .data = false}, [] {
    const Tensor x = torch::empty({512, 2 * 640}, torch::dtype(torch::kHalf).device("ahbm"));
    torch::ahbm::swiglu(x);
    torch::ahbm::synchronize();
  });
  ASSERT_EQ(result.launches.size(), 1U);
  EXPECT_EQ(result.launches[0].kernel, "swiglu");
  EXPECT_EQ(result.launches[0].hbm_bytes.count(), 512 * 3 * 640 * 2);
}

/// A launch on a shipped device, and the least time that its engines could have taken.
LaunchResult launch_on_128_pes(const std::vector<std::int64_t>& sizes) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  const RunResult result = simulate(options, [&] {
    torch::ahbm::swiglu(torch::empty(sizes, torch::dtype(torch::kHalf).device("ahbm")));
    torch::ahbm::synchronize();
  });
  EXPECT_EQ(result.launches.size(), 1U);
  return result.launches.at(0);
}

// The sigmoid is 13 of 17 cycles of each element: three times what its six bytes take.
TEST(GatedActivations, KeepTheVectorEnginesOfAllPesBusy) {
  const LaunchResult many = launch_on_128_pes({2048, 2 * 3584});
  EXPECT_EQ(many.pes, 128);
  EXPECT_LE((many.end - many.start).count(), 1.2 * static_cast<double>(many.bound.count()));
  const LaunchResult few = launch_on_128_pes({1, 2 * 14336});
  EXPECT_EQ(few.pes, 128);
  EXPECT_LE(few.end - few.start, Time::nanoseconds(2700)) << "an empty launch takes 1.95 us of them";
}

TEST(GatedActivations, RefuseWhatCannotBe) {
  const auto error = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const ValueError& caught) {
      return caught.what();
    }
    return "no error";
  };
  using ::testing::HasSubstr;
  simulate({.topology = "tiny"}, [&] {
    EXPECT_THAT(error([] { torch::ahbm::swiglu(torch::zeros({3, 7})); }), HasSubstr("7 is not divisible by 2"));
    EXPECT_THAT(error([] { torch::ahbm::swiglu(torch::zeros({})); }), HasSubstr("swiglu: the last dimension is gate"));
    EXPECT_THAT(error([] { torch::ahbm::geglu(torch::zeros({2}), "erf"); }), HasSubstr("none or tanh, not erf"));
    EXPECT_THAT(error([] { torch::ahbm::swiglu(torch::zeros({2}, torch::kInt)); }),
                HasSubstr("convert to a floating-point type first"));
    EXPECT_THAT(error([] { torch::ahbm::swiglu(torch::zeros({2}), torch::zeros({3})); }), HasSubstr("swiglu"));
  });
}

}  // namespace
}  // namespace kernbench
