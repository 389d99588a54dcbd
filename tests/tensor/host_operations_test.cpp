// Host mathematics against plain loops: random views, exhaustive small types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "fake_context.h"
#include "kernbench/error.h"
#include "kernbench/torch.h"
#include "kernbench/torch/backward.h"

namespace kernbench {
namespace {

using torch::Tensor;
using Extents = std::vector<std::int64_t>;

class HostOperations : public ::testing::Test {
 protected:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  }

  /// Values of one digit, so that sums and products are exact.
  Tensor digits(const Extents& sizes, torch::ScalarType type = torch::kFloat) {
    return torch::randint(-9, 10, sizes).to(type);
  }

  /// A view of those sizes whose elements lie anyhow in memory: permuted, with steps, at an offset.
  Tensor view_of(const Extents& sizes, torch::ScalarType type = torch::kFloat) {
    const auto rank = static_cast<std::int64_t>(sizes.size());
    Extents order(sizes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::shuffle(order.begin(), order.end(), random);
    Extents memory(sizes.size()), steps(sizes.size()), back(sizes.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto d = static_cast<std::size_t>(order[i]);
      steps[i] = 1 + below(2);
      memory[i] = sizes[d] * steps[i] + 1;
      back[d] = static_cast<std::int64_t>(i);
    }
    Tensor tensor = digits(memory, type);
    for (std::int64_t d = 0; d < rank; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const std::int64_t size = sizes[static_cast<std::size_t>(order[i])];
      tensor = tensor.slice(d, 1, 1 + size * steps[i], steps[i]);
    }
    return tensor.permute(back);
  }

  Extents some_sizes() {
    Extents sizes(static_cast<std::size_t>(below(5)));
    for (auto& size : sizes) size = 1 + below(4);
    return sizes;
  }

  /// Some extents become 1, and leading ones go.
  Extents broadcastable(Extents sizes) {
    for (auto& size : sizes)
      if (below(3) == 0) size = 1;
    if (!sizes.empty() && below(3) == 0) sizes.erase(sizes.begin());
    return sizes;
  }

  std::string error_of(const std::function<void()>& program) {
    try {
      program();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  tensor::FakeContext context;
  std::mt19937_64 random{20};
};

std::vector<double> values(const Tensor& tensor) {
  const Tensor dense = tensor.to(torch::kDouble).contiguous();
  return {dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()};
}
std::vector<double> values(const Tensor& tensor, const Extents& sizes) {
  return values(tensor.expand(sizes));
}

// ---- elementwise

TEST_F(HostOperations, ElementsOfBroadcastViewsMeetTheirPartners) {
  for (int i = 0; i < 500; ++i) {
    SCOPED_TRACE(i);
    const Extents sizes = some_sizes();
    const Tensor x = view_of(broadcastable(sizes)), y = view_of(sizes), z = view_of(broadcastable(sizes));
    const auto a = values(x, sizes), b = values(y), c = values(z, sizes);
    const auto sum = values(x * y + 1), chosen = values(torch::where(x < y, x, z)), scaled = values(z.add(y, 3)),
               clamped = values(y.clamp(std::optional(x), std::optional(z)));
    for (std::size_t k = 0; k < b.size(); ++k) {
      EXPECT_EQ(sum[k], a[k] * b[k] + 1);
      EXPECT_EQ(chosen[k], a[k] < b[k] ? a[k] : c[k]);
      EXPECT_EQ(scaled[k], c[k] + 3 * b[k]);
      EXPECT_EQ(clamped[k], std::min(std::max(b[k], a[k]), c[k]));
    }
  }
}

TEST_F(HostOperations, InPlaceFunctionsChangeTheirViewAndNothingElse) {
  for (int i = 0; i < 300; ++i) {
    const Extents sizes{1 + below(4), 1 + below(4), 1 + below(4)};
    const Tensor base = digits({8, 8, 8});
    const auto part = [&](const Tensor& tensor) {
      return tensor.permute({2, 0, 1}).slice(0, 1, 1 + 2 * sizes[0], 2).narrow(1, 2, sizes[1]).narrow(2, 0, sizes[2]);
    };
    const Tensor other = view_of(broadcastable(sizes));
    const Tensor changed = base.clone(), expected = base.clone();
    part(changed).sub_(other);
    auto result = values(part(base));
    const auto b = values(other, sizes);
    for (std::size_t k = 0; k < result.size(); ++k) result[k] -= b[k];
    part(expected).copy_(torch::tensor(result, torch::kDouble).view(sizes));
    EXPECT_TRUE(changed.equal(expected));
  }
}

TEST_F(HostOperations, InPlaceFunctionsReadOverlappingOperandsBeforeTheyWrite) {
  for (int i = 0; i < 200; ++i) {
    const Tensor base = digits({7, 9});
    const std::int64_t rows = 2 + below(4), columns = 2 + below(5), row = below(3), column = below(3);
    const auto target = [&](const Tensor& x) { return x.narrow(0, 1, rows).narrow(1, 1, columns); };
    const auto source = [&](const Tensor& x) { return x.narrow(0, row, rows).narrow(1, column, columns); };
    const Tensor changed = base.clone(), expected = base.clone();
    target(changed).add_(source(changed)).sub_(source(changed), 2);
    const Tensor sum = target(base) + source(base);
    target(expected).copy_(sum);
    target(expected).copy_(target(expected).sub(source(expected.clone()), 2).clone());
    EXPECT_TRUE(changed.equal(expected));
  }
}

TEST_F(HostOperations, SmallIntegersDivideAsMathematicsSays) {
  const Tensor all = torch::arange(-128, 128, torch::kChar);
  const Tensor x = all.view({256, 1}), y = torch::cat({all.slice(0, 0, 128), all.slice(0, 129)});  // without 0
  const auto a = values(x, {256, 255}), b = values(y, {256, 255});
  const auto floored = values(x.div(y, "floor")), truncated = values(x.div(y, "trunc")),
             remainder = values(x.remainder(y)), fmod = values(x.fmod(y)), quotient = values(x / y);
  for (std::size_t i = 0; i < a.size(); ++i) {
    // -128 / -1 is the one that wraps.
    const double whole = a[i] == -128 && b[i] == -1 ? -128 : std::floor(a[i] / b[i]);
    ASSERT_EQ(floored[i], whole);
    ASSERT_EQ(truncated[i], a[i] == -128 && b[i] == -1 ? -128 : std::trunc(a[i] / b[i]));
    ASSERT_EQ(remainder[i], a[i] - std::floor(a[i] / b[i]) * b[i]);
    ASSERT_EQ(fmod[i], std::fmod(a[i], b[i]));
    ASSERT_EQ(quotient[i], static_cast<float>(a[i] / b[i]));
  }
  EXPECT_THAT(error_of([&] { x / 1 + x.div(0, "floor"); }), ::testing::HasSubstr("ZeroDivisionError"));
}

TEST_F(HostOperations, SmallIntegersWrapAndShift) {
  const Tensor all = torch::arange(0, 256, torch::kByte);
  const Tensor x = all.view({256, 1});
  const auto a = values(x, {256, 256}), b = values(all, {256, 256});
  const auto sum = values(x + all), difference = values(x - all), product = values(x * all), both = values(x & all),
             either = values(x ^ all), right = values(x.bitwise_right_shift(all % 8));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto m = static_cast<unsigned>(a[i]), n = static_cast<unsigned>(b[i]);
    ASSERT_EQ(sum[i], (m + n) % 256);
    ASSERT_EQ(difference[i], (m - n) % 256);
    ASSERT_EQ(product[i], (m * n) % 256);
    ASSERT_EQ(both[i], m & n);
    ASSERT_EQ(either[i], m ^ n);
    ASSERT_EQ(right[i], m >> (n % 8));
  }
}

struct Function {
  const char* name;
  std::function<Tensor(const Tensor&)> of_tensor;
  double (*of_double)(double);
  double steps = 0;  // error besides, of an argument of 1, where each step is rounded
};

/// By the C library in double, which host functions of f32 must meet within half an ulp and a little.
const std::vector<Function>& functions() {
  static const std::vector<Function> all{
      {"exp", torch::exp, [](double x) { return std::exp(x); }},
      {"exp2", torch::exp2, [](double x) { return std::exp2(x); }},
      {"expm1", torch::expm1, [](double x) { return std::expm1(x); }},
      {"log", torch::log, [](double x) { return std::log(x); }},
      {"log2", torch::log2, [](double x) { return std::log2(x); }},
      {"log10", torch::log10, [](double x) { return std::log10(x); }},
      {"log1p", torch::log1p, [](double x) { return std::log1p(x); }},
      {"sin", torch::sin, [](double x) { return std::sin(x); }},
      {"cos", torch::cos, [](double x) { return std::cos(x); }},
      {"tanh", torch::tanh, [](double x) { return std::tanh(x); }},
      {"erf", torch::erf, [](double x) { return std::erf(x); }},
      {"sigmoid", torch::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"sqrt", torch::sqrt, [](double x) { return std::sqrt(x); }},
      {"reciprocal", torch::reciprocal, [](double x) { return 1 / x; }},
      {"silu", torch::silu, [](double x) { return x / (1 + std::exp(-x)); }, 0x1p-23},
      {"gelu", [](const Tensor& x) { return torch::gelu(x); },
       [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, 0x1p-22},
      {"floor", torch::floor, [](double x) { return std::floor(x); }},
      {"ceil", torch::ceil, [](double x) { return std::ceil(x); }},
      {"round", torch::round, [](double x) { return std::nearbyint(x); }},
      {"trunc", torch::trunc, [](double x) { return std::trunc(x); }},
  };
  return all;
}

TEST_F(HostOperations, FunctionsOfHalvesAreTheRoundedOnesForAllHalves) {
  std::vector<torch::Half> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
  const Tensor x = torch::from_blob(all.data(), {65536}, torch::kHalf);
  for (const Function& function : functions()) {
    SCOPED_TRACE(function.name);
    const auto actual = values(function.of_tensor(x));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto once = static_cast<float>(function.of_double(static_cast<double>(static_cast<float>(all[i]))));
      const auto expected = static_cast<double>(static_cast<float>(torch::Half(once)));
      if (std::isnan(expected) ? std::isnan(actual[i]) : actual[i] == expected) continue;
      // exp, log and tanh are the project's own, within 0.501 ulp of f32: a tie of f16 may fall to the other side.
      const double steps = function.steps * std::abs(static_cast<double>(static_cast<float>(all[i])));
      ASSERT_NEAR(actual[i], expected, std::abs(expected) * 0x1p-10 + (steps > 0 ? steps + 0x1p-24 : 0)) << i;
    }
  }
}

TEST_F(HostOperations, FunctionsOfFloatsAreWithinAnUlp) {
  std::uniform_real_distribution<float> exponent(-12, 6);
  std::vector<float> inputs(20'000);
  for (float& input : inputs) input = std::exp2(exponent(random)) * (below(2) != 0 ? 1.0f : -1.0f);
  const Tensor x = torch::tensor(inputs);
  for (const Function& function : functions()) {
    SCOPED_TRACE(function.name);
    const auto actual = values(function.of_tensor(x));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double expected = function.of_double(static_cast<double>(inputs[i]));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(actual[i])) << inputs[i];
      } else {
        const double steps = function.steps * std::abs(static_cast<double>(inputs[i]));
        ASSERT_NEAR(actual[i], expected, std::abs(expected) * 0x1.1p-24 + 1e-45 + steps) << inputs[i];
      }
    }
  }
}

// ---- over dimensions

/// For each element of a dense [a, b, c]: where it goes when `chosen` dimensions are reduced.
std::vector<std::size_t> destinations(const Extents& sizes, const std::vector<bool>& chosen) {
  std::vector<std::size_t> result;
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    for (std::int64_t j = 0; j < sizes[1]; ++j) {
      for (std::int64_t k = 0; k < sizes[2]; ++k) {
        std::int64_t at = 0;
        at = chosen[0] ? at : i;
        at = chosen[1] ? at : at * sizes[1] + j;
        at = chosen[2] ? at : at * sizes[2] + k;
        result.push_back(static_cast<std::size_t>(at));
      }
    }
  }
  return result;
}

