// check_product: the verdict and the errors of a check against a naive product, for whole numbers and others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "kernbench/check.h"
#include "programs.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::tiny;

using Random = std::mt19937_64;

std::int64_t in(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

/// a b, in doubles, in the order of k.
torch::Tensor naive_product(const torch::Tensor& a, const torch::Tensor& b) {
  const auto x = a.to(torch::kDouble).contiguous(), y = b.to(torch::kDouble).contiguous();
  auto c = torch::zeros({a.size(0), b.size(1)}, torch::kDouble);
  const auto *const p = x.data_ptr<double>(), *const q = y.data_ptr<double>();
  auto* const r = c.data_ptr<double>();
  for (std::int64_t i = 0; i < a.size(0); ++i) {
    for (std::int64_t k = 0; k < a.size(1); ++k) {
      for (std::int64_t j = 0; j < b.size(1); ++j) r[i * b.size(1) + j] += p[i * a.size(1) + k] * q[k * b.size(1) + j];
    }
  }
  return c;
}

/// Both checks of one result, the errors that they record being the same. The verdict.
bool checked_alike(const torch::Tensor& actual, const torch::Tensor& a, const torch::Tensor& b, Tolerance tolerance) {
  bool verdict = false;
  const RunResult result = simulate(tiny(), [&] {
    verdict = check_product("product", actual, a, b, tolerance);
    const bool close = check_close("close", actual, naive_product(a, b).to(actual.scalar_type()), tolerance);
    EXPECT_EQ(verdict, close);
  });
  EXPECT_EQ(result.checks[0].status, result.checks[1].status);
  EXPECT_EQ(result.checks[0].max_abs_error, result.checks[1].max_abs_error);
  EXPECT_EQ(result.checks[0].max_rel_error, result.checks[1].max_rel_error);
  return verdict;
}

struct Operands {
  torch::Tensor a, b, product;
};

Operands whole_numbers(Random& random, std::int64_t largest, DType type) {
  const std::int64_t m = in(random, 1, 40), k = in(random, 0, 300), n = in(random, 1, 80);
  const auto a = torch::randint(-largest, largest + 1, {m, k}, torch::kFloat);
  const auto b = torch::randint(-largest, largest + 1, {k, n}, torch::kFloat);
  return {a, b, naive_product(a, b).to(type)};
}

class ProductCheck : public ::testing::Test {
 protected:
  /// Host tensors are made in a simulation, too. A quarter of the cases under sanitizers.
  template <class F>
  void each(int cases, const F& f) {
    for (int seed = 0; seed < (kSanitized ? cases / 4 : cases); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(static_cast<std::uint64_t>(seed));
      Operands operands;
      simulate(tiny(), [&] {
        torch::manual_seed(seed);
        operands = f(random);
      });
      const auto& [a, b, product] = operands;
      EXPECT_TRUE(checked_alike(product, a, b, {}));
      const auto wrong = with_one_wrong(random, product);
      EXPECT_FALSE(checked_alike(wrong, a, b, {}));
    }
  }

 private:
  static torch::Tensor with_one_wrong(Random& random, const torch::Tensor& product) {
    torch::Tensor wrong;
    simulate(tiny(), [&] {
      wrong = product.clone();
      const auto row = in(random, 0, product.size(0) - 1), column = in(random, 0, product.size(1) - 1);
      wrong[row][column] += 64;
    });
    return wrong;
  }
};

TEST_F(ProductCheck, FindsOneWrongElementOfWholeNumbers) {
  each(100, [](Random& random) { return whole_numbers(random, 3, DType::f16); });
}

TEST_F(ProductCheck, TakesSumsThatWereRoundedToTheType) {
  // Sums of several thousands: f16 holds whole numbers up to 2048, bf16 up to 256.
  each(40, [](Random& random) { return whole_numbers(random, 12, DType::f16); });
  each(30, [](Random& random) { return whole_numbers(random, 5, DType::bf16); });
}

TEST_F(ProductCheck, TakesWholeNumbersThatNoFloatHolds) {
  each(30, [](Random& random) { return whole_numbers(random, 2000, DType::i32); });
  each(30, [](Random& random) { return whole_numbers(random, 30000, DType::f64); });
}

TEST_F(ProductCheck, ComparesOtherNumbersWithinTheTolerance) {
  simulate(tiny(), [] {
    const auto a = torch::randn({33, 70}), b = torch::randn({70, 45});
    const auto product = naive_product(a, b).to(torch::kFloat);
    EXPECT_TRUE(check_product("near", product, a, b, {.absolute = 1e-4}));
    EXPECT_FALSE(check_product("far", product + 1e-3F, a, b, {.absolute = 1e-4}));
    auto invalid = product.clone();
    invalid[2][3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(check_product("not a number", invalid, a, b, {.absolute = 1e-4}));
  });
}

TEST_F(ProductCheck, FindsARowThatIsAnotherOnesAndAPermutedColumn) {
  simulate(tiny(), [] {
    const auto a = torch::randint(-3, 4, {300, 64}, torch::kFloat), b = torch::randint(-3, 4, {64, 50}, torch::kFloat);
    const auto product = naive_product(a, b).to(torch::kFloat);
    auto rows = product.clone();
    rows.select(0, 299).copy_(product.select(0, 1));
    EXPECT_FALSE(check_product("rows", rows, a, b));
    auto columns = product.clone();
    columns.select(1, 0).copy_(product.select(1, 49));
    columns.select(1, 49).copy_(product.select(1, 0));
    EXPECT_FALSE(check_product("columns", columns, a, b));
  });
}

TEST_F(ProductCheck, ReadsADeviceTensorInTheTimeOfCheckClose) {
  const auto end = [](bool product) {
    const RunResult result = simulate(tiny(), [&] {
      const auto a = torch::ones({64, 32}), b = torch::ones({32, 48}), sum = torch::full({64, 48}, 32, torch::kHalf);
      const auto c = torch::full({64, 48}, 32, torch::dtype(torch::kHalf).device("ahbm"));
      EXPECT_TRUE(product ? check_product("c", c, a, b) : check_close("c", c, sum));
    });
    return result.simulated_time;
  };
  EXPECT_EQ(end(true), end(false));
}

TEST_F(ProductCheck, NamesOperandsThatDoNotFit) {
  EXPECT_THAT(error_of([] { check_product("c", torch::ones({2, 3}), torch::ones({2, 4}), torch::ones({5, 3})); }),
              HasSubstr("check_product(c): [2, 3] is not the shape of the product of [2, 4] and [5, 3]"));
  EXPECT_THAT(error_of([] {
                check_product("c", torch::ones({2, 3}), torch::ones({2, 4}),
                              torch::ones({4, 3}, torch::device("ahbm")));
              }),
              HasSubstr("check_product(c): operand b must be on the host, but it is on ahbm:0"));
}

}  // namespace
}  // namespace kernbench
