// Modules that libtorch does not have, or that it has in another way; the rest is compared with libtorch itself.
#include "kernbench/nn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support.h"
#include "support/sanitizers.h"

namespace kernbench::torch::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

/// A feed-forward block after a norm, as language models have it.
struct BlockImpl : Module {
  BlockImpl(std::int64_t size, std::int64_t inner)
      : norm(register_module("norm", RMSNorm(std::vector<std::int64_t>{size}))),
        up(register_module("up", Linear(size, inner))),
        down(register_module("down", Linear(LinearOptions(inner, size).bias(false)))) {}
  Tensor forward(const Tensor& x) { return x + down(torch::silu(up(norm(x)))); }

  RMSNorm norm;
  Linear up, down;
};
TORCH_MODULE(Block);

Tensor input(std::vector<std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return (torch::arange(count).to(kFloat) * 0.3).cos().view(sizes);
}

TEST(RmsNorm, IsTheRootMeanSquareOfEachRowInDouble) {
  on_tiny([] {
    const RMSNorm norm(RMSNormOptions({3}).eps(1e-2));
    norm->weight.copy_(torch::tensor({1.0, -2.0, 0.5}));
    const Tensor x = input({4, 3}), y = norm(x);
    for (std::int64_t row = 0; row < 4; ++row) {
      double squares = 0;
      for (std::int64_t i = 0; i < 3; ++i) squares += std::pow(x[row][i].item<double>(), 2);
      const double factor = 1 / std::sqrt(squares / 3 + 1e-2);
      for (std::int64_t i = 0; i < 3; ++i) {
        const double expected = x[row][i].item<double>() * factor * norm->weight[i].item<double>();
        EXPECT_NEAR(y[row][i].item<double>(), expected, 1e-6);
      }
    }
    std::ostringstream text;
    text << norm << ' ' << RMSNorm(RMSNormOptions({2, 3}).elementwise_affine(false));
    EXPECT_EQ(text.str(),
              "torch::nn::RMSNorm([3], eps=0.01, elementwise_affine=true) "
              "torch::nn::RMSNorm([2, 3], eps=None, elementwise_affine=false)");
  });
}

TEST(Dropout, LeavesOutByChanceAndScalesTheRest) {
  on_tiny([] {
    torch::manual_seed(7);
    const Dropout dropout(0.25);
    const Tensor x = torch::full({100, 100}, 3.0), y = dropout(x);
    const double left_out = y.eq(0).to(kFloat).mean().item<double>();
    EXPECT_NEAR(left_out, 0.25, 0.02);
    EXPECT_TRUE(torch::logical_or(y.eq(0), y.eq(4)).all().item<bool>());
    EXPECT_FALSE(dropout(x).equal(y)) << "each call draws anew";
    torch::manual_seed(7);
    EXPECT_TRUE(dropout(x).equal(y));
    dropout->eval();
    EXPECT_TRUE(dropout(x).is_same(x));
  });
}

TEST(Dropout, IsTheSameOnADevice) {
  const auto result = simulate({.topology = "tiny"}, [] {
    const Dropout dropout(0.5);
    const Tensor x = input({33, 7});
    torch::manual_seed(1);
    const Tensor host = dropout(x);
    torch::manual_seed(1);
    EXPECT_TRUE(torch::equal(dropout(x.to("ahbm")).cpu(), host));
  });
  EXPECT_GT(result.launches.size(), 0u);
}

