// Operations along dimensions on a device, against loops in double, over random types, views and placements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "support.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using tensor::ReduceOperation;
using torch::Tensor;

/// The lines of a tensor along some dimensions: for each element of the result the elements that it is made from, in
/// row-major order.
struct Lines {
  Sizes kept;  // sizes with extent 1 along the dimensions
  std::vector<std::vector<std::size_t>> elements;
};

Lines lines_of(const Sizes& sizes, const std::vector<std::int64_t>& dimensions) {
  Lines lines{sizes, {}};
  for (const auto d : dimensions) lines.kept[static_cast<std::size_t>(d)] = 1;
  std::int64_t results = 1, all = 1;
  for (const auto extent : lines.kept) results *= extent;
  for (const auto extent : sizes) all *= extent;
  lines.elements.resize(static_cast<std::size_t>(results));
  for (std::int64_t i = 0; i < all; ++i) {
    std::int64_t left = i, result = 0, stride = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      const std::int64_t index = left % sizes[d];
      left /= sizes[d];
      if (lines.kept[d] == 1) continue;
      result += index * stride;
      stride *= lines.kept[d];
    }
    lines.elements[static_cast<std::size_t>(result)].push_back(static_cast<std::size_t>(i));
  }
  return lines;
}

std::vector<double> reduce(const Lines& lines, const std::vector<double>& values,
                           const std::function<double(const std::vector<double>&)>& function) {
  std::vector<double> results;
  for (const auto& line : lines.elements) {
    std::vector<double> elements;
    for (const auto i : line) elements.push_back(values[i]);
    results.push_back(function(elements));
  }
  return results;
}

std::vector<std::int64_t> random_dimensions(Draw& draw, std::size_t rank) {
  std::vector<std::int64_t> dimensions;
  while (dimensions.empty())
    for (std::size_t d = 0; d < rank; ++d)
      if (draw.chance(2)) dimensions.push_back(static_cast<std::int64_t>(d));
  return dimensions;
}

/// Sometimes large enough that a second launch combines what many PEs have reduced.
Sizes random_sizes(Draw& draw) {
  if (draw.chance(5)) return {draw.integer(200, 260), draw.integer(165, 190)};
  return draw.sizes(static_cast<std::size_t>(draw.integer(1, 4)), 6000);
}

double fold(ReduceOperation operation, const std::vector<double>& x) {
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  switch (operation) {
    case ReduceOperation::sum:
      return sum;
    case ReduceOperation::mean:
      return sum / static_cast<double>(x.size());
    case ReduceOperation::product:
      return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>());
    case ReduceOperation::maximum_nan:
    case ReduceOperation::minimum_nan: {
      double best = x.front();
      for (const double value : x) {
        if (std::isnan(value)) return value;
        best = operation == ReduceOperation::maximum_nan ? std::max(best, value) : std::min(best, value);
      }
      return best;
    }
    case ReduceOperation::logical_and:
      return std::ranges::all_of(x, [](double value) { return value != 0; }) ? 1 : 0;
    case ReduceOperation::logical_or:
      return std::ranges::any_of(x, [](double value) { return value != 0; }) ? 1 : 0;
    default:
      break;
  }
  return sum;
}

struct ReduceCase {
  ReduceOperation operation;
  DType in, compute, out;
  std::int64_t low, high;
  double relative = 0;
};

