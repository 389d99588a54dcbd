#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.h"
#include "support/sanitizers.h"

namespace kernbench::numerics {
namespace {

using test::Random;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The documented order, level by level.
float tree_sum(const std::vector<float>& lanes) {
  std::vector<float> level;
  for (std::size_t i = 0; i < lanes.size(); i += 8) {
    float block = lanes[i];
    for (std::size_t j = i + 1; j < std::min(i + 8, lanes.size()); ++j) block += lanes[j];
    level.push_back(block);
  }
  while (level.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = next;
  }
  return level.empty() ? 0.0f : level[0];
}

/// The lanes of `shape` that result lane (outer, inner) consists of.
struct Line {
  std::int64_t outer, length, inner;
  std::size_t lane(std::int64_t o, std::int64_t i, std::int64_t n) const {
    return static_cast<std::size_t>((o * length + i) * inner + n);
  }
};
Line line_of(const Shape& shape, std::optional<int> axis) {
  Line line{1, axis ? 1 : shape.numel(), 1};
  for (std::size_t i = 0; axis && i < shape.rank(); ++i) {
    const auto reduced = static_cast<std::size_t>(*axis);
    (i < reduced ? line.outer : i == reduced ? line.length : line.inner) *= shape[i];
  }
  return line;
}

Shape reduction_shape(Random& random, int round) {
  if (round % 10 == 0) return {3, test::integer(random, 1, 1200), 2};
  if (round % 10 == 1) return {test::integer(random, 1, 40), test::integer(random, 250, 600)};
  Shape shape = test::random_shape(random, 4, 9);
  return shape.rank() == 0 ? Shape{5} : shape;
}

TEST(Reduce, SumHasExactlyTheDocumentedOrder) {
  Executor executor(1, true);
  Random random(1);
  for (int round = 0; round < 600; ++round) {
    const Shape shape = reduction_shape(random, round);
    const DType type = round % 3 == 0 ? DType::f32 : round % 3 == 1 ? DType::f16 : DType::bf16;
    std::optional<int> axis;
    if (random() % 4 != 0) axis = static_cast<int>(random() % shape.rank());
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
      numbers.push_back(test::rounded(
          type, std::ldexp(static_cast<double>(random() % 2000) - 1000, static_cast<int>(random() % 20) - 10)));
    }
    const std::vector<std::uint8_t> mask =
        round % 2 == 0 ? test::random_mask(random, shape.numel()) : std::vector<std::uint8_t>{};
    const bool keep_dims = random() % 2 == 0;
    const DType result = random() % 2 == 0 ? DType::f32 : type;
    const Value value = reduce(executor, ReduceOperation::sum, test::tile(executor, type, shape, numbers, mask), axis,
                               keep_dims, result);
    const std::vector<double> actual = test::numbers(executor, value);
    const std::vector<std::uint8_t> valid = test::validity(executor, value);
    const Line line = line_of(shape, axis);
    ASSERT_EQ(value.numel(), line.outer * line.inner);
    for (std::int64_t o = 0; o < line.outer; ++o) {
      for (std::int64_t n = 0; n < line.inner; ++n) {
        std::vector<float> lanes;
        bool all_valid = true;
        for (std::int64_t i = 0; i < line.length; ++i) {
          lanes.push_back(static_cast<float>(numbers[line.lane(o, i, n)]));
          all_valid = all_valid && (mask.empty() || mask[line.lane(o, i, n)] != 0);
        }
        const auto at = static_cast<std::size_t>(o * line.inner + n);
        const double expected = test::rounded(result, static_cast<double>(tree_sum(lanes)));
        ASSERT_TRUE(actual[at] == expected || (std::isnan(actual[at]) && std::isnan(expected)));
        ASSERT_EQ(valid[at] != 0, all_valid);
      }
    }
  }
}

TEST(Reduce, MaximumAndMinimumIgnoreNan) {
  Executor executor(1, true);
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = reduction_shape(random, round);
    const DType type = round % 3 == 0 ? DType::f32 : round % 3 == 1 ? DType::f16 : DType::i32;
    std::optional<int> axis;
    if (random() % 4 != 0) axis = static_cast<int>(random() % shape.rank());
    std::vector<double> numbers = test::random_numbers(random, shape.numel());
    if (type != DType::i32) {
      for (double& number : numbers) number = random() % 3 == 0 ? std::nan("") : number;
    }
    const Value x = test::tile(executor, type, shape, numbers);
    const auto most = test::numbers(executor, reduce(executor, ReduceOperation::maximum, x, axis, false, type));
    const auto least = test::numbers(executor, reduce(executor, ReduceOperation::minimum, x, axis, false, type));
    const Line line = line_of(shape, axis);
    for (std::int64_t o = 0; o < line.outer; ++o) {
      for (std::int64_t n = 0; n < line.inner; ++n) {
        double highest = std::nan(""), lowest = std::nan("");
        for (std::int64_t i = 0; i < line.length; ++i) {
          highest = std::fmax(highest, numbers[line.lane(o, i, n)]);
          lowest = std::fmin(lowest, numbers[line.lane(o, i, n)]);
        }
        const auto at = static_cast<std::size_t>(o * line.inner + n);
        ASSERT_TRUE(most[at] == highest || (std::isnan(most[at]) && std::isnan(highest)));
        ASSERT_TRUE(least[at] == lowest || (std::isnan(least[at]) && std::isnan(lowest)));
      }
    }
  }
}

