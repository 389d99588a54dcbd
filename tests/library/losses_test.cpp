// Losses and writes by index on devices: on a shipped machine, of nothing, of targets that are none, and what is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kernbench/torch/backward.h"
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

/// (loss(x + step) - loss(x - step)) / (2 step) for each element of x, in f64.
std::vector<double> central_differences(const Tensor& x, const std::function<Tensor(const Tensor&)>& loss) {
  constexpr double kStep = 1e-4;
  std::vector<double> slopes;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const auto beside = [&](double step) {
      const Tensor moved = x.clone();
      moved.view({-1}).select(0, i).add_(step);
      return loss(moved).item<double>();
    };
    slopes.push_back((beside(kStep) - beside(-kStep)) / (2 * kStep));
  }
  return slopes;
}

TEST(GradientsOfLosses, AreTheirCentralDifferences) {
  const RunResult result = simulate({.topology = "tiny"}, [] {
    torch::manual_seed(5);
    const auto wide = torch::kDouble;
    const Tensor x = torch::randn({6, 4}).to(wide) * 2, goals = torch::randn({6, 4}).to(wide);
    const Tensor weight = torch::tensor({0.5, 2.0, 1.5, 1.0}).to(wide), half = torch::full({}, 0.5, wide);
    const Tensor classes = torch::tensor({3, 0, 1, 1, 2, 3});
    for (const auto r : {torch::Reduction::Mean, torch::Reduction::Sum}) {
      const auto agree = [&](const Tensor& grad, const Tensor& at, const std::function<Tensor(const Tensor&)>& loss) {
        expect_near(grad, central_differences(at, [&](const Tensor& y) { return loss(y) * half; }), 1e-5, 1e-6, "loss");
      };
      for (const std::int64_t ignored : {-100, 1}) {
        for (const auto& w : {std::optional<Tensor>(), std::optional(weight)}) {
          const Tensor total = std::get<1>(torch::nll_loss_forward(x, classes, w, r, ignored));
          agree(torch::nll_loss_backward(half, x, classes, w, r, ignored, total), x,
                [&](const Tensor& y) { return torch::nll_loss(y, classes, w, r, ignored); });
        }
      }
      agree(torch::smooth_l1_loss_backward(half, x, goals, r, 0.75), x,
            [&](const Tensor& y) { return torch::smooth_l1_loss(y, goals, r, 0.75); });
      agree(torch::smooth_l1_loss_backward(half, x, goals, r, 0), x,
            [&](const Tensor& y) { return torch::l1_loss(y, goals, r); });
      agree(torch::huber_loss_backward(half, x, goals, r, 0.75), x,
            [&](const Tensor& y) { return torch::huber_loss(y, goals, r, 0.75); });
      agree(torch::binary_cross_entropy_backward(half, x.sigmoid(), goals.sigmoid(), goals, r), x.sigmoid(),
            [&](const Tensor& y) { return torch::binary_cross_entropy(y, goals.sigmoid(), goals, r); });
    }
  });
  EXPECT_FALSE(result.error) << result.error->message;
}

TEST(GradientsOfLosses, OnADeviceAreThoseOfTheHost) {
  const RunResult result = simulate({.topology = "tiny"}, [] {
    torch::manual_seed(6);
    const Tensor classes = torch::randint(37, {29});
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      const Tensor x = torch::randn({29, 37}, type), goals = torch::randn({29, 37}, type);
      const Tensor weight = torch::rand({37}, type), half = torch::full({}, 0.5, type);
      const auto agree = [&](const std::function<Tensor(const std::function<Tensor(const Tensor&)>& at)>& gradient) {
        const Tensor host = gradient([](const Tensor& tensor) { return tensor; });
        const Tensor device = gradient([](const Tensor& tensor) { return tensor.to("ahbm"); });
        ASSERT_TRUE(device.device().is_ahbm());
        EXPECT_EQ(device.scalar_type(), type);
        const double unit = type == torch::kFloat ? 1e-6 : 8e-3;
        expect_near(device, elements(host), 4 * unit, unit, "gradient");
      };
      for (const auto r : {torch::Reduction::None, torch::Reduction::Mean}) {
        const Tensor of_loss = r == torch::Reduction::None ? goals : half,
                     of_lines = r == torch::Reduction::None ? goals.select(1, 0) : half;
        agree([&](const auto& at) { return torch::smooth_l1_loss_backward(at(of_loss), at(x), at(goals), r, 0.5); });
        agree([&](const auto& at) { return torch::smooth_l1_loss_backward(at(of_loss), at(x), at(goals), r, 0); });
        agree([&](const auto& at) { return torch::huber_loss_backward(at(of_loss), at(x), at(goals), r, 0.5); });
        agree([&](const auto& at) {
          return torch::binary_cross_entropy_backward(at(of_loss), at(x.sigmoid()), at(goals.sigmoid()), at(x), r);
        });
        agree([&](const auto& at) {
          const Tensor total = std::get<1>(torch::nll_loss_forward(at(x), at(classes), at(weight), r, 3));
          return torch::nll_loss_backward(at(of_lines), at(x), at(classes), at(weight), r, 3, total);
        });
        agree([&](const auto& at) {
          const Tensor total = std::get<1>(torch::nll_loss_forward(at(x), at(classes), {}, r, -100));
          return torch::nll_loss_backward(at(of_lines), at(x), at(classes), {}, r, -100, total);
        });
      }
    }
  });
  EXPECT_FALSE(result.error) << result.error->message;
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