TEST(DeviceDimensions, ReductionsOfWholeNumbersAreExact) {
  using enum ReduceOperation;
  const std::vector<ReduceCase> cases{{sum, DType::f32, DType::f32, DType::f32, -9, 9},
                                      {sum, DType::f16, DType::f16, DType::f16, 0, 0},
                                      {sum, DType::i32, DType::i64, DType::i64, -99, 99},
                                      {sum, DType::boolean, DType::i64, DType::i64, 0, 1},
                                      {sum, DType::i8, DType::i32, DType::i32, -99, 99},
                                      {mean, DType::f32, DType::f32, DType::f32, 3, 3},
                                      {product, DType::f32, DType::f32, DType::f32, -1, 1},
                                      {product, DType::i32, DType::i64, DType::i64, -1, 1},
                                      {maximum_nan, DType::f16, DType::f16, DType::f16, -99, 99},
                                      {minimum_nan, DType::bf16, DType::bf16, DType::bf16, -99, 99},
                                      {maximum_nan, DType::i32, DType::i32, DType::i32, -999, 9},
                                      {minimum_nan, DType::u8, DType::u8, DType::u8, 1, 200},
                                      {logical_and, DType::boolean, DType::boolean, DType::boolean, 0, 1},
                                      {logical_or, DType::i32, DType::boolean, DType::boolean, 0, 1},
                                      {logical_and, DType::f16, DType::boolean, DType::boolean, 1, 1},
                                      {maximum_nan, DType::boolean, DType::boolean, DType::boolean, 0, 1}};
  for_random_cases(160, [&](Draw& draw) {
    const ReduceCase& test = draw.of(cases);
    const Sizes sizes = random_sizes(draw);
    const auto dimensions = random_dimensions(draw, sizes.size());
    const Lines lines = lines_of(sizes, dimensions);
    const Pair x = random_pair(draw, sizes, whole_numbers(test.in, test.low, test.high));
    const auto out = random_output(draw, lines.kept, test.out);
    operations().reduce(test.operation, x.device, dimensions, test.compute, out);
    expect_equal(out, reduce(lines, elements(x.host), [&](const auto& line) { return fold(test.operation, line); }),
                 std::string(tensor::name(test.operation)) + " of " + name(test.in));
  });
}

TEST(DeviceDimensions, FloatSumsMeansAndVariancesAreNearAndNanWinsExtremes) {
  for_random_cases(60, [&](Draw& draw) {
    const Sizes sizes = random_sizes(draw);
    const auto dimensions = random_dimensions(draw, sizes.size());
    const Lines lines = lines_of(sizes, dimensions);
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
    const Pair x = random_pair(draw, sizes, normal(dtype));
    const auto values = elements(x.host);
    const auto out = random_output(draw, lines.kept, dtype);
    const auto count = static_cast<double>(lines.elements.front().size());
    for (const auto operation : {ReduceOperation::sum, ReduceOperation::mean}) {
      operations().reduce(operation, x.device, dimensions, dtype, out);
      const double scale = operation == ReduceOperation::sum ? count : 1;
      expect_near(out, reduce(lines, values, [&](const auto& line) { return fold(operation, line); }), 2 * unit(dtype),
                  scale * 0x1p-20, tensor::name(operation));
    }
    if (count > 1) {
      operations().variance(x.device, dimensions, 1, out);
      const auto variance = reduce(lines, values, [](const std::vector<double>& line) {
        const double mean = fold(ReduceOperation::mean, line);
        double sum = 0;
        for (const double value : line) sum += (value - mean) * (value - mean);
        return sum / static_cast<double>(line.size() - 1);
      });
      expect_near(out, variance, 2 * unit(dtype) + 0x1p-19, 1e-5, "variance");
    }
    auto holes = x.host.contiguous().clone();
    holes.view({-1})[draw.integer(0, holes.numel() - 1)] = torch::Scalar(std::numeric_limits<double>::quiet_NaN());
    const auto device = holes.to(torch::device("ahbm").placement(draw.placement()));
    operations().reduce(ReduceOperation::minimum_nan, device, dimensions, dtype, out);
    expect_equal(out,
                 reduce(lines, elements(holes), [&](const auto& l) { return fold(ReduceOperation::minimum_nan, l); }),
                 "amin with NaN");
  });
}