TEST(Dropout, OnADeviceIsOneLaunchWithTheBitsOfTheHost) {
  std::size_t calls = 0;
  const auto result = simulate({.topology = "tiny", .quick_plans = true}, [&] {
    using View = std::function<Tensor(const Tensor&)>;
    const std::vector<View> views = {[](const Tensor& x) { return x; }, [](const Tensor& x) { return x.t(); },
                                     [](const Tensor& x) { return x.narrow(1, 2, 5); },
                                     [](const Tensor& x) { return x.select(0, 1).expand({6, 21}); }};
    for (const ScalarType type : {kFloat, kHalf, kBFloat16}) {
      const Tensor host = input({33, 21}).to(type);
      for (const Placement placement : {Placement::row_wise, Placement::column_wise, Placement::replicate}) {
        const Tensor device = host.to(torch::device("ahbm").placement({.cube = placement, .pe = placement}));
        for (const View& view : views) {
          const Dropout dropout(calls % 2 == 0 ? 0.1 : 0.37);
          torch::manual_seed(calls);
          torch::rand({3});
          const Tensor expected = dropout(view(host)).contiguous(), next = torch::rand({2});
          torch::manual_seed(calls);
          torch::rand({3});
          const Tensor found = dropout(view(device));
          EXPECT_TRUE(torch::equal(torch::rand({2}), next)) << calls;
          EXPECT_EQ(found.scalar_type(), type);
          EXPECT_TRUE(torch::equal(found.cpu(), expected)) << calls;
          ++calls;
        }
      }
    }
  });
  ASSERT_EQ(result.launches.size(), calls);
  for (const auto& launch : result.launches) EXPECT_EQ(launch.kernel, "dropout");
}

/// Mean and deviation of a normal distribution between a and b (Johnson, Kotz and Balakrishnan, volume 1, 13.10).
std::pair<double, double> truncated(double a, double b) {
  const auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); };
  const double share = 0.5 * (std::erfc(-b / std::numbers::sqrt2) - std::erfc(-a / std::numbers::sqrt2));
  const double mean = (density(a) - density(b)) / share;
  return {mean, std::sqrt(1 + (a * density(a) - b * density(b)) / share - mean * mean)};
}

TEST(FirstValues, OfATruncatedNormalLieWithinItsBoundsAndAreSpreadAsIt) {
  on_tiny([] {
    for (const auto& [a, b] : {std::pair(-2.0, 2.0), std::pair(-0.5, 3.0), std::pair(1.5, 4.0)}) {
      for (const char* const device : {"cpu", "ahbm"}) {
        torch::manual_seed(7);
        const Tensor drawn = init::trunc_normal_(torch::empty({200, 100}).to(device), 3, 0.5, 3 + 0.5 * a, 3 + 0.5 * b);
        const Tensor unit = (drawn.cpu().to(kDouble) - 3) / 0.5;
        const auto [mean, deviation] = truncated(a, b);
        EXPECT_NEAR(unit.mean().item<double>(), mean, 0.02) << a << device;
        EXPECT_NEAR(unit.std().item<double>(), deviation, 0.02) << a << device;
        EXPECT_GE(unit.min().item<double>(), a - 1e-6);
        EXPECT_LE(unit.max().item<double>(), b + 1e-6);
        EXPECT_LT(unit.min().item<double>(), a + 0.05) << "the whole range";
      }
    }
    EXPECT_TRUE(torch::equal(init::trunc_normal_(torch::empty({3}), 5, 0), torch::full({3}, 2.0)));
    EXPECT_THROW(init::trunc_normal_(torch::empty({3}), 0, -1), ValueError);
    EXPECT_THROW(init::trunc_normal_(torch::empty({3}), 0, 1, 1, -1), ValueError);
  });
}

TEST(FirstValues, OfATruncatedNormalAreItsQuantiles) {
  on_tiny([] {
    // The same uniform numbers: their shares below are even again.
    const Tensor drawn = init::trunc_normal_(torch::empty({20000}), 0, 1, -6, 6);
    for (const double x : {-2.0, -1.0, 0.0, 0.5, 1.5}) {
      const double below = drawn.lt(x).sum().item<double>() / 20000;
      EXPECT_NEAR(below, 0.5 * std::erfc(-x / std::numbers::sqrt2), 0.01) << x;
    }
  });
}

