// Values that PyTorch 1.13 gives where steps between could be rounded, overflow or wrap: on the host, and by device
// kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "support.h"

namespace kernbench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using torch::Tensor;

/// Runs `body` for host tensors and for tensors of a device: it takes what moves a tensor there.
template <class Body>
void on_both(const Body& body) {
  for (const char* place : {"cpu", "ahbm"}) {
    SCOPED_TRACE(place);
    const RunResult result =
        simulate({.topology = "tiny"}, [&] { body([&](const Tensor& x) { return x.to(place); }); });
    EXPECT_FALSE(result.error) << result.error->message;
  }
}

std::vector<double> values(const Tensor& x) {
  const Tensor host = x.cpu().to(torch::kDouble).contiguous();
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}
using Values = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(PyTorchValues, NegativeIndicesCountFromTheEnd) {
  on_both([](const auto& there) {
    const Tensor x = there(torch::arange(16).view({4, 4}));
    EXPECT_EQ(values(x.index({there(torch::tensor({-1, 0}))})), (Values{12, 13, 14, 15, 0, 1, 2, 3}));
    EXPECT_EQ(values(x.index({torch::indexing::Slice(), there(torch::tensor({-4, 3, -1}))}).select(0, 1)),
              (Values{4, 7, 7}));
  });
  try {
    simulate({.topology = "tiny"}, [] { torch::arange(4).to("ahbm").index({torch::tensor({-5}).to("ahbm")}).cpu(); });
    ADD_FAILURE() << "5 before the end of 4";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("index -5 is out of bounds for a dimension of size 4"));
    EXPECT_THAT(error.what(), Not(HasSubstr("choose.cpp"))) << "a line of the library";
    EXPECT_THAT(error.where(), HasSubstr(", called at pytorch_values_test.cpp:"));
  }
}

TEST(PyTorchValues, OneNumberIsWrittenThroughIndicesAndMasks) {
  using torch::indexing::Slice;
  on_both([](const auto& there) {
    const Tensor x = there(torch::arange(12).view({3, 4}));
    x.index_put_({there(torch::tensor({2, -3}))}, 50);
    x.index_put_({Slice(), there(torch::tensor({1}))}, torch::tensor({60}));
    EXPECT_EQ(values(x), (Values{50, 60, 50, 50, 4, 60, 6, 7, 50, 60, 50, 50}));
    x.index_put_({x > 50}, -1);
    x.index_put_({there(torch::tensor({false, true, false}))}, 9);
    EXPECT_EQ(values(x), (Values{50, -1, 50, 50, 9, 9, 9, 9, 50, -1, 50, 50}));
    EXPECT_EQ(x.index({true}).sizes().vec(), (std::vector<std::int64_t>{1, 3, 4}));
    EXPECT_EQ(x.index({false}).sizes().vec(), (std::vector<std::int64_t>{0, 3, 4}));
    EXPECT_EQ(values(x.index({0, true})), (Values{50, -1, 50, 50}));
    x.index({true}).zero_();
    EXPECT_EQ(values(x.index({1})), (Values{9, 9, 9, 9})) << "not a view";
    x.index_put_({true}, 3);
    EXPECT_EQ(values(x), Values(12, 3.0));
    EXPECT_EQ(there(torch::zeros({3, 0}, torch::kHalf)).std({0}, false).scalar_type(), torch::kHalf);
  });
  simulate({.topology = "tiny"}, [] {
    const Tensor x = torch::zeros({3, 4}).to("ahbm"), at = torch::tensor({0, 1}).to("ahbm");
    EXPECT_THROW(x.index_put_({at}, torch::ones({4}).to("ahbm")), ValueError);
    EXPECT_THROW(x.index_put_({at, at}, 1), ValueError);
  });
}

TEST(PyTorchValues, HalvesDoNotOverflowInside) {
  on_both([](const auto& there) {
    EXPECT_EQ(values(there(torch::full({4096}, 5.0, torch::kHalf)).norm()), Values{320});
    EXPECT_EQ(values(there(torch::tensor({300.0F, 400.0F}).to(torch::kHalf)).norm()), Values{500});
    EXPECT_EQ(values(there(torch::tensor({0.0F, 600.0F}).to(torch::kHalf)).std(false)), Values{300});
    EXPECT_NEAR(values(torch::logsumexp(there(torch::zeros({70000}, torch::kHalf)), 0))[0], 11.156, 0.01);
    EXPECT_EQ(torch::logsumexp(there(torch::zeros({8}, torch::kHalf)), 0).scalar_type(), torch::kHalf);
    EXPECT_EQ(values(torch::logsumexp(there(torch::zeros({0, 2})), 0)), (Values{-kInfinity, -kInfinity}));
  });
}