TEST(Reduce, ShapesAndEmptyAxes) {
  Executor executor(1, true);
  const Value x = full(executor, Shape{2, 3, 4}, DType::i32, 2);
  EXPECT_EQ(reduce(executor, ReduceOperation::sum, x, 1, false, DType::i32).shape(), (Shape{2, 4}));
  EXPECT_EQ(reduce(executor, ReduceOperation::sum, x, 1, true, DType::i32).shape(), (Shape{2, 1, 4}));
  EXPECT_EQ(reduce(executor, ReduceOperation::sum, x, std::nullopt, true, DType::i32).shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(
      item(executor, reduce(executor, ReduceOperation::sum, x, std::nullopt, false, DType::i32)).value.as_integer(),
      48);
  const Value empty = full(executor, Shape{2, 0}, DType::f32, 1);
  EXPECT_EQ(test::numbers(executor, reduce(executor, ReduceOperation::sum, empty, 1, false, DType::f32)),
            std::vector<double>({0, 0}));
  EXPECT_EQ(test::numbers(executor, reduce(executor, ReduceOperation::maximum, empty, 1, false, DType::f32))[0],
            -kInfinity);
  EXPECT_EQ(test::numbers(executor, reduce(executor, ReduceOperation::minimum, empty, 1, false, DType::f32))[1],
            kInfinity);
}

/// Lanes of a line one after the other, as the documentation defines each operation.
double fold_line(ReduceOperation operation, const std::vector<double>& lanes) {
  const auto better = [&](double lane, double best, bool most) { return most ? lane > best : lane < best; };
  const bool most = operation == ReduceOperation::argmax || operation == ReduceOperation::argmax_nan ||
                    operation == ReduceOperation::maximum_nan;
  std::size_t place = 0;
  switch (operation) {
    case ReduceOperation::logical_and:
      return std::ranges::all_of(lanes, [](double lane) { return lane != 0; });
    case ReduceOperation::logical_or:
      return std::ranges::any_of(lanes, [](double lane) { return lane != 0; });
    case ReduceOperation::product: {
      double product = 1;
      for (const double lane : lanes) product *= lane;
      return product;
    }
    case ReduceOperation::argmax:
    case ReduceOperation::argmin:
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        const bool first_number = std::isnan(lanes[place]) && !std::isnan(lanes[i]);
        if (first_number || better(lanes[i], lanes[place], most)) place = i;
      }
      return static_cast<double>(place);
    default:
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        if (std::isnan(lanes[i])) {
          place = i;
          break;
        }
        if (better(lanes[i], lanes[place], most)) place = i;
      }
      const bool index = operation == ReduceOperation::argmax_nan || operation == ReduceOperation::argmin_nan;
      return index ? static_cast<double>(place) : lanes[place];
  }
}