// A matrix of that size has no room in a memory.
TEST(FirstValues, ThatNobodyLooksAtAreNotMade) {
  on_tiny([] {
    const std::int64_t rows = std::int64_t{1} << 22;
    EXPECT_EQ(init::orthogonal_(torch::empty({rows, rows})).size(1), rows);
    EXPECT_EQ(init::trunc_normal_(torch::empty({rows, rows}, kHalf)).size(1), rows);
  });
}

TEST(FirstValues, ThatAreOrthogonalAreSoOnADeviceToo) {
  on_tiny([] {
    torch::manual_seed(3);
    const Tensor host = init::orthogonal_(torch::empty({24, 40}), 2);
    torch::manual_seed(3);
    const Tensor device = init::orthogonal_(torch::empty({24, 40}).to("ahbm"), 2);
    EXPECT_TRUE(torch::equal(device.cpu(), host));
    EXPECT_TRUE(torch::allclose(host.mm(host.t()), torch::eye(24) * 4, 1e-5, 1e-5));
  });
}

TEST(Containers, HoldOneAnother) {
  on_tiny([] {
    Sequential inner(Linear(3, 4), ReLU()), outer(inner, Sequential(Linear(4, 2)));
    EXPECT_THAT(outer->named_parameters().keys(), ElementsAre("0.0.weight", "0.0.bias", "1.0.weight", "1.0.bias"));
    EXPECT_TRUE(torch::equal(outer(input({2, 3})), outer[1]->as<Sequential>()->forward(inner(input({2, 3})))));
    EXPECT_THROW(outer->ptr(2), IndexError);
    EXPECT_THROW(outer->at<LinearImpl>(0), ValueError);
    ModuleDict dict;
    dict->insert("act", ReLU().ptr());
    dict->insert("last", Linear(1, 1).ptr());
    EXPECT_THAT(dict->keys(), ElementsAre("act", "last"));
    EXPECT_THROW(dict["none"], ValueError);
    EXPECT_NE(dict->pop("act")->as<ReLU>(), nullptr);
    EXPECT_EQ(dict->size(), 1u);
  });
}

TEST(Containers, SayWhenAModuleTakesAnotherNumberOfTensors) {
  on_tiny([] {
    struct Both : Module {
      Tensor forward(const Tensor& a, const Tensor& b) { return a + b; }
    };
    Sequential sums(Both{}, ReLU());
    EXPECT_EQ(sums->forward(torch::ones({1}), torch::ones({1})).item<float>(), 2);
    try {
      sums(torch::ones({1}));
      FAIL();
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), HasSubstr("Both: its forward does not take 1 tensor"));
    }
  });
}

TEST(Holders, AreEmptyUntilTheyAreAssigned) {
  on_tiny([] {
    Linear layer = nullptr;
    EXPECT_FALSE(layer);
    EXPECT_TRUE(layer.is_empty());
    EXPECT_THROW(layer->forward(torch::ones({1})), ValueError);
    layer = Linear(2, 3);
    const Linear same = layer;
    EXPECT_EQ(same.ptr(), layer.ptr());
  });
}

TEST(Models, ComputeOnADeviceWhatTheyComputeOnTheHost) {
  for (const std::string machine : {"tiny", "ahbm-1sip"}) {
    if (kSanitized && machine != "tiny") continue;
    for (const ScalarType type : {kFloat, kHalf}) {
      simulate({.topology = machine, .quick_plans = true}, [&] {
        Sequential model(Block(48, 96), Block(48, 80), LayerNorm(std::vector<std::int64_t>{48}));
        const Tensor x = input({2, 5, 48});
        const Tensor expected = model(x);
        model->to("ahbm", /*non_blocking=*/true);
        model->to(type);
        for (const Tensor& tensor : model->parameters()) EXPECT_TRUE(tensor.device().is_ahbm());
        const Tensor y = model(x.to("ahbm").to(type));
        EXPECT_TRUE(torch::allclose(y.cpu().to(kFloat), expected, 1e-3, type == kFloat ? 1e-5 : 1e-2)) << machine;
        MultiheadAttention attention(48, 4);
        const Tensor here = std::get<0>(attention->forward(x, x, x)),
                     quick = std::get<0>(attention->forward(x, x, x, {}, false));
        attention->to("ahbm");
        const Tensor there = x.to("ahbm");
        EXPECT_TRUE(torch::allclose(quick, here, 1e-4, 1e-5));
        EXPECT_TRUE(torch::allclose(std::get<0>(attention->forward(there, there, there)).cpu(), here, 1e-4, 1e-5));
        EXPECT_TRUE(
            torch::allclose(std::get<0>(attention->forward(there, there, there, {}, false)).cpu(), here, 1e-4, 1e-5));
      });
    }
  }
}