TEST_F(HostOperations, ReductionsOfViewsOverAnyDimensions) {
  for (int i = 0; i < 300; ++i) {
    const Extents sizes{1 + below(5), 1 + below(5), 1 + below(5)};
    std::vector<bool> chosen(3);
    Extents dimensions;
    for (std::size_t d = 0; d < 3; ++d) {
      chosen[d] = below(2) != 0;
      if (chosen[d]) dimensions.push_back(static_cast<std::int64_t>(d) - (below(2) != 0 ? 3 : 0));
    }
    if (dimensions.empty()) continue;
    const Tensor x = view_of(sizes);
    const auto all = values(x), sum = values(x.sum(dimensions)), most = values(x.amax(dimensions, true)),
               least = values(x.amin(dimensions)), variance = values(x.var(dimensions, false)),
               any = values((x > 5).sum(dimensions));
    const auto at = destinations(sizes, chosen);
    std::vector<double> total(sum.size(), 0), squares(sum.size(), 0), count(sum.size(), 0), above(sum.size(), 0),
        high(sum.size(), -99), low(sum.size(), 99);
    for (std::size_t k = 0; k < all.size(); ++k) {
      total[at[k]] += all[k];
      squares[at[k]] += all[k] * all[k];
      ++count[at[k]];
      above[at[k]] += all[k] > 5 ? 1 : 0;
      high[at[k]] = std::max(high[at[k]], all[k]);
      low[at[k]] = std::min(low[at[k]], all[k]);
    }
    EXPECT_EQ(sum, total);
    EXPECT_EQ(most, high);
    EXPECT_EQ(least, low);
    EXPECT_EQ(any, above);
    for (std::size_t k = 0; k < sum.size(); ++k) {
      const double mean = total[k] / count[k];
      EXPECT_NEAR(variance[k], squares[k] / count[k] - mean * mean, 1e-4);
    }
  }
}

