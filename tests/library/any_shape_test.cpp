// Functions of tensors whose shapes and views fit no grid of PEs: values against the host's, and times on ahbm-1sip
// without options. Beside each bound of a time is what the function took when nothing was done for its shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "support.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using torch::Tensor;

/// Microseconds from the first command to the last completion, bytes that were copied from the host, and copies on the
/// device.
struct TimedCall {
  double us = 0;
  std::int64_t copied = 0;
  std::int64_t copy_launches = 0;
};

TimedCall timed(const std::function<void()>& body, const std::string& topology = "ahbm-1sip",
                const std::vector<std::string>& overrides = {}) {
  SimulateOptions options;
  options.topology = topology;
  options.overrides = overrides;
  options.data = false;
  options.quick_plans = true;
  const RunResult result = simulate(options, [&] {
    body();
    torch::ahbm::synchronize();
  });
  EXPECT_FALSE(result.error) << result.error->message;
  TimedCall work;
  Time end;
  for (const LaunchResult& launch : result.launches) end = std::max(end, launch.end);
  if (!result.launches.empty()) work.us = (end - result.launches.front().start).in_seconds() * 1e6;
  for (const auto& copy : result.copies) work.copied += copy.bytes.count();
  work.copy_launches = std::ranges::count(result.launches, "copy", &LaunchResult::kernel);
  return work;
}

Tensor device_tensor(const std::vector<std::int64_t>& sizes, DType dtype = DType::f16) {
  return torch::empty(sizes, torch::dtype(dtype).device("ahbm"));
}

// ---- factories ---------------------------------------------------------------------------------------------------