TEST(Reduce, OtherOperationsAgreeWithPlainLoops) {
  Executor executor(1, true);
  Random random(3);
  using enum ReduceOperation;
  const ReduceOperation operations[] = {product, maximum_nan, minimum_nan, logical_and, logical_or,
                                        argmax,  argmin,      argmax_nan,  argmin_nan};
  const DType types[] = {DType::boolean, DType::u8,  DType::i8,   DType::i32, DType::i64, DType::f8e4m3,
                         DType::f8e5m2,  DType::f16, DType::bf16, DType::f32, DType::f64};
  for (int round = 0; round < (kSanitized ? 1200 : 6000); ++round) {
    const ReduceOperation operation = operations[round % 9];
    const DType type = types[random() % 11];
    const Shape shape = operation == product ? test::random_shape(random, 3, 3) : reduction_shape(random, round / 9);
    std::optional<int> axis;
    if (shape.rank() > 0 && random() % 4 != 0) axis = static_cast<int>(random() % shape.rank());
    // Few different numbers, so that there are ties; products of these are exact in f32.
    const int low = type == DType::u8 || type == DType::boolean ? 0 : -2;
    std::vector<double> numbers = test::random_numbers(random, shape.numel(), low, type == DType::boolean ? 1 : 2);
    const bool few_zeros = operation == logical_and || operation == product;
    for (double& number : numbers) {
      if (few_zeros && number == 0 && random() % 8 != 0) number = 1;
      if (is_floating_point(type) && random() % 16 == 0 && operation != product) number = std::nan("");
      if (is_floating_point(type) && random() % 4 == 0 && number == 0) number = -0.0;
    }
    const std::vector<std::uint8_t> mask =
        round % 2 == 0 ? test::random_mask(random, shape.numel()) : std::vector<std::uint8_t>{};
    const bool index = operation >= argmax;
    const bool logical = operation == logical_and || operation == logical_or;
    const DType result = index     ? (random() % 2 == 0 ? DType::i32 : DType::i64)
                         : logical ? DType::boolean
                         : operation == product && !is_floating_point(type) ? DType::i64
                                                                            : type;
    if (operation == product && is_float8(type)) continue;
    const Value value =
        reduce(executor, operation, test::tile(executor, type, shape, numbers, mask), axis, random() % 2 == 0, result);
    const auto actual = test::numbers(executor, value);
    const auto valid = test::validity(executor, value);
    const Line line = line_of(shape, axis);
    for (std::int64_t o = 0; o < line.outer; ++o) {
      for (std::int64_t n = 0; n < line.inner; ++n) {
        std::vector<double> lanes;
        bool all_valid = true;
        for (std::int64_t i = 0; i < line.length; ++i) {
          lanes.push_back(numbers[line.lane(o, i, n)]);
          all_valid = all_valid && (mask.empty() || mask[line.lane(o, i, n)] != 0);
        }
        const auto at = static_cast<std::size_t>(o * line.inner + n);
        const double expected = test::rounded(result, fold_line(operation, lanes));
        ASSERT_TRUE(actual[at] == expected || (std::isnan(actual[at]) && std::isnan(expected)))
            << static_cast<int>(operation) << " of " << name(type) << ": " << actual[at] << ", not " << expected;
        ASSERT_EQ(valid[at] != 0, all_valid);
      }
    }
  }
}