TEST_F(HostOperations, IndexOfAnExtremeIsTheFirstOne) {
  for (int i = 0; i < 300; ++i) {
    const Extents sizes{1 + below(6), 1 + below(6)};
    const Tensor x = view_of(sizes, below(2) != 0 ? torch::kFloat : torch::kInt);
    const auto all = values(x), most = values(x.argmax(1)), least = values(x.argmin(0));
    for (std::int64_t row = 0; row < sizes[0]; ++row) {
      const auto begin = all.begin() + row * sizes[1];
      EXPECT_EQ(most[static_cast<std::size_t>(row)], std::max_element(begin, begin + sizes[1]) - begin);
    }
    for (std::int64_t column = 0; column < sizes[1]; ++column) {
      std::int64_t best = 0;
      for (std::int64_t row = 0; row < sizes[0]; ++row)
        if (all[static_cast<std::size_t>(row * sizes[1] + column)] <
            all[static_cast<std::size_t>(best * sizes[1] + column)])
          best = row;
      EXPECT_EQ(least[static_cast<std::size_t>(column)], static_cast<double>(best));
    }
  }
}

// ---- matrices

TEST_F(HostOperations, ProductsOfViewsAreExactOnDigits) {
  for (const auto type :
       {torch::kFloat, torch::kHalf, torch::kBFloat16, torch::kDouble, torch::kInt, torch::kLong, DType::f8e4m3}) {
    for (int i = 0; i < 40; ++i) {
      const std::int64_t g = 1 + below(3), m = 1 + below(9), n = 1 + below(9), k = 1 + below(3);
      const Tensor a = view_of({g, m, k}, type), b = view_of({g, k, n}, type);
      const auto x = values(a), y = values(b), actual = values(a.bmm(b).to(torch::kDouble));
      std::vector<double> sums(static_cast<std::size_t>(g * m * n), 0);
      for (std::size_t at = 0; at < sums.size(); ++at) {
        const auto flat = static_cast<std::int64_t>(at);
        const std::int64_t batch = flat / (m * n), row = flat / n % m, column = flat % n;
        for (std::int64_t p = 0; p < k; ++p)
          sums[at] += x[static_cast<std::size_t>((batch * m + row) * k + p)] *
                      y[static_cast<std::size_t>((batch * k + p) * n + column)];
      }
      const auto expected = values(torch::tensor(sums, torch::kDouble).to(type));
      EXPECT_EQ(actual, expected);
    }
  }
}