TEST(AnyShape, RampsAndUnitMatricesAreMadeOnTheDevice) {
  NOT_UNDER_SANITIZERS("times only");
  const std::vector<std::pair<const char*, std::function<void()>>> all{
      {"linspace", [] { torch::linspace(0, 1, 300'001, torch::device("ahbm")); }},
      {"arange", [] { torch::arange(0, 1000, 0.0033, torch::device("ahbm")); }},
      {"eye", [] { torch::eye(600, 601, torch::device("ahbm")); }}};
  for (const auto& [name, function] : all) {
    const TimedCall work = timed(function);
    EXPECT_EQ(work.copied, 0) << name;
    EXPECT_LT(work.us, 10) << name << ": from the host 25 us and more";
  }
}

TEST(AnyShape, RampsOfADeviceAreNearThoseOfTheHost) {
  for_random_cases(12, [](Draw& draw) {
    const DType dtype = draw.of<DType>({DType::f32, DType::f16, DType::bf16});
    const torch::TensorOptions there = torch::dtype(dtype).device("ahbm").placement(draw.placement());
    const std::int64_t count = draw.integer(1, 3000);
    const double low = static_cast<double>(draw.integer(-900, 900)) / 7,
                 high = static_cast<double>(draw.integer(-9, 9));
    const double largest = std::max(std::abs(low), std::abs(high));
    const Tensor line = torch::linspace(low, high, count, there);
    expect_near(line, elements(torch::linspace(low, high, count, torch::dtype(dtype))), 2 * unit(dtype),
                0x1p-23 * largest, "linspace");
    EXPECT_EQ(elements(line).back(), rounded({count == 1 ? low : high}, dtype).front());
    const double step = high == 0 ? 0.1 : high / 11;
    const double end = low + step * (static_cast<double>(count) - 0.5);
    const Tensor ramp = torch::arange(low, end, step, there);
    ASSERT_EQ(ramp.numel(), count);
    expect_near(ramp, elements(torch::arange(low, end, step, torch::dtype(dtype))), 2 * unit(dtype),
                0x1p-23 * std::max(largest, std::abs(end)), "arange");
  });
}

TEST(AnyShape, UnitMatricesHaveOnesOnTheDiagonalAlone) {
  for_random_cases(12, [](Draw& draw) {
    const DType dtype = draw.of<DType>({DType::f32, DType::f16, DType::i64, DType::u8, DType::boolean});
    const std::int64_t rows = draw.integer(0, 40), columns = draw.integer(0, 40);
    const torch::TensorOptions there = torch::dtype(dtype).device("ahbm").placement(draw.placement());
    expect_equal(torch::eye(rows, columns, there), elements(torch::eye(rows, columns, torch::dtype(dtype))), "eye");
  });
}

// ---- sums by index -----------------------------------------------------------------------------------------------

TEST(AnyShape, ScatterAddAddsInTheOrderOfTheIndicesAlongAnyDimension) {
  for_random_cases(24, [](Draw& draw) {
    const DType dtype = draw.of<DType>({DType::f32, DType::f16});
    const auto rank = static_cast<std::size_t>(draw.integer(1, 3));
    const Sizes sizes = draw.sizes(rank, 600);
    const auto at = draw.integer(0, static_cast<std::int64_t>(rank) - 1);
    Sizes named = sizes, given;
    for (std::size_t d = 0; d < rank; ++d) {
      named[d] = static_cast<std::int64_t>(d) == at ? draw.integer(1, 9) : draw.integer(1, sizes[d]);
      given.push_back(named[d] + draw.integer(0, 2));
    }
    const Pair x = random_pair(draw, sizes, normal(dtype)), source = random_pair(draw, given, normal(dtype));
    const auto extent = sizes[static_cast<std::size_t>(at)];
    const Pair index = random_pair(draw, named, whole_numbers(DType::i64, 0, extent - 1));
    expect_equal(torch::scatter_add(x.device, at, index.device, source.device),
                 elements(torch::scatter_add(x.host, at, index.host, source.host)), "scatter_add");
  });
}

TEST(AnyShape, ScatterAddSharesLinesOverThePes) {
  NOT_UNDER_SANITIZERS("times only");
  const auto add = [] {
    const Tensor x = device_tensor({500, 16}, DType::f32), source = device_tensor({1000, 16}, DType::f32);
    x.scatter_add(0, device_tensor({1000, 16}, DType::i64), source);
  };
  EXPECT_LT(timed(add, "tiny", {"sip.cubes.mesh=[2, 2]"}).us, 16) << "one program for all: 24.4 us";
}

// All programs take the rows in one order, and so the indices and the terms of one slice at a time.
TEST(AnyShape, SumsOfManyRowsDoNotReadOneSliceAtATime) {
  NOT_UNDER_SANITIZERS("times only");
  if (!takes_all_cases()) GTEST_SKIP() << "seconds: make test-full";
  const auto add = [](std::int64_t rows) {
    return timed([rows] {
      const Tensor terms = device_tensor({rows, 512}, DType::f32);
      device_tensor({8, 512}, DType::f32).index_add(0, device_tensor({rows}, DType::i64), terms);
    });
  };
  EXPECT_LT(add(20'000).us, 75) << "each for itself: 107.9 us";
}

TEST(AnyShape, SumsOfManyRowsHaveTheBitsOfTheHosts) {
  simulate({.topology = "tiny", .overrides = {"sip.cubes.mesh=[2, 2]"}}, [] {
    const Tensor x = torch::randn({5, 70}), terms = torch::randn({6000, 70});
    const Tensor index = torch::arange(6000).mul(7).remainder(5);
    expect_equal(torch::index_add(x.to("ahbm"), 0, index.to("ahbm"), terms.to("ahbm")),
                 elements(torch::index_add(x, 0, index, terms)), "index_add");
  });
}

// ---- views in another order --------------------------------------------------------------------------------------

TEST(AnyShape, FunctionsOfTurnedNarrowTensorsReadNoElementAlone) {
  NOT_UNDER_SANITIZERS("times only");
  const auto turned = [](const std::function<void(const Tensor& narrow, const Tensor& wide)>& function) {
    return timed([&] { function(device_tensor({246'723, 17}).t(), device_tensor({17, 246'723})); }).us;
  };
  EXPECT_LT(turned([](const Tensor& x, const Tensor&) { torch::relu(x); }), 11) << "element by element: 22 us";
  EXPECT_LT(turned([](const Tensor& x, const Tensor& y) { torch::add(x, y); }), 11.5) << "element by element: 23.5 us";
}

TEST(AnyShape, ATurnedNarrowTensorThatIsBothOperandsIsCopiedOnce) {
  NOT_UNDER_SANITIZERS("times only");
  const TimedCall work = timed([] {
    const Tensor turned = device_tensor({246'723, 17}).t();
    torch::mul(turned, turned);
  });
  EXPECT_EQ(work.copy_launches, 1);
}

TEST(AnyShape, FunctionsOfTurnedNarrowTensorsHaveTheHostsValues) {
  for_random_cases(12, [](Draw& draw) {
    const DType dtype = draw.of<DType>({DType::f16, DType::f32, DType::u8});
    const std::int64_t rows = draw.integer(900, 4000), columns = draw.integer(2, 19);
    const Tensor x = whole_numbers(dtype, 0, 9)({rows, columns}), y = whole_numbers(dtype, 0, 9)({columns, rows});
    const auto placed = [&](const Tensor& host) { return host.to(torch::device("ahbm").placement(draw.placement())); };
    const Tensor x_there = placed(x), y_there = placed(y);
    expect_equal(x_there.t() + y_there, elements(x.t() + y), "x.t() + y");
    expect_equal(x_there.t() + x_there.t(), elements(x.t() + x.t()), "x.t() + x.t()");
    expect_equal(x_there.t().eq(3), elements(x.t().eq(3)), "x.t() == 3");
  });
}

TEST(AnyShape, ReductionsOfATurnedTensorFollowTheOrderInMemory) {
  NOT_UNDER_SANITIZERS("times only");
  const TimedCall work = timed([] { torch::sum(device_tensor({4096, 4096}).t(), {1}); });
  EXPECT_LT(work.us, 17) << "each PE pieces of all rows: 34.4 us";
}

TEST(AnyShape, ReductionsOfTurnedTensorsHaveTheHostsValues) {
  for_random_cases(24, [](Draw& draw) {
    const Sizes sizes = draw.sizes(3, 3000);
    const Tensor x = whole_numbers(draw.of<DType>({DType::f32, DType::f16, DType::i64}), -9, 9)(sizes);
    const Tensor there = x.to(torch::device("ahbm").placement(draw.placement()));
    const std::vector<std::int64_t> order = draw.of<std::vector<std::int64_t>>({{2, 0, 1}, {1, 0, 2}, {2, 1, 0}});
    const Tensor host = x.permute(order), device = there.permute(order);
    for (std::int64_t d = 0; d < 3; ++d) {
      expect_equal(device.sum({d}), elements(host.sum({d})), "sum");
      expect_equal(device.argmin(d, true), elements(host.argmin(d, true)), "argmin");
      const auto [most, where] = host.max(d);
      const auto [most_there, where_there] = device.max(d);
      expect_equal(most_there, elements(most), "max");
      expect_equal(where_there, elements(where), "where the largest are");
    }
    expect_equal(device.amax({0, 2}), elements(host.amax({0, 2})), "amax");
  });
}

TEST(AnyShape, SoftmaxOfLongColumnsIsReadInRows) {
  NOT_UNDER_SANITIZERS("times only");
  const TimedCall work = timed([] { torch::softmax(device_tensor({16'384, 512}), 0); });
  EXPECT_LT(work.us, 35) << "column by column: 65.1 us";
}

TEST(AnyShape, SoftmaxOfLongColumnsHasTheHostsValues) {
  for_random_cases(4, [](Draw& draw) {
    const Tensor x = normal(DType::f32)({draw.integer(9'000, 16'000), draw.integer(17, 40)});
    const Tensor there = x.to("ahbm");
    expect_near(torch::softmax(there, 0), elements(torch::softmax(x, 0)), 0x1p-16, 0, "softmax");
    expect_near(torch::log_softmax(there, 0), elements(torch::log_softmax(x, 0)), 0x1p-16, 0x1p-16, "log_softmax");
  });
}

// ---- NaN ---------------------------------------------------------------------------------------------------------

TEST(AnyShape, ANaNIsTheExtremeAndTheFirstOneIsWhereItIs) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN(), kMost = std::numeric_limits<float>::infinity();
  for_random_cases(24, [&](Draw& draw) {
    const std::int64_t rows = draw.integer(1, 9), columns = draw.integer(1, 700);
    const Tensor x = whole_numbers(DType::f32, -3, 3)({rows, columns}).contiguous();
    for (std::int64_t i = draw.integer(0, 5); i > 0; --i)
      x.data_ptr<float>()[draw.integer(0, rows * columns - 1)] = draw.of<float>({kNone, kNone, kMost, -kMost});
    const Tensor host = x.to(draw.of<DType>({DType::f32, DType::f16}));
    const Tensor device = host.to(torch::device("ahbm").placement(draw.placement()));
    for (std::int64_t d = 0; d < 2; ++d) {
      for (const bool largest : {true, false}) {
        const auto extreme = [&](const Tensor& t) { return largest ? t.max(d) : t.min(d); };
        const auto expected = extreme(host), found = extreme(device);
        expect_equal(std::get<0>(found), elements(std::get<0>(expected)), "extreme");
        expect_equal(std::get<1>(found), elements(std::get<1>(expected)), "its index");
      }
      // Of numbers that are equal any may be the median.
      const Tensor has_nan = host.isnan().any(d);
      const Tensor median = std::get<1>(device.median(d)).cpu();
      expect_equal(median.masked_select(has_nan), elements(host.argmax(d).masked_select(has_nan)), "median");
      expect_equal(std::get<1>(host.median(d)).masked_select(has_nan), elements(host.argmax(d).masked_select(has_nan)),
                   "median on the host");
    }
  });
}

TEST(AnyShape, IndicesOfTheLargestOfManyShortColumnsTakeFewPasses) {
  NOT_UNDER_SANITIZERS("times only");
  const TimedCall work = timed([] { torch::argmax(device_tensor({8, 21, 512, 512}), 1); });
  EXPECT_LT(work.us, 45) << "an element of a column at a time: 91.8 us";
}

}  // namespace
}  // namespace kernbench