TEST(DeviceDimensions, IndicesOfExtremesAreThoseOfTheFirst) {
  for_random_cases(80, [&](Draw& draw) {
    const Sizes sizes = random_sizes(draw);
    const std::int64_t dimension = draw.integer(0, static_cast<std::int64_t>(sizes.size()) - 1);
    const Lines lines = lines_of(sizes, {dimension});
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::i32, DType::u8, DType::i8});
    Pair x = random_pair(draw, sizes, whole_numbers(dtype, dtype == DType::u8 ? 0 : -4, 4));
    if (is_floating_point(dtype) && draw.chance(3)) {
      auto holes = x.host.contiguous().clone();
      holes.view({-1})[draw.integer(0, holes.numel() - 1)] = torch::Scalar(std::numeric_limits<double>::quiet_NaN());
      x = {holes, holes.to(torch::device("ahbm").placement(draw.placement()))};
    }
    const bool largest = draw.chance(2);
    const auto out = random_output(draw, lines.kept, draw.of(std::vector{DType::i32, DType::i64}));
    const auto operation = largest ? ReduceOperation::argmax_nan : ReduceOperation::argmin_nan;
    const std::int64_t first = draw.integer(0, 1000);
    const bool knows = draw.chance(3);
    const Pair known = random_pair(draw, sizes, whole_numbers(DType::i32, 0, 1000));
    const auto values = draw.chance(2) ? torch::empty_like(out, torch::dtype(dtype)) : Tensor();
    operations().arg_reduce({operation, dimension, knows ? known.device : Tensor(), first}, x.device, out, values);
    const auto best_of = [&](const std::vector<double>& line) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < line.size(); ++i) {
        if (std::isnan(line[best])) break;
        if (std::isnan(line[i]) || (largest ? line[i] > line[best] : line[i] < line[best])) best = i;
      }
      return best;
    };
    std::vector<std::size_t> places;
    const auto best = reduce(lines, elements(x.host), [&](const std::vector<double>& line) {
      places.push_back(best_of(line));
      return line[places.back()];
    });
    if (values.defined()) expect_equal(values, best, largest ? "largest" : "smallest");
    std::size_t next = 0;
    const auto expected = reduce(lines, elements(known.host), [&](const std::vector<double>& line) {
      const std::size_t place = places[next++];
      return knows ? line[place] : static_cast<double>(first) + static_cast<double>(place);
    });
    expect_equal(out, expected, largest ? "argmax" : "argmin");
  });
}

/// Whether `a` comes before `b` when the largest come first.
bool is_larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a == b ? !std::signbit(a) && std::signbit(b) : a > b;
}

/// Some elements are out of the ordinary.
Pair with_holes(Draw& draw, const Pair& x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  auto holes = x.host.contiguous().clone();
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -0.0,
                             std::numeric_limits<double>::quiet_NaN(), -kInfinity})
    holes.view({-1})[draw.integer(0, holes.numel() - 1)] = torch::Scalar(value);
  return {holes, holes.to(torch::device("ahbm").placement(draw.placement()))};
}

/// The k largest of x along a dimension, or the smallest, are those of a stable sort.
void expect_largest(Draw& draw, const Pair& x, std::int64_t dimension, std::int64_t k) {
  const Sizes sizes = x.host.sizes().vec();
  const auto along = static_cast<std::size_t>(dimension);
  const DType dtype = x.host.scalar_type();
  const bool largest = draw.chance(2);
  Sizes best = sizes;
  best[along] = k;
  const auto values = random_output(draw, best, dtype);
  const auto indices = random_output(draw, best, draw.of(std::vector{DType::i32, DType::i64}));
  operations().top_k(x.device, dimension, largest, values, indices);
  const auto of = elements(x.host);
  const Lines lines = lines_of(sizes, {dimension}), results = lines_of(best, {dimension});
  std::vector<double> expected(elements(values).size()), places(expected.size());
  for (std::size_t line = 0; line < lines.elements.size(); ++line) {
    std::vector<std::size_t> order(lines.elements[line].size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto at = [&](std::size_t i) { return of[lines.elements[line][i]]; };
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return largest ? is_larger(at(a), at(b)) : is_larger(at(b), at(a));
    });
    for (std::size_t j = 0; j < results.elements[line].size(); ++j) {
      expected[results.elements[line][j]] = at(order[j]);
      places[results.elements[line][j]] = static_cast<double>(order[j]);
    }
  }
  expect_equal(values, expected, "values of topk");
  expect_equal(indices, places, "indices of topk");
}