TEST(Attention, TakesMasksAsPythonDoes) {
  on_tiny([] {
    for (const bool bias : {true, false}) {
      const MultiheadAttention attention(MultiheadAttentionOptions(8, 2).kdim(6).vdim(5).bias(bias));
      const Tensor q = input({4, 3, 8}), k = input({5, 3, 6}), v = input({5, 3, 5});
      const Tensor later = torch::ones({4, 5}, kBool).triu(1);
      const Tensor added = torch::zeros({4, 5}).masked_fill(later, -std::numeric_limits<double>::infinity());
      const auto [by_bool, weights] = attention->forward(q, k, v, {}, true, later);
      const auto [by_float, same_weights] = attention->forward(q, k, v, {}, true, added);
      const auto [by_head, unused] = attention->forward(q, k, v, {}, false, added.expand({6, 4, 5}));
      EXPECT_TRUE(by_bool.equal(by_float));
      EXPECT_TRUE(by_bool.equal(by_head));
      EXPECT_FALSE(unused.defined());
      EXPECT_TRUE(weights.equal(same_weights));
      EXPECT_EQ(weights.triu(1).abs().sum().item<float>(), 0);
      EXPECT_TRUE(weights.sum(-1).allclose(torch::ones({3, 4})));
      const Tensor padding = torch::arange(5).ge(3).expand({3, 5});
      const Tensor shorter = std::get<0>(attention->forward(q, k.narrow(0, 0, 3), v.narrow(0, 0, 3)));
      EXPECT_TRUE(std::get<0>(attention->forward(q, k, v, padding)).allclose(shorter, 1e-5, 1e-6));
    }
  });
}

TEST(Attention, RefusesMasksAndOperandsThatDoNotFit) {
  on_tiny([] {
    const MultiheadAttention attention(8, 2);
    const Tensor q = input({4, 3, 8}), k = input({5, 3, 8});
    const Tensor later = torch::ones({4, 5}, kBool).triu(1), padding = torch::arange(5).ge(3).expand({3, 5});
    EXPECT_TRUE(std::get<0>(attention->forward(q, k, k, padding.to(kByte), true, later.to(kByte)))
                    .equal(std::get<0>(attention->forward(q, k, k, padding, true, later))));
    const auto message = [&](const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& of_keys = {},
                             const Tensor& mask = {}) -> std::string {
      try {
        attention->forward(query, key, value, of_keys, true, mask);
      } catch (const ValueError& error) {
        return error.what();
      }
      return "";
    };
    EXPECT_THAT(message(q, k, k, {}, later.to(kLong)), HasSubstr("only float, byte and bool masks are taken, but "
                                                                 "attn_mask is [4, 5] Long"));
    EXPECT_THAT(message(q, k, k, padding.to(kInt)), HasSubstr("but key_padding_mask is [3, 5] Int"));
    EXPECT_THAT(message(q, k, k, {}, torch::zeros({5})),
                HasSubstr("attn_mask must have the shape [L, S] or [N * heads, L, S], which is [4, 5] or [6, 4, 5], "
                          "but is [5] Float"));
    EXPECT_THAT(message(q, k, k, {}, torch::zeros({3, 4, 5})), HasSubstr("but is [3, 4, 5]"));
    EXPECT_THAT(message(q, k, k, torch::zeros({5, 3})),
                HasSubstr("key_padding_mask must have the shape [N, S], which is [3, 5], but is [5, 3]"));
    EXPECT_THAT(message(q, input({5, 1, 8}), k), HasSubstr("key must have the batch of query, 3"));
    EXPECT_THAT(message(q, k, input({5, 2, 8})), HasSubstr("value must have the batch of query, 3"));
    EXPECT_THAT(message(q, k, input({4, 3, 8})), HasSubstr("key and value must have one length"));
    EXPECT_THAT(message(q, input({5, 8}), k), HasSubstr("but key is [5, 8]"));
    EXPECT_THAT(message(q, {}, k), HasSubstr("MultiheadAttention: key is undefined"));
  });
}