TEST(Reduce, SumsOfBytesAndBooleansAreExactInI32) {
  Executor executor(1, true);
  for (const DType type : {DType::boolean, DType::u8, DType::i8}) {
    const double each = type == DType::boolean ? 1 : type == DType::u8 ? 255 : -128;
    const Value x = full(executor, Shape{3, 1000}, type, each);
    EXPECT_EQ(test::numbers(executor, reduce(executor, ReduceOperation::sum, x, 1, false, DType::i32)),
              std::vector<double>(3, 1000 * each));
  }
  const Value bytes = full(executor, Shape{3}, DType::u8, 255);
  EXPECT_EQ(test::numbers(executor, reduce(executor, ReduceOperation::sum, bytes, 0, false, DType::u8))[0], 253);
}

TEST(Reduce, TheIndexOfNoLaneIsInvalid) {
  Executor executor(1, true);
  const Value empty = full(executor, Shape{2, 0}, DType::f32, 1);
  const Value index = reduce(executor, ReduceOperation::argmax, empty, 1, false, DType::i32);
  EXPECT_EQ(test::validity(executor, index), std::vector<std::uint8_t>({0, 0}));
  EXPECT_EQ(test::numbers(executor, index), std::vector<double>({0, 0}));
  EXPECT_EQ(test::numbers(executor, reduce(executor, ReduceOperation::product, empty, 1, false, DType::f32))[0], 1);
  EXPECT_EQ(test::numbers(executor, reduce(executor, ReduceOperation::logical_and, empty, 1, false, DType::boolean))[0],
            1);
}

TEST(Cumsum, AddsOneLaneAfterTheOtherAndRoundsEachOnce) {
  Executor executor(1, true);
  Random random(4);
  const DType types[] = {DType::i8, DType::i32, DType::f8e5m2, DType::f16, DType::bf16, DType::f32};
  for (int round = 0; round < 1200; ++round) {
    const DType type = types[round % 6];
    const Shape shape = reduction_shape(random, round / 6);
    const auto axis = static_cast<int>(random() % shape.rank());
    const bool reverse = random() % 2 == 0;
    const DType result = type == DType::i8                               ? DType::i32
                         : random() % 2 == 0 || !is_floating_point(type) ? type
                                                                         : DType::f32;
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
      const double number = static_cast<double>(random() % 200) - 100;
      numbers.push_back(is_floating_point(type)
                            ? test::rounded(type, std::ldexp(number, static_cast<int>(random() % 12) - 6))
                            : number);
    }
    const std::vector<std::uint8_t> mask = test::random_mask(random, shape.numel());
    const Value value = cumsum(executor, test::tile(executor, type, shape, numbers, mask), axis, reverse, result);
    ASSERT_EQ(value.shape(), shape);
    const auto actual = test::numbers(executor, value);
    const auto valid = test::validity(executor, value);
    const Line line = line_of(shape, axis);
    for (std::int64_t o = 0; o < line.outer; ++o) {
      for (std::int64_t n = 0; n < line.inner; ++n) {
        float sum = 0;
        bool all_valid = true;
        for (std::int64_t step = 0; step < line.length; ++step) {
          const std::size_t at = line.lane(o, reverse ? line.length - 1 - step : step, n);
          sum = step == 0 ? static_cast<float>(numbers[at]) : sum + static_cast<float>(numbers[at]);
          all_valid = all_valid && mask[at] != 0;
          ASSERT_EQ(actual[at], test::rounded(result, static_cast<double>(sum))) << name(type);
          ASSERT_EQ(valid[at] != 0, all_valid);
        }
      }
    }
  }
}

TEST(Reduce, IntegerSumsWrap) {
  Executor executor(1, true);
  const Value x = full(executor, Shape{3}, DType::i32, std::int64_t{INT32_MAX});
  EXPECT_EQ(item(executor, reduce(executor, ReduceOperation::sum, x, 0, false, DType::i32)).value.as_integer(),
            static_cast<std::int32_t>(3LL * INT32_MAX));
  const Value large = full(executor, Shape{100}, DType::i64, INT64_MAX);
  EXPECT_EQ(item(executor, reduce(executor, ReduceOperation::sum, large, 0, false, DType::i64)).value.as_integer(),
            -100);
}

}  // namespace
}  // namespace kernbench::numerics
