#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support.h"

namespace kernbench::numerics::layout_test {
namespace {

using test::Random;

constexpr DType kTypes[] = {DType::boolean, DType::f16, DType::f32, DType::f64};

std::vector<std::int64_t> index_of(const Shape& shape, std::int64_t lane) {
  std::vector<std::int64_t> index(shape.rank());
  for (std::size_t i = shape.rank(); i-- > 0;) {
    index[i] = lane % shape[i];
    lane /= shape[i];
  }
  return index;
}

std::size_t lane_of(const Shape& shape, const std::vector<std::int64_t>& index) {
  std::int64_t lane = 0;
  for (std::size_t i = 0; i < shape.rank(); ++i) lane = lane * shape[i] + index[i];
  return static_cast<std::size_t>(lane);
}

TEST(Layout, PermuteMovesElementsAndValidity) {
  Executor executor(1, true);
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    const DType type = kTypes[round % 4];
    const Shape shape = test::random_shape(random, 5);
    const std::vector<double> numbers = test::random_numbers(random, shape.numel(), 0, 1);
    const std::vector<std::uint8_t> mask = test::random_mask(random, shape.numel());
    std::vector<int> order(shape.rank());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    const Value value = permute(executor, test::tile(executor, type, shape, numbers, mask), order);
    const auto actual = test::numbers(executor, value);
    const auto valid = test::validity(executor, value);
    for (std::int64_t lane = 0; lane < value.numel(); ++lane) {
      const auto index = index_of(value.shape(), lane);
      std::vector<std::int64_t> source(index.size());
      for (std::size_t i = 0; i < order.size(); ++i) source[static_cast<std::size_t>(order[i])] = index[i];
      ASSERT_EQ(actual[static_cast<std::size_t>(lane)], numbers[lane_of(shape, source)]);
      ASSERT_EQ(valid[static_cast<std::size_t>(lane)], mask[lane_of(shape, source)]);
    }
  }
}

TEST(Layout, TransposeSwapsTheLastTwo) {
  Executor executor(1, true);
  const Value x = test::tile(executor, DType::f32, Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  const Value value = transpose(executor, x);
  EXPECT_EQ(value.shape(), (Shape{3, 2}));
  EXPECT_EQ(test::numbers(executor, value), std::vector<double>({1, 4, 2, 5, 3, 6}));
}

TEST(Layout, BroadcastToRepeatsByNumpysRule) {
  Executor executor(1, true);
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = test::random_shape(random, 5);
    const Shape source = test::random_broadcast_source(random, shape);
    const std::vector<double> numbers = test::random_numbers(random, source.numel(), 0, 1);
    const std::vector<std::uint8_t> mask = test::random_mask(random, source.numel());
    const Value value = broadcast_to(executor, test::tile(executor, kTypes[round % 4], source, numbers, mask), shape);
    ASSERT_EQ(value.shape(), shape);
    const auto actual = test::numbers(executor, value);
    const auto valid = test::validity(executor, value);
    for (std::int64_t lane = 0; lane < shape.numel(); ++lane) {
      ASSERT_EQ(actual[static_cast<std::size_t>(lane)], numbers[test::source_lane(shape, source, lane)]);
      ASSERT_EQ(valid[static_cast<std::size_t>(lane)], mask[test::source_lane(shape, source, lane)]);
    }
  }
}

TEST(Layout, ReshapeAndExpandDimsComputeNothing) {
  Executor executor(1, true);
  const Value x = test::tile(executor, DType::f16, Shape{2, 3}, {1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 1, 1});
  const std::uint64_t before = executor.submitted();
  const Value flat = reshape(executor, x, Shape{6});
  const Value expanded = expand_dims(executor, x, 1);
  EXPECT_EQ(executor.submitted(), before);
  EXPECT_EQ(test::numbers(executor, flat), std::vector<double>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(test::validity(executor, flat), std::vector<std::uint8_t>({1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(expanded.shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(expand_dims(executor, x, 2).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(expand_dims(executor, x, 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(test::numbers(executor, expanded), test::numbers(executor, x));
}

TEST(Layout, AReshapedValueOutlivesAndAwaitsItsSource) {
  Executor executor(1, true);
  Value reshaped;
  {
    const Value x = binary(executor, BinaryOperation::add, arange(executor, 0, 4, DType::i32), 1, DType::i32);
    reshaped = reshape(executor, x, Shape{2, 2});
  }
  EXPECT_EQ(test::numbers(executor, reshaped), std::vector<double>({1, 2, 3, 4}));
}

TEST(Layout, CatPutsValuesOneAfterTheOther) {
  Executor executor(1, true);
  Random random(7);
  for (int round = 0; round < 400; ++round) {
    const DType type = kTypes[round % 4];
    Shape shape = test::random_shape(random, 4);
    if (shape.rank() == 0) shape = {1};
    const auto axis = random() % shape.rank();
    std::vector<Value> parts;
    std::vector<std::pair<std::size_t, std::int64_t>>
        source;  // of each step along the axis: the part and the step there
    std::vector<std::vector<double>> numbers;
    std::vector<std::vector<std::uint8_t>> masks;
    for (std::size_t i = 0, count = 1 + random() % 4; i < count; ++i) {
      shape[axis] = test::integer(random, 0, 4);
      for (std::int64_t step = 0; step < shape[axis]; ++step) source.emplace_back(i, step);
      numbers.push_back(test::random_numbers(random, shape.numel(), 0, 1));
      masks.push_back(random() % 2 == 0 ? test::random_mask(random, shape.numel())
                                        : std::vector<std::uint8_t>(static_cast<std::size_t>(shape.numel()), 1));
      parts.push_back(test::tile(executor, type, shape, numbers.back(), masks.back()));
    }
    const Value value = cat(executor, parts, static_cast<int>(axis));
    shape[axis] = static_cast<std::int64_t>(source.size());
    ASSERT_EQ(value.shape(), shape);
    const auto actual = test::numbers(executor, value);
    const auto valid = test::validity(executor, value);
    for (std::int64_t lane = 0; lane < value.numel(); ++lane) {
      auto index = index_of(shape, lane);
      const auto [part, step] = source[static_cast<std::size_t>(index[axis])];
      index[axis] = step;
      const std::size_t at = lane_of(parts[part].shape(), index);
      ASSERT_EQ(actual[static_cast<std::size_t>(lane)], numbers[part][at]);
      ASSERT_EQ(valid[static_cast<std::size_t>(lane)], masks[part][at]);
    }
  }
}

TEST(Layout, NarrowChoosesLanesOfAnAxis) {
  Executor executor(1, true);
  Random random(8);
  for (int round = 0; round < 600; ++round) {
    const DType type = kTypes[round % 4];
    Shape shape = test::random_shape(random, 4);
    if (shape.rank() == 0) shape = {5};
    const auto axis = random() % shape.rank();
    const std::int64_t extent = shape[axis];
    const std::int64_t step = test::integer(random, 1, 3);
    const std::int64_t start = test::integer(random, 0, extent - 1);
    const std::int64_t length = test::integer(random, 0, (extent - 1 - start) / step + 1);
    const std::vector<double> numbers = test::random_numbers(random, shape.numel(), 0, 1);
    const std::vector<std::uint8_t> mask = test::random_mask(random, shape.numel());
    const Value x = test::tile(executor, type, shape, numbers, mask);
    const Value value = narrow(executor, x, static_cast<int>(axis), start, length, step);
    Shape expected = shape;
    expected[axis] = length;
    ASSERT_EQ(value.shape(), expected);
    const auto actual = test::numbers(executor, value);
    const auto valid = test::validity(executor, value);
    for (std::int64_t lane = 0; lane < value.numel(); ++lane) {
      auto index = index_of(expected, lane);
      index[axis] = start + index[axis] * step;
      ASSERT_EQ(actual[static_cast<std::size_t>(lane)], numbers[lane_of(shape, index)]);
      ASSERT_EQ(valid[static_cast<std::size_t>(lane)], mask[lane_of(shape, index)]);
    }
  }
}

}  // namespace
}  // namespace kernbench::numerics::layout_test