TEST(DeviceDimensions, TheLargestComeInOrderAndOfEqualsTheFirst) {
  for_random_cases(80, [&](Draw& draw) {
    const Sizes sizes = random_sizes(draw);
    const std::int64_t dimension = draw.integer(0, static_cast<std::int64_t>(sizes.size()) - 1);
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8, DType::i64});
    Pair x = random_pair(draw, sizes, whole_numbers(dtype, dtype == DType::u8 ? 0 : -4, 4));
    if (is_floating_point(dtype) && draw.chance(2)) x = with_holes(draw, x);
    const std::int64_t extent = sizes[static_cast<std::size_t>(dimension)];
    expect_largest(draw, x, dimension, draw.integer(1, std::min<std::int64_t>(extent, 9)));
  });
}

// Many of a line are those at the begin of the sorted line: in the order of the rounds, with -0 behind +0.
TEST(DeviceDimensions, ManyOfALineAreSortedAndComeInTheOrderOfTheRounds) {
  for_random_cases(24, [&](Draw& draw) {
    const std::int64_t extent = draw.integer(200, 600), dimension = draw.integer(0, 1);
    const Sizes sizes = dimension == 1 ? Sizes{2, extent} : Sizes{extent, 2};
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::i32, DType::u8});
    Pair x = random_pair(draw, sizes, whole_numbers(dtype, dtype == DType::u8 ? 0 : -40, 40));
    if (is_floating_point(dtype)) x = with_holes(draw, x);
    expect_largest(draw, x, dimension, draw.integer(50, 80));
    const bool largest = draw.chance(2);
    const auto [many, places] = x.device.topk(70, dimension, largest);
    const auto [few, few_places] = x.device.topk(1, dimension, largest);
    expect_equal(few, elements(many.narrow(dimension, 0, 1)), "sorted and in rounds");
    expect_equal(few_places, elements(places.narrow(dimension, 0, 1)), "where sorted and in rounds");
  });
}

SimulateOptions on_a_device(bool data) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = data;
  options.quick_plans = true;
  return options;
}

Time time_of(const RunResult& result, const std::string& kernel) {
  EXPECT_FALSE(result.error) << result.error->message;
  std::optional<Time> begin;
  Time end{};
  for (const LaunchResult& launch : result.launches) {
    if (launch.kernel != kernel) continue;
    if (!begin) begin = launch.start;
    end = launch.end;
  }
  EXPECT_TRUE(begin) << kernel;
  return begin ? end - *begin : Time{};
}