TEST(PyTorchValues, LerpIsExactAtBothEndsAndRoundedOnce) {
  on_both([](const auto& there) {
    const auto lerp = [&](float from, float to, double weight, torch::ScalarType type) {
      const Tensor a = there(torch::tensor({from}).to(type)), b = there(torch::tensor({to}).to(type));
      const double by_number = values(torch::lerp(a, b, weight))[0];
      const Tensor weights = there(torch::tensor({static_cast<float>(weight)}).to(type));
      EXPECT_EQ(values(torch::lerp(a, b, weights))[0], by_number);
      EXPECT_EQ(torch::lerp(a, b, weight).scalar_type(), type);
      return by_number;
    };
    EXPECT_EQ(lerp(1e8F, 1, 1, torch::kFloat), 1);
    EXPECT_EQ(lerp(1e8F, 1, 0, torch::kFloat), 1e8);
    EXPECT_EQ(lerp(-1, 256, 1, torch::kBFloat16), 256);
    EXPECT_EQ(lerp(-1, 256, 0.5, torch::kBFloat16), 127.5);
    EXPECT_EQ(lerp(-60000, 60000, 0.5, torch::kHalf), 0);
  });
}

TEST(PyTorchValues, AddcmulAndAddcdivAreComputedInTheCommonType) {
  on_both([](const auto& there) {
    const auto of = [&](double value, torch::ScalarType type) { return there(torch::full({1}, value, type)); };
    EXPECT_EQ(values(of(1.5, torch::kFloat).addcmul(of(127, torch::kChar), of(127, torch::kChar), 2)), Values{32259.5});
    EXPECT_EQ(values(of(0.5, torch::kFloat).addcmul(of(200, torch::kByte), of(200, torch::kByte), -1)),
              Values{-39999.5});
    EXPECT_EQ(values(of(-771, torch::kBFloat16).addcmul(of(85.5, torch::kBFloat16), of(3, torch::kBFloat16), 3)),
              Values{-2.5});
    EXPECT_EQ(of(1, torch::kLong).addcmul(of(2, torch::kLong), of(3, torch::kLong), 2.0).scalar_type(), torch::kLong);
    EXPECT_NEAR(values(of(1, torch::kFloat).addcdiv(of(5, torch::kBFloat16), of(44, torch::kBFloat16)))[0], 1.11363636,
                1e-7);
  });
}

TEST(PyTorchValues, NumbersTakeTheTypeOfIntegersFirst) {
  on_both([](const auto& there) {
    const auto bytes = [&](std::vector<std::int64_t> list) { return there(torch::tensor(list).to(torch::kByte)); };
    const auto chars = [&](std::vector<std::int64_t> list) { return there(torch::tensor(list).to(torch::kChar)); };
    EXPECT_EQ(values(bytes({5, 3}).add(-1)), (Values{4, 2}));
    EXPECT_EQ(values(bytes({5, 3}) & 0xFFFF), (Values{5, 3}));
    EXPECT_EQ(values(bytes({5, 3}) ^ -1), (Values{250, 252}));
    EXPECT_EQ(values(bytes({1, 255}) > -1), (Values{0, 0}));
    EXPECT_EQ(values(chars({-1, 1}) == 255), (Values{1, 0}));
    EXPECT_EQ(values(there(torch::tensor({1, 2}).to(torch::kInt)).lt(4294967296)), (Values{0, 0}));
    EXPECT_EQ(values(bytes({200, 3}).floor_divide(-1)), (Values{0, 0}));
    EXPECT_EQ(values(bytes({200, 3}).clamp(-2, 100)), (Values{100, 100}));
    EXPECT_EQ(values(bytes({1, 100}).remainder(-3)), (Values{1, 100}));
    EXPECT_EQ(values(bytes({200, 3}).floor_divide(torch::tensor(-1))), (Values{0, 0})) << "of no dimensions";
  });
  EXPECT_THROW(torch::tensor({5}).to(torch::kByte).floor_divide(256), Error) << "256 is 0";
}

TEST(PyTorchValues, ExtentsOfZero) {
  on_both([](const auto& there) {
    const Tensor x = there(torch::zeros({2, 3, 0}));
    EXPECT_EQ(values(torch::matmul(x, there(torch::zeros({0, 4})))), Values(24, 0.0));
    EXPECT_EQ(torch::linear(x, there(torch::zeros({4, 0}))).sizes().vec(), (std::vector<std::int64_t>{2, 3, 4}));
    try {
      there(torch::zeros({2, 0})).index_add(1, there(torch::tensor({0})), there(torch::ones({2, 1})));
      ADD_FAILURE() << "index_add";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("index out of range in self"));
    }
  });
}

TEST(PyTorchValues, BoolsAreClose) {
  on_both([](const auto& there) {
    const Tensor a = there(torch::tensor({true, false})), b = there(torch::tensor({true, true}));
    EXPECT_EQ(values(torch::isclose(a, b)), (Values{1, 0}));
  });
}

}  // namespace
}  // namespace kernbench