// ---- indices

TEST_F(HostOperations, IndicesOfViewsTakeTheElementsThatTheyName) {
  using torch::indexing::Slice;
  for (int i = 0; i < 200; ++i) {
    const Extents sizes{1 + below(4), 1 + below(4), 1 + below(4)};
    const Tensor x = view_of(sizes);
    const auto all = values(x);
    const Tensor rows = torch::randint(-sizes[0], sizes[0], {2, 3}), columns = torch::randint(0, sizes[2], {3});
    const auto first = values(rows), last = values(columns, {2, 3});
    const auto apart = values(x.index({rows, Slice(), columns})),
               joined = values(x.index({Slice(), Slice(), rows.abs() % sizes[2]}));
    std::size_t next = 0;
    for (std::size_t p = 0; p < 6; ++p) {
      const auto row = static_cast<std::int64_t>(first[p] < 0 ? first[p] + static_cast<double>(sizes[0]) : first[p]);
      for (std::int64_t j = 0; j < sizes[1]; ++j)
        EXPECT_EQ(apart[next++],
                  all[static_cast<std::size_t>((row * sizes[1] + j) * sizes[2] + static_cast<std::int64_t>(last[p]))]);
    }
    next = 0;
    for (std::int64_t row = 0; row < sizes[0] * sizes[1]; ++row) {
      for (std::size_t p = 0; p < 6; ++p) {
        const auto column = static_cast<std::int64_t>(std::abs(first[p])) % sizes[2];
        EXPECT_EQ(joined[next++], all[static_cast<std::size_t>(row * sizes[2] + column)]);
      }
    }
  }
}

