// An executor that skips floating-point operations: which values have no data, and what memory makes of them.
#include <gtest/gtest.h>

#include <set>

#include "numerics/memory/intervals.h"
#include "numerics/memory/memory.h"
#include "support.h"

namespace kernbench::numerics {
namespace {

using test::Random;
using test::tile;

struct Skipping : ::testing::Test {
  Executor executor{1, true, true};
  Value floats = tile(executor, DType::f16, Shape{2, 2}, {1, 2, 3, 4});
  Value integers = tile(executor, DType::i32, Shape{2, 2}, {1, 2, 3, 4});
  Value bytes = tile(executor, DType::i8, Shape{2, 2}, {1, 2, 3, 4});
};

TEST_F(Skipping, OperationsWithFloatingPointResultsSubmitNothing) {
  const std::uint64_t before = executor.submitted();
  const Value condition = tile(executor, DType::boolean, Shape{2, 2}, {1, 0, 1, 0});
  const std::vector<Value> results{binary(executor, BinaryOperation::add, floats, floats, DType::f16),
                                   binary(executor, BinaryOperation::divide, integers, integers, DType::f32),
                                   unary(executor, UnaryOperation::exponential, floats, DType::f16),
                                   fma(executor, floats, floats, floats, DType::f16),
                                   clamp(executor, floats, 0, 1, DType::f16),
                                   where(executor, condition, floats, floats, DType::f16),
                                   cast(executor, integers, DType::f32),
                                   cast(executor, floats, DType::f32),
                                   dot(executor, floats, floats, {}, DType::f32),
                                   reduce(executor, ReduceOperation::sum, floats, 0, false, DType::f32),
                                   cumsum(executor, floats, 0, false, DType::f16)};
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_FALSE(results[i].has_data()) << i;
  EXPECT_EQ(results[8].shape(), (Shape{2, 2}));
  EXPECT_EQ(executor.submitted(), before);
}

TEST_F(Skipping, IntegersAndWhatMovesElementsIsComputed) {
  EXPECT_EQ(test::numbers(executor, binary(executor, BinaryOperation::multiply, integers, 3, DType::i32)),
            (std::vector<double>{3, 6, 9, 12}));
  EXPECT_EQ(test::numbers(executor, binary(executor, BinaryOperation::greater, floats, 2, DType::boolean)),
            (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(test::numbers(executor, dot(executor, bytes, bytes, {}, DType::i32)), (std::vector<double>{7, 10, 15, 22}));
  EXPECT_EQ(test::numbers(executor, reduce(executor, ReduceOperation::argmax, floats, 1, false, DType::i32)),
            (std::vector<double>{1, 1}));
  EXPECT_EQ(test::numbers(executor, cast(executor, floats, DType::i32)), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(test::numbers(executor, transpose(executor, floats)), (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(test::numbers(executor, full(executor, Shape{2}, DType::f32, 0.5)), (std::vector<double>{0.5, 0.5}));
  const Value both[] = {floats, floats};
  EXPECT_EQ(cat(executor, both, 0).has_data(), true);
}

TEST_F(Skipping, WhatDerivesFromALeftOutValueIsLeftOutWhateverItsType) {
  const Value sum = binary(executor, BinaryOperation::add, floats, floats, DType::f16);
  const Value parts[] = {floats, sum};
  const std::vector<Value> results{binary(executor, BinaryOperation::greater, sum, 2, DType::boolean),
                                   cast(executor, sum, DType::i32),
                                   bitcast(executor, sum, DType::bf16),
                                   reduce(executor, ReduceOperation::argmax, sum, 1, false, DType::i32),
                                   transpose(executor, sum),
                                   reshape(executor, sum, Shape{4}),
                                   broadcast_to(executor, sum, Shape{3, 2, 2}),
                                   narrow(executor, sum, 0, 0, 1),
                                   cat(executor, parts, 0),
                                   mask_lanes(executor, integers, cast(executor, sum, DType::boolean))};
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_FALSE(results[i].has_data()) << i;
  EXPECT_EQ(inspect(executor, {}, results[0], [](const TileView&) { throw 1; }), nullptr);
}

TEST_F(Skipping, AtomicsOfFloatsAreLeftOutButForExchanges) {
  Memory memory(executor);
  memory.map(0, 16, true);
  const Piece first[] = {{.memory = &memory, .address = 0, .row_bytes = 4}};
  const Piece second[] = {{.memory = &memory, .address = 8, .row_bytes = 4}};
  const Value one = tile(executor, DType::f32, Shape{1}, {1}), whole = tile(executor, DType::i32, Shape{1}, {5});
  const auto act = [&](AtomicOperation operation, std::span<const Piece> where, const Value& operand) {
    return atomic(executor, {}, operation, where, operand, {}, {}, operand.dtype(), Shape{1});
  };
  EXPECT_EQ(test::numbers(executor, act(AtomicOperation::exchange, first, one)), std::vector<double>{0});
  EXPECT_EQ(test::numbers(executor, gather(executor, {}, DType::f32, Shape{1}, first)), std::vector<double>{1});
  EXPECT_FALSE(act(AtomicOperation::add, first, one).has_data());
  EXPECT_FALSE(gather(executor, {}, DType::f32, Shape{1}, first).has_data());
  EXPECT_EQ(test::numbers(executor, act(AtomicOperation::add, second, whole)), std::vector<double>{0});
  EXPECT_EQ(test::numbers(executor, act(AtomicOperation::add, second, whole)), std::vector<double>{5});
}

/// Random scatters with and without data against one flag for each byte.
TEST_F(Skipping, MemoryKnowsWhichBytesWereLeftOut) {
  constexpr std::int64_t kSize = 120;
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    Memory memory(executor);
    memory.map(0, kSize, true);
    std::vector<bool> left_out(kSize, false);
    for (int step = 0; step < 30; ++step) {
      const std::int64_t rows = test::integer(random, 1, 4), columns = test::integer(random, 1, 6);
      const std::int64_t stride = test::integer(random, columns, 16);
      const std::int64_t room = kSize - (rows - 1) * stride - columns;
      const std::int64_t address = test::integer(random, 0, room);
      const Piece pieces[] = {{.memory = &memory,
                               .address = static_cast<std::uint64_t>(address),
                               .rows = rows,
                               .row_bytes = columns,
                               .stride = stride,
                               .row_stride = columns}};
      const Shape shape{rows, columns};
      const auto each = [&](auto visit) {
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < columns; ++c) visit(static_cast<std::size_t>(address + r * stride + c));
      };
      const Value present = full(executor, shape, DType::f8e5m2, 1);
      const Value absent = binary(executor, BinaryOperation::add, present, present, DType::f8e5m2);
      switch (test::integer(random, 0, 3)) {
        case 0:
          scatter(executor, {}, present, pieces);
          each([&](std::size_t at) { left_out[at] = false; });
          break;
        case 1:
          scatter(executor, {}, absent, pieces);
          each([&](std::size_t at) { left_out[at] = true; });
          break;
        case 2:  // some lanes: the others stay as they were
          scatter(executor, {}, present, pieces, full(executor, shape, DType::boolean, 1));
          break;
        default: {
          bool any = false;
          each([&](std::size_t at) { any = any || left_out[at]; });
          ASSERT_EQ(gather(executor, {}, DType::f8e5m2, shape, pieces).has_data(), !any) << round << " " << step;
        }
      }
    }
  }
}

TEST(IntervalSet, MeetsWhatItHolds) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    IntervalSet set;
    std::set<std::int64_t> members;
    for (int i = 0; i < 4; ++i) {
      const std::int64_t begin = test::integer(random, 0, 30), end = begin + test::integer(random, 0, 6);
      set.insert(begin, end);
      for (std::int64_t at = begin; at < end; ++at) members.insert(at);
    }
    const std::int64_t begin = test::integer(random, 0, 36), end = begin + test::integer(random, 0, 5);
    const auto next = members.lower_bound(begin);
    EXPECT_EQ(set.meets(begin, end), next != members.end() && *next < end);
    EXPECT_EQ(set.empty(), members.empty());
  }
}

}  // namespace
}  // namespace kernbench::numerics
