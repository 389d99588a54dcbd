// Host elements that functions make of elements nobody has made yet: when, and that they are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

#include "fake_context.h"
#include "kernbench/error.h"
#include "kernbench/torch.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "tensor/tensor_impl.h"

namespace kernbench::later_elements_test {
namespace {

using torch::Tensor;

class LaterElements : public testing::Test {
 protected:
  tensor::FakeContext context;
};

bool is_made(const Tensor& tensor) {
  return tensor::impl_of(tensor).storage->is_made();
}

constexpr std::int64_t kMany = std::int64_t{1} << 40;  // no host has memory for them

TEST_F(LaterElements, OfAnyNumberAFewCanBeLookedAt) {
  const Tensor all = torch::arange(kMany, torch::kLong);
  const Tensor made = (((all * 7).remainder(11) - 5).to(torch::kFloat) / 64).view({kMany / 1024, 1024});
  const Tensor row = made.narrow(0, 123'456'789, 8).to(torch::kDouble);
  for (std::int64_t i = 0; i < row.numel(); i += 777) {
    const std::int64_t at = std::int64_t{123'456'789} * 1024 + i;
    EXPECT_EQ(row.view({-1})[i].item<double>(), static_cast<double>(at * 7 % 11 - 5) / 64);
  }
  EXPECT_FALSE(is_made(made));
  EXPECT_FALSE(is_made(all));
}

TEST_F(LaterElements, AreThoseOfWhatTheTensorWasThen) {
  const Tensor x = torch::arange(10'000, torch::kFloat);
  const Tensor twice = x * 2;
  x.fill_(1);
  const Tensor y = torch::ones({10'000});
  const Tensor more = y + 1;
  y.narrow(0, 0, 5).fill_(7);
  more.sub_(1);
  EXPECT_TRUE(twice.equal(torch::arange(10'000, torch::kFloat) + torch::arange(10'000, torch::kFloat)));
  EXPECT_TRUE(more.equal(torch::ones({10'000})));
  EXPECT_EQ(x.sum().item<double>(), 10'000);
}

TEST_F(LaterElements, ErrorsAreSaidAtTheCall) {
  const Tensor x = torch::arange(10'000, torch::kInt);
  EXPECT_THROW(x.remainder(0), ValueError);
  EXPECT_THROW(x.floor_divide(torch::Scalar(0)), ValueError);
  EXPECT_THROW(torch::ones({10'000}, torch::kInt).remainder(x), ValueError);
  EXPECT_EQ(x.remainder(3).sum().item<std::int64_t>(), 9'999);
}

TEST_F(LaterElements, OfAsManyFunctionsAsOneLikesTakeNoStack) {
  Tensor x = torch::zeros({4'096});
  const int functions = kSanitized ? 8'000 : 100'000;
  for (int i = 0; i < functions; ++i) x = x + 1;
  EXPECT_EQ(x[4'095].item<int>(), functions);
}

TEST_F(LaterElements, AViewOfShortRowsOrOtherOrderIsTheSame) {
  const Tensor all = torch::arange(300 * 300, torch::kInt).view({300, 300});
  EXPECT_EQ(all.narrow(1, 3, 256).contiguous()[5][255].item<int>(), 5 * 300 + 258);
  EXPECT_EQ(all.narrow(1, 3, 20).contiguous()[5][7].item<int>(), 5 * 300 + 10);
  EXPECT_EQ(all.transpose(0, 1).contiguous()[5][7].item<int>(), 7 * 300 + 5);
  EXPECT_EQ(torch::arange(5'000, torch::kInt).view({5'000, 1}).expand({5'000, 300}).contiguous()[77][299].item<int>(),
            77);
}

/// A random function of one tensor and numbers.
using Function = std::function<Tensor(const Tensor&)>;

std::vector<Function> functions() {
  return {[](const Tensor& x) { return x + 3; },
          [](const Tensor& x) { return 2 - x; },
          [](const Tensor& x) { return x * 0.5; },
          [](const Tensor& x) { return x / 7; },
          [](const Tensor& x) { return x.abs(); },
          [](const Tensor& x) { return x.remainder(13); },
          [](const Tensor& x) { return x.to(torch::kHalf); },
          [](const Tensor& x) { return x.to(torch::kInt); },
          [](const Tensor& x) { return x.to(torch::kDouble); },
          [](const Tensor& x) { return torch::clamp(x, -20, 30); },
          [](const Tensor& x) { return (x > 4).to(torch::kByte); },
          [](const Tensor& x) { return x.view({-1, 500}); },
          [](const Tensor& x) { return x.view({-1, 1'000}).narrow(1, 100, 500).contiguous(); },
          [](const Tensor& x) { return x.view({-1, 500}).narrow(0, 3, x.numel() / 500 - 4); }};
}

TEST_F(LaterElements, AreTheSameAsThoseMadeAtOnceForRandomFunctions) {
  const std::vector<Function> all = functions();
  int later_ones = 0;
  const int seeds = number_of_cases(300, 300, 60);
  for (std::uint32_t seed = 0; seed < static_cast<std::uint32_t>(seeds); ++seed) {
    std::mt19937 random(seed);
    Tensor later = torch::arange(40'000, seed % 2 == 0 ? torch::kInt : torch::kFloat), now = later.clone();
    (void)now.data_ptr();
    for (int step = 0; step < 6 && later.numel() >= 10'000; ++step) {
      const Function& function = all[random() % all.size()];
      later = function(later), now = function(now);
      (void)now.contiguous().data_ptr();
      ASSERT_EQ(later.scalar_type(), now.scalar_type());
    }
    later_ones += is_made(later) ? 0 : 1;
    const std::int64_t at = static_cast<std::int64_t>(random()) % (later.numel() - 600);
    const Tensor part = later.view({-1}).narrow(0, at, 600);
    EXPECT_TRUE(part.contiguous().equal(now.view({-1}).narrow(0, at, 600))) << "seed " << seed;
    EXPECT_TRUE(later.equal(now)) << "seed " << seed;
  }
  EXPECT_GT(later_ones, kSanitized ? seeds / 2 : 200);
}

}  // namespace
}  // namespace kernbench::later_elements_test
