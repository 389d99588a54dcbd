// Losses and writes by index on devices: on a shipped machine, of nothing, of targets that are none, and what is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using torch::Tensor;

/// The error of `body` in a simulation.
std::string error_of(const std::function<void()>& body) {
  try {
    simulate({.topology = "tiny"}, body);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DeviceLosses, AgreeWithTheHostOnAShippedMachine) {
  const RunResult result = simulate({.topology = kSanitized ? "tiny" : "ahbm-1sip"}, [] {
    torch::manual_seed(3);
    const Tensor logits = torch::randn({96, 1003}), weight = torch::rand({1003}), goals = torch::randn({96, 1003});
    const Tensor classes = torch::randint(1003, {96}).masked_fill(torch::arange(96) % 5 == 0, -100);
    const Tensor some = classes.masked_fill(classes < 0, 7);
    const auto both = [](const Tensor& on_host, const Tensor& on_device) {
      ASSERT_TRUE(on_device.device().is_ahbm());
      expect_near(on_device, elements(on_host), 1e-5, 1e-6, "loss");
    };
    const auto there = [](const Tensor& x) { return x.to("ahbm"); };
    both(torch::cross_entropy_loss(logits, classes), torch::cross_entropy_loss(there(logits), there(classes)));
    both(torch::cross_entropy_loss(logits, some, weight, torch::Reduction::Sum, 7, 0.1),
         torch::cross_entropy_loss(there(logits), there(some), there(weight), torch::Reduction::Sum, 7, 0.1));
    both(torch::nll_loss(logits, classes, {}, torch::Reduction::None),
         torch::nll_loss(there(logits), there(classes), {}, torch::Reduction::None));
    both(torch::mse_loss(logits, goals), torch::mse_loss(there(logits), there(goals)));
    both(torch::huber_loss(logits, goals), torch::huber_loss(there(logits), there(goals)));
    both(torch::binary_cross_entropy_with_logits(logits, goals.sigmoid()),
         torch::binary_cross_entropy_with_logits(there(logits), there(goals).sigmoid()));
    both(torch::scatter_add(torch::zeros({96, 40}), 1, torch::arange(96 * 1003).view({96, 1003}) % 40, logits),
         torch::scatter_add(there(torch::zeros({96, 40})), 1, there(torch::arange(96 * 1003).view({96, 1003}) % 40),
                            there(logits)));
  });
  EXPECT_FALSE(result.error) << result.error->message;
  EXPECT_GT(result.launches.size(), kSanitized ? 20u : 40u);
}

TEST(DeviceLosses, OfNothingAreThoseOfTheHost) {
  using Loss = Tensor (*)(const Tensor& x, const Tensor& classes, std::int64_t reduction);
  const std::vector<Loss> losses{
      [](const Tensor& x, const Tensor&, std::int64_t r) { return torch::mse_loss(x, x, r); },
      [](const Tensor& x, const Tensor&, std::int64_t r) { return torch::l1_loss(x, x, r); },
      [](const Tensor& x, const Tensor&, std::int64_t r) { return torch::huber_loss(x, x, r); },
      [](const Tensor& x, const Tensor&, std::int64_t r) { return torch::kl_div(x, x, r); },
      [](const Tensor& x, const Tensor&, std::int64_t r) { return torch::binary_cross_entropy(x, x, {}, r); },
      [](const Tensor& x, const Tensor& classes, std::int64_t r) { return torch::nll_loss(x, classes, {}, r); },
      [](const Tensor& x, const Tensor& classes, std::int64_t r) {
        return torch::cross_entropy_loss(x, classes, {}, r);
      }};
  const RunResult result = simulate({.topology = "tiny"}, [&] {
    const Tensor x = torch::zeros({0, 4}), classes = torch::zeros({0}, torch::kLong);
    for (const Loss loss : losses) {
      for (const auto reduction : {torch::Reduction::None, torch::Reduction::Mean, torch::Reduction::Sum}) {
        expect_equal(loss(x.to("ahbm"), classes.to("ahbm"), reduction), elements(loss(x, classes, reduction)),
                     "a loss of nothing");
      }
    }
  });
  EXPECT_FALSE(result.error) << result.error->message;
}

TEST(DeviceLosses, AnIndexThatIsNoneIsTheKernelsError) {
  EXPECT_THAT(error_of([] {
                torch::cross_entropy_loss(torch::zeros({2, 3}).to("ahbm"), torch::tensor({0, 3}).to("ahbm")).cpu();
              }),
              HasSubstr("index 3 is out of bounds for a dimension of size 3"));
  EXPECT_THAT(
      error_of([] {
        const Tensor x = torch::zeros({2, 3}).to("ahbm");
        torch::scatter_add(x, 1, torch::tensor({{0, 1}, {3, 1}}).to("ahbm"), torch::ones({2, 2}).to("ahbm")).cpu();
      }),
      HasSubstr("out of bounds"));
}

TEST(DeviceLosses, OperandsOnDifferentDevicesAreNamed) {
  EXPECT_THAT(error_of([] { torch::cross_entropy_loss(torch::zeros({2, 3}).to("ahbm"), torch::tensor({0, 1})); }),
              HasSubstr("cross_entropy_loss"));
  EXPECT_THAT(error_of([] { torch::mse_loss(torch::zeros({2, 3}).to("ahbm"), torch::zeros({2, 3})); }),
              HasSubstr("mse_loss"));
}

TEST(DeviceChoices, WhatADeviceCannotDoIsRefused) {
  const std::vector<std::function<void(const Tensor&)>> refused{
      [](const Tensor& x) { x.scatter(0, x.to(torch::kLong), x); },
      [](const Tensor& x) { x.scatter(0, x.to(torch::kLong), x, "multiply"); },
      [](const Tensor& x) { x.index_copy(0, x.select(0, 0).to(torch::kLong), x); },
      [](const Tensor& x) { x.put(x.to(torch::kLong), x); },
      [](const Tensor& x) { x.nonzero(); },
      [](const Tensor& x) { torch::_unique2(x); },
      [](const Tensor& x) { torch::unique_consecutive(x); },
      [](const Tensor& x) { x.cumprod(0); },
      [](const Tensor& x) { x.logcumsumexp(0); },
      [](const Tensor& x) { x.cummax(0); }};
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const std::string error = error_of([&] { refused[i](torch::zeros({3, 3}).to("ahbm")); });
    EXPECT_THAT(error, HasSubstr("device")) << i;
    EXPECT_THAT(error, HasSubstr(".cpu()")) << i;
  }
}