TEST_F(HostOperations, WhatIsJoinedComesApartAgain) {
  for (int i = 0; i < 100; ++i) {
    const Extents sizes{1 + below(4), 1 + below(4), 2 + below(4)};
    const Tensor x = view_of(sizes);
    for (std::int64_t d = 0; d < 3; ++d) {
      EXPECT_TRUE(torch::cat(x.split(1 + below(3), d), d).equal(x));
      EXPECT_TRUE(torch::cat(x.chunk(1 + below(3), d), d).equal(x));
      EXPECT_TRUE(torch::stack(x.unbind(d), d).equal(x));
    }
  }
}

// Where the slope is level, no product of what is 0 there and what overflows is NaN.
TEST_F(HostOperations, GradientsOfActivationsAreThoseOfALineFarOut) {
  const Tensor x = torch::tensor({1e15, -1e15, 90.0, -90.0}).to(torch::kFloat), grad = torch::full({4}, 0.5);
  const Tensor expected = torch::tensor({0.5, 0.0, 0.5, 0.0}).to(torch::kFloat);
  for (const char* const approximate : {"none", "tanh"})
    EXPECT_TRUE(torch::gelu_backward(grad, x, approximate).equal(expected)) << approximate;
  EXPECT_TRUE(torch::allclose(torch::silu_backward(grad, x), expected));
}

}  // namespace
}  // namespace kernbench