TEST(Models, LaunchOnTheLineOfTheCall) {
  const auto result = simulate({.topology = "tiny"}, [] {
    Sequential model(Linear(8, 8), ReLU());
    model->to("ahbm");
    Linear alone(8, 8);
    alone->to("ahbm");
    const Tensor x = torch::ones({4, 8}, torch::device("ahbm"));
    model(x);
    alone(x);
  });
  std::vector<std::string> lines;
  for (const LaunchResult& launch : result.launches) {
    if (launch.kernel != "matmul" && launch.kernel != "linear" && launch.kernel != "relu") continue;
    lines.push_back(launch.where);
  }
  ASSERT_GE(lines.size(), 3u);
  for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr("nn_test.cpp"));
  EXPECT_NE(lines.front(), lines.back());
}

TEST(Models, SayWhichOfTheirOperandsDoesNotFit) {
  on_tiny([] {
    const auto message = [](const std::function<void()>& call) -> std::string {
      try {
        call();
      } catch (const ValueError& error) {
        return error.what();
      }
      return "no error";
    };
    const Linear layer(1, 4);
    EXPECT_THAT(message([&] { layer(torch::tensor(1.0f)); }), HasSubstr("the input must have one dimension at least"));
    EXPECT_THAT(message([&] { layer(torch::ones({2, 1}, kHalf)); }),
                HasSubstr("expected input and weight to have the same dtype, but got [2, 1] Half on cpu and [4, 1] "
                          "Float on cpu"));
    EXPECT_THAT(message([&] { torch::linear(torch::ones({2, 1}), layer->weight, torch::ones({4}, kHalf)); }),
                HasSubstr("expected input and bias to have the same dtype, but got [2, 1] Float on cpu and [4] Half"));
    EXPECT_THAT(message([&] { LayerNorm(std::vector<std::int64_t>{4})(torch::ones({2, 4}, kLong)); }),
                HasSubstr("not implemented for 'Long'; convert the input with .to(torch::kFloat) first"));
    const Dropout dropout(0.5);
    EXPECT_THAT(message([&] { dropout(torch::ones({4}, kLong)); }),
                HasSubstr("result type Float can't be cast to the desired output type Long"));
    dropout->eval();
    EXPECT_EQ(dropout(torch::ones({4}, kLong)).scalar_type(), kLong);
  });
}

TEST(Models, NeedTheirParametersWhereTheInputIs) {
  on_tiny([] {
    const Linear layer(4, 4);
    EXPECT_THROW(layer(torch::ones({2, 4}, torch::device("ahbm"))), ValueError);
  });
}

TEST(NoGrad, IsAcceptedAndGradientsAreNot) {
  on_tiny([] {
    const NoGradGuard no_grad;
    const Tensor x = torch::ones({1});
    EXPECT_TRUE(x.requires_grad_(false).is_same(x));
    EXPECT_FALSE(x.requires_grad());
    EXPECT_THROW(x.requires_grad_(), ValueError);
  });
}

}  // namespace
}  // namespace kernbench::torch::nn
