// Values do not depend on the number of threads.
#include <gtest/gtest.h>

#include "numerics/memory/memory.h"
#include "support.h"

namespace kernbench::numerics {
namespace {

using test::Random;

/// A small tiled product with an elementwise tail, through memory: the shape of a real kernel's data side.
std::vector<std::byte> run_tiled_product(int threads) {
  constexpr std::int64_t kSize = 96, kTile = 32;
  Executor executor(threads, true);
  Memory memory(executor);
  memory.map(0, 2 * kSize * kSize * 3);
  Random random(1);
  std::vector<std::byte> inputs(static_cast<std::size_t>(2 * kSize * kSize * 2));
  for (std::size_t i = 0; i < inputs.size(); i += 2) {
    store_element(DType::f16, inputs.data() + i, static_cast<double>(random() % 4000) / 1000 - 2);
  }
  memory.write(0, inputs);
  const auto piece = [&](std::int64_t matrix, std::int64_t row, std::int64_t column) {
    return Piece{&memory,   static_cast<std::uint64_t>(2 * (matrix * kSize * kSize + row * kSize + column)),
                 kTile,     2 * kTile,
                 2 * kSize, 0,
                 kTile};
  };
  for (std::int64_t i = 0; i < kSize; i += kTile) {
    for (std::int64_t j = 0; j < kSize; j += kTile) {
      Value sum;
      for (std::int64_t k = 0; k < kSize; k += kTile) {
        const Piece left = piece(0, i, k), right = piece(1, k, j);
        const Value a = gather(executor, {}, DType::f16, Shape{kTile, kTile}, std::span(&left, 1));
        const Value b = gather(executor, {}, DType::f16, Shape{kTile, kTile}, std::span(&right, 1));
        sum = dot(executor, a, b, sum, DType::f32);
      }
      const Value most = reduce(executor, ReduceOperation::maximum, sum, 1, true, DType::f32);
      const Value shifted = binary(executor, BinaryOperation::subtract, sum, most, DType::f32);
      const Value out = unary(executor, UnaryOperation::exponential, shifted, DType::f16);
      const Piece target = piece(2, i, j);
      scatter(executor, {}, out, std::span(&target, 1));
    }
  }
  return memory.read(2 * 2 * kSize * kSize, 2 * kSize * kSize).bytes;
}

TEST(Parallel, ATiledProductHasTheSameBitsOnOneTwoAndFourThreads) {
  const std::vector<std::byte> expected = run_tiled_product(1);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(run_tiled_product(2), expected);
    ASSERT_EQ(run_tiled_product(4), expected);
  }
}

TEST(Parallel, ALargeProductIsSplitWithoutAChangeOfBits) {
  std::vector<std::byte> expected;
  std::vector<std::uint8_t> expected_validity;
  for (const int threads : {1, 2, 4}) {
    Executor executor(threads, true);
    Random random(2);
    const auto random_tile = [&](const Shape& shape, bool masked) {
      std::vector<double> numbers;
      for (std::int64_t i = 0; i < shape.numel(); ++i)
        numbers.push_back(static_cast<double>(random() % 4000) / 1000 - 2);
      std::vector<std::uint8_t> mask(static_cast<std::size_t>(shape.numel()), 1);
      if (masked) mask[5] = 0;
      return test::tile(executor, DType::bf16, shape, numbers, mask);
    };
    const Value a = random_tile(Shape{2, 250, 200}, true), b = random_tile(Shape{2, 200, 190}, false);
    const std::uint64_t before = executor.submitted();
    const Value product = dot(executor, a, b, {}, DType::f16);
    EXPECT_EQ(executor.submitted() - before > 1, threads > 1);
    if (threads == 1) {
      expected = test::bytes(executor, product);
      expected_validity = test::validity(executor, product);
    }
    EXPECT_EQ(test::bytes(executor, product), expected);
    EXPECT_EQ(test::validity(executor, product), expected_validity);
  }
}

}  // namespace
}  // namespace kernbench::numerics