TEST(DeviceChoices, RandomChoicesHaveTheirProbabilities) {
  for (const char* place : {"cpu", "ahbm"}) {
    const RunResult result = simulate({.topology = "tiny"}, [&] {
      torch::manual_seed(5);
      const Tensor shares = torch::tensor({0.1F, 0.2F, 0.0F, 0.7F}).to(place);
      const Tensor drawn = shares.multinomial(8000, true);
      const Tensor counts = torch::bincount(drawn, {}, 4).cpu();
      for (const auto& [i, share] : {std::pair{0, 0.1}, {1, 0.2}, {2, 0.0}, {3, 0.7}})
        EXPECT_NEAR(static_cast<double>(counts[i].item<std::int64_t>()) / 8000, share, share == 0 ? 0 : 0.03) << place;
      // Without replacement the largest share comes first in 7 of 10 lines.
      const Tensor first = shares.expand({4000, 4}).multinomial(2).select(1, 0);
      EXPECT_NEAR(first.eq(3).to(torch::kFloat).mean().item<double>(), 0.7, 0.03) << place;
      const Tensor coins = torch::full({8000}, 0.25).to(place).bernoulli();
      EXPECT_NEAR(coins.mean().item<double>(), 0.25, 0.02) << place;
      EXPECT_TRUE(torch::randperm(100).sub(torch::arange(100)).ne(0).any().item<bool>());
    });
    EXPECT_FALSE(result.error) << result.error->message;
  }
}

}  // namespace
}  // namespace kernbench