// A few are the first of sorted blocks, put in order in stages; many are those of the whole line in order.
TEST(DeviceDimensions, TheLargestOfALineOfSeveralBlocksAgreeWithTheHost) {
  const RunResult result = simulate(on_a_device(true), [] {
    const auto host = torch::randint(-999, 999, {2, 17'001}, torch::kFloat), device = host.to("ahbm");
    for (const std::int64_t k : {3, 70, 300, 9'000}) {
      if (kSanitized && k > 3 && k < 9'000) continue;
      for (const bool largest : {true, false}) {
        const auto [values, indices] = device.topk(k, 1, largest);
        const auto [expected, places] = host.topk(k, 1, largest);
        EXPECT_TRUE(values.cpu().equal(expected)) << k;
        EXPECT_TRUE(indices.cpu().equal(places)) << k;
      }
    }
  });
  EXPECT_FALSE(result.error) << result.error->message;
  EXPECT_GE(std::ranges::count(result.launches, "topk", &LaunchResult::kernel), (kSanitized ? 2 : 4) * 2 * 3);
}

TEST(DeviceDimensions, TheLargestOfAVocabularyAreFoundByAllPes) {
  const RunResult result = simulate(on_a_device(false), [] {
    torch::empty({1, 128'256}, torch::dtype(torch::kHalf).device("ahbm")).topk(50);
    torch::ahbm::synchronize();
  });
  EXPECT_LT(time_of(result, "topk"), Time::microseconds(20)) << "in rounds: 1552 us; sorted: 130 us";
}

TEST(DeviceDimensions, TheLargestOfALineThatDoesNotFitAreFoundInRounds) {
  for_random_cases(2, [&](Draw& draw) {
    const std::int64_t extent = 40'000 + draw.integer(0, 99);
    const Pair x = random_pair(draw, {2, extent}, whole_numbers(DType::f32, -99'999, 99'999), ViewKind::whole);
    const auto [values, indices] = x.device.topk(5);
    const auto [expected, places] = x.host.topk(5);
    EXPECT_TRUE(values.cpu().equal(expected));
    EXPECT_TRUE(indices.cpu().equal(places));
  });
}

TEST(DeviceDimensions, RunningSumsGoThroughAllParts) {
  for_random_cases(40, [&](Draw& draw) {
    const Sizes sizes = random_sizes(draw);
    const std::int64_t dimension = draw.integer(0, static_cast<std::int64_t>(sizes.size()) - 1);
    const Lines lines = lines_of(sizes, {dimension});
    const DType dtype = draw.of(std::vector{DType::f32, DType::i32, DType::i64});
    const Pair x = random_pair(draw, sizes, whole_numbers(dtype, -9, 9));
    const auto out = random_output(draw, sizes, dtype);
    operations().cumulative_sum(x.device, dimension, out);
    auto expected = elements(x.host);
    for (const auto& line : lines.elements)
      for (std::size_t i = 1; i < line.size(); ++i) expected[line[i]] += expected[line[i - 1]];
    expect_equal(out, expected, "cumsum");
  });
}

/// The sums of columns in f32, one row after the other.
std::vector<double> running_in_order(const Tensor& x) {
  std::vector<double> sums = elements(x);
  const auto columns = static_cast<std::size_t>(x.size(1));
  for (std::size_t i = columns; i < sums.size(); ++i)
    sums[i] = static_cast<float>(sums[i]) + static_cast<float>(sums[i - columns]);
  return sums;
}

// One row of a PE has a number, so that the sum of its rows is that number in whatever order they are added.
TEST(DeviceDimensions, TheSumsOfPartsAreAddedOneAfterTheOther) {
  for (const std::int64_t rows_of_a_pe : {1, 5}) {
    simulate({.topology = "tiny", .overrides = {"sip.cubes.mesh=[2, 2]"}, .quick_plans = true}, [&] {
      const auto numbers = torch::randn({8, 1, 90}) * torch::tensor({1e4F, 1.0F, 1e-3F}).repeat({30});
      const auto host =
          torch::cat({torch::zeros({8, rows_of_a_pe - 1, 90}), numbers}, 1).reshape({8 * rows_of_a_pe, 90});
      const DPPolicy rows{.cube = Placement::row_wise, .pe = Placement::row_wise};
      const auto device = host.to(torch::device("ahbm").placement(rows));
      const auto sums = torch::empty_like(device);
      operations().cumulative_sum(device, 0, sums);
      expect_equal(sums, running_in_order(host), "cumsum of " + std::to_string(rows_of_a_pe) + " rows of a PE");
    });
  }
}

TEST(DeviceDimensions, APartOfARunningSumReadsOneTotal) {
  NOT_UNDER_SANITIZERS("times only");
  const auto time = [](std::int64_t rows, std::int64_t columns) {
    return time_of(simulate(on_a_device(false),
                            [&] {
                              torch::empty({rows, columns}, torch::device("ahbm")).cumsum(0);
                              torch::ahbm::synchronize();
                            }),
                   "cumsum");
  };
  EXPECT_LT(time(128, 512), Time::microseconds(9)) << "a row of a PE; all of those before it: 13.4 us";
  EXPECT_LT(time(256, 128), Time::microseconds(9)) << "two; all totals before them: 12.2 us";
}

TEST(DeviceDimensions, AllPesMakeTheVarianceOfAll) {
  const RunResult result = simulate(on_a_device(false), [] {
    torch::empty({127, 8192}, torch::device("ahbm")).var();
    torch::ahbm::synchronize();
  });
  const auto first = std::ranges::find(result.launches, "var", &LaunchResult::kernel);
  ASSERT_NE(first, result.launches.end());
  EXPECT_GT(first->pes, 120);
}

// The placement cuts the rows; so many of them are reduced where they lie.
TEST(DeviceDimensions, PesReduceWhatTheyHoldOfLongColumnsFirst) {
  const RunResult result =
      simulate({.topology = "tiny", .overrides = {"sip.cubes.mesh=[2, 2]"}, .quick_plans = true}, [] {
        const auto host = torch::randint(-9, 9, {1024, 512}, torch::kFloat), device = host.to("ahbm");
        EXPECT_TRUE(device.sum(0).cpu().equal(host.sum(0)));
        EXPECT_TRUE(device.argmax(0).cpu().equal(host.argmax(0)));
      });
  EXPECT_FALSE(result.error) << result.error->message;
  EXPECT_EQ(std::ranges::count(result.launches, "sum", &LaunchResult::kernel), 2);
  EXPECT_EQ(std::ranges::count(result.launches, "argmax", &LaunchResult::kernel), 2);
}

// Two of eight PEs hold the results. What each of them reads of the first tensor is not worth a second launch.
TEST(DeviceDimensions, ShortColumnsTakeOneLaunch) {
  for (const std::int64_t rows : {1000, 4000}) {
    const RunResult result =
        simulate({.topology = "tiny", .overrides = {"sip.cubes.mesh=[2, 2]"}, .quick_plans = true}, [&] {
          const auto host = torch::randint(-9, 9, {rows, 40}, torch::kFloat), device = host.to("ahbm");
          EXPECT_TRUE(device.sum(0).cpu().equal(host.sum(0)));
          EXPECT_TRUE(device.argmax(0).cpu().equal(host.argmax(0)));
        });
    EXPECT_FALSE(result.error) << result.error->message;
    for (const char* kernel : {"sum", "argmax"})
      EXPECT_EQ(std::ranges::count(result.launches, kernel, &LaunchResult::kernel), rows == 1000 ? 1 : 2) << kernel;
  }
}

TEST(DeviceDimensions, SumsOfLongColumnsTakeAboutAsLongAsThoseOfRows) {
  NOT_UNDER_SANITIZERS("times only");
  const RunResult result = simulate(on_a_device(false), [] {
    torch::empty({8192, 2048}, torch::device("ahbm")).sum(0);
    torch::ahbm::synchronize();
  });
  EXPECT_LT(time_of(result, "sum"), Time::microseconds(11)) << "in one launch: 18.7 us";
}

TEST(DeviceDimensions, SoftmaxAndItsLogarithmAlongAnyDimension) {
  for_random_cases(40, [&](Draw& draw) {
    const Sizes sizes = random_sizes(draw);
    const std::int64_t dimension = draw.integer(0, static_cast<std::int64_t>(sizes.size()) - 1);
    const Lines lines = lines_of(sizes, {dimension});
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
    const Pair x = random_pair(draw, sizes, normal(dtype, draw.chance(3) ? 30 : 2));
    const bool logarithm = draw.chance(2);
    const auto out = random_output(draw, sizes, dtype);
    operations().softmax(x.device, dimension, logarithm, out);
    auto expected = elements(x.host);
    for (const auto& line : lines.elements) {
      double largest = expected[line.front()], sum = 0;
      for (const auto i : line) largest = std::max(largest, expected[i]);
      for (const auto i : line) sum += std::exp(expected[i] - largest);
      for (const auto i : line)
        expected[i] = logarithm ? expected[i] - largest - std::log(sum) : std::exp(expected[i] - largest) / sum;
    }
    expect_near(out, expected, 2 * unit(dtype) + 0x1p-18, logarithm ? 0x1p-18 : 1e-7, "softmax");
  });
}

/// A function of lines [rows, columns] on a shipped device, each line cut over the PEs or whole on one.
struct LinesRun {
  Tensor values;
  LaunchResult launch;
};
LinesRun lines_on_a_device(const std::string& function, std::int64_t rows, std::int64_t columns, bool whole) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  LinesRun run;
  const RunResult result = simulate(options, [&] {
    torch::manual_seed(7);
    const Tensor x = torch::randn({rows, columns}), weight = torch::randn({columns}), bias = torch::randn({columns});
    auto device = torch::dtype(torch::kHalf).device("ahbm");
    const Tensor scale = weight.to(device), shift = bias.to(device);
    if (whole) device = device.placement({.num_cubes = 1, .num_pes = 1});
    const Tensor lines = x.to(device);
    const Tensor y = function == "layer_norm" ? torch::layer_norm(lines, {columns}, scale, shift)
                     : function == "rms_norm" ? torch::rms_norm(lines, {columns}, scale)
                     : function == "softmax"  ? torch::softmax(lines, 1)
                                              : torch::log_softmax(lines, 1);
    run.values = y.cpu();
  });
  EXPECT_EQ(result.status, RunStatus::ok);
  for (const LaunchResult& launch : result.launches)
    if (launch.kernel == function) run.launch = launch;
  return run;
}

// Of one line each PE has a part, of 16 an eighth of the PEs; of three each has columns of all of them.
TEST(DeviceDimensions, FewLinesAreWorkedOnWhereTheyLieWithTheBitsOfOneProgram) {
  for (const std::string function : {"rms_norm", "layer_norm", "softmax", "log_softmax"}) {
    for (const std::int64_t rows : {1, 3, 16}) {
      if (kSanitized && rows != 3) continue;
      const LinesRun parts = lines_on_a_device(function, rows, 2048, false);
      const LinesRun whole = lines_on_a_device(function, rows, 2048, true);
      EXPECT_TRUE(parts.values.equal(whole.values)) << rows << " " << function;
      // What each holder writes is its own, and of the weights it reads its part: only the lines come from elsewhere,
      // once each.
      const Bytes lines = Bytes(rows * 2048 * 2);
      EXPECT_GE(parts.launch.distance.own_slice, lines) << rows;
      EXPECT_LE(parts.launch.hbm_bytes, lines * 3 + Bytes(16 * 2 * 2048 * 2)) << rows << " " << function;
    }
  }
  // One program for the line takes 6.9 and 7.1 us, of which 1.9 us are translations of the pages that it writes.
  for (const char* function : {"rms_norm", "softmax"}) {
    if (kSanitized) break;  // times only
    const LinesRun decode = lines_on_a_device(function, 1, 8192, false);
    EXPECT_LE(decode.launch.end - decode.launch.start, Time::nanoseconds(3'300)) << function;
  }
}

TEST(DeviceDimensions, LayerNormAndRmsNormOverTheLastDimensions) {
  for_random_cases(80, [&](Draw& draw) {
    const Sizes sizes = random_sizes(draw);
    const std::int64_t count = draw.integer(1, static_cast<std::int64_t>(sizes.size()));
    std::vector<std::int64_t> dimensions;
    for (auto d = static_cast<std::int64_t>(sizes.size()) - count; d < static_cast<std::int64_t>(sizes.size()); ++d)
      dimensions.push_back(d);
    const Lines lines = lines_of(sizes, dimensions);
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
    const Pair x = random_pair(draw, sizes, normal(dtype, 3));
    const Sizes tail(sizes.end() - count, sizes.end());
    Pair weight, bias;
    if (draw.chance(2)) weight = random_pair(draw, tail, normal(dtype), ViewKind::writable);
    if (draw.chance(2)) bias = random_pair(draw, tail, normal(dtype), ViewKind::writable);
    const bool centred = draw.chance(2);
    if (!centred) bias = {};
    const auto out = random_output(draw, sizes, dtype);
    operations().normalize({.x = x.device,
                            .residual = {},
                            .weight = weight.device,
                            .bias = bias.device,
                            .dimensions = count,
                            .centred = centred,
                            .sum = {}},
                           out);
    auto expected = elements(x.host);
    const auto scale = weight.host.defined() ? elements(weight.host) : std::vector<double>{};
    const auto shift = bias.host.defined() ? elements(bias.host) : std::vector<double>{};
    for (const auto& line : lines.elements) {
      double mean = 0, square = 0;
      const auto n = static_cast<double>(line.size());
      if (centred)
        for (const auto i : line) mean += expected[i] / n;
      for (const auto i : line) square += (expected[i] - mean) * (expected[i] - mean) / n;
      for (std::size_t j = 0; j < line.size(); ++j) {
        double& value = expected[line[j]];
        value = (value - mean) / std::sqrt(square + 1e-5);
        if (!scale.empty()) value *= scale[j];
        if (!shift.empty()) value += shift[j];
      }
    }
    // Lines of equal elements divide rounding errors by sqrt(epsilon).
    expect_near(out, expected, 2 * unit(dtype) + 0x1p-17, 0.003, centred ? "layer_norm" : "rms_norm");
  });
}

TEST(DeviceDimensions, AnIndexOfColumnsIsLoadedOnce) {
  SimulateOptions options;
  options.topology = "tiny";  // a program has several rows
  options.data = false;
  const RunResult result = simulate(options, [] {
    const auto device = torch::device("ahbm");
    const auto x = torch::empty({128, 2048}, device), out = torch::empty({128, 2048}, device);
    const auto index = torch::empty({2048}, torch::dtype(torch::kLong).device("ahbm"));
    operations().index_select(x, 1, index, false, out);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.back();
  const std::int64_t tensors = 2 * 128 * 2048 * 4, index = 2048 * 8;
  EXPECT_EQ(launch.hbm_bytes, Bytes(tensors + launch.programs * index));
}

TEST(DeviceDimensions, TensorsAreJoinedAndChosenFrom) {
  for_random_cases(60, [&](Draw& draw) {
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::i32, DType::u8});
    const Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(1, 3)), 3000);
    const auto dimension = draw.integer(0, static_cast<std::int64_t>(sizes.size()) - 1);
    const auto along = static_cast<std::size_t>(dimension);
    const auto values = whole_numbers(dtype, 0, 99);

    std::vector<torch::Tensor> parts;
    Sizes joined = sizes;
    joined[along] = 0;
    std::vector<torch::Tensor> host;
    for (std::int64_t i = draw.integer(1, 4); i > 0; --i) {
      Sizes part = sizes;
      part[along] = draw.integer(1, 9);
      joined[along] += part[along];
      const Pair pair = random_pair(draw, part, values);
      parts.push_back(pair.device);
      host.push_back(pair.host);
    }
    auto expected = torch::empty(joined, dtype);
    std::int64_t start = 0;
    for (const auto& part : host) {
      expected.narrow(dimension, start, part.size(dimension)).copy_(part);
      start += part.size(dimension);
    }
    const auto out = random_output(draw, joined, dtype);
    operations().cat(parts, dimension, out);
    expect_equal(out, elements(expected), "cat");

    const Pair x = random_pair(draw, sizes, values);
    const Pair index = random_pair(draw, {draw.integer(1, 20)}, whole_numbers(DType::i64, 0, sizes[along] - 1));
    Sizes chosen = sizes;
    chosen[along] = index.host.numel();
    auto rows = torch::empty(chosen, dtype);
    for (std::int64_t i = 0; i < chosen[along]; ++i)
      rows.select(dimension, i).copy_(x.host.select(dimension, index.host[i].item<std::int64_t>()));
    const auto selected = random_output(draw, chosen, dtype);
    operations().index_select(x.device, dimension, index.device, false, selected);
    expect_equal(selected, elements(rows), "index_select");

    Sizes shape = sizes;
    shape[along] = draw.integer(1, 9);
    const Pair indices = random_pair(draw, shape, whole_numbers(DType::i64, 0, sizes[along] - 1));
    const auto picked = random_output(draw, shape, dtype);
    operations().gather(x.device, dimension, indices.device, picked);
    const auto source = elements(x.host), at = elements(indices.host);
    std::vector<double> gathered;
    for (std::size_t i = 0; i < at.size(); ++i) {
      std::int64_t left = static_cast<std::int64_t>(i), element = 0, stride = 1;
      for (std::size_t d = shape.size(); d-- > 0;) {
        const std::int64_t position = d == along ? static_cast<std::int64_t>(at[i]) : left % shape[d];
        left /= shape[d];
        element += position * stride;
        stride *= sizes[d];
      }
      gathered.push_back(source[static_cast<std::size_t>(element)]);
    }
    expect_equal(picked, gathered, "gather");
  });
}

}  // namespace
}  // namespace kernbench
