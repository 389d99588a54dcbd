#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "numerics/memory/storage.h"
#include "support.h"

namespace kernbench::numerics::ternary_test {
namespace {

using test::Random;
constexpr DType kTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i32, DType::i64, DType::f8e4m3,
                            DType::f8e5m2,  DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A tile or a scalar, and its numbers.
struct Drawn {
  Argument argument = 0;
  DType type = DType::i32;
  Shape shape;
  std::vector<Scalar> numbers;
  std::vector<std::uint8_t> mask;
};

Drawn draw(Executor& executor, Random& random, const Shape& wanted, bool may_be_scalar) {
  Drawn drawn;
  if (may_be_scalar && random() % 3 == 0) {
    const bool floating = random() % 2 == 0;
    const std::int64_t whole = test::integer(random, 0, 9);
    const Scalar scalar = floating ? Scalar(static_cast<double>(whole) / 10 - 0.3) : Scalar(whole);
    drawn.type = floating ? DType::f32 : DType::i32;
    drawn.argument = scalar;
    drawn.numbers = {scalar};
    drawn.mask = {1};
    return drawn;
  }
  drawn.type = kTypes[random() % 11];
  drawn.shape = test::random_broadcast_source(random, wanted);
  const int low = drawn.type == DType::u8 || drawn.type == DType::boolean ? 0 : -9;
  std::vector<double> numbers = test::random_numbers(random, drawn.shape.numel(), low, 9);
  for (double& number : numbers) {
    if (is_floating_point(drawn.type)) number = random() % 20 == 0 ? kNan : number * 1.37;
  }
  drawn.mask =
      random() % 2 == 0 ? test::random_mask(random, drawn.shape.numel()) : std::vector<std::uint8_t>(numbers.size(), 1);
  const Value tile = test::tile(executor, drawn.type, drawn.shape, numbers, drawn.mask);
  const TileView elements = view(executor, tile);
  for (std::int64_t i = 0; i < tile.numel(); ++i) drawn.numbers.push_back(elements.element(i));
  drawn.argument = tile;
  return drawn;
}

Scalar converted(DType to, Scalar number) {
  std::byte element[8];
  store_element(to, element, number);
  return load_element(to, element);
}

/// fma and clamp of a lane, as documented, given operands of the computation type.
Scalar expected_lane(bool clamps, DType computation, Scalar a, Scalar b, Scalar c) {
  if (computation == DType::i64) {
    const std::int64_t x = a.as_integer(), y = b.as_integer(), z = c.as_integer();
    return clamps ? std::min(std::max(x, y), z) : x * y + z;
  }
  const double x = a.as_double(), y = b.as_double(), z = c.as_double();
  if (clamps) return std::isnan(x) || std::isnan(y) || std::isnan(z) ? kNan : std::min(std::max(x, y), z);
  if (computation == DType::f64) return std::fma(x, y, z);
  return static_cast<double>(std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)));
}

TEST(Ternary, FmaAndClampAgreeWithTheirDefinition) {
  Executor executor(1, true);
  Random random(1);
  for (int round = 0; round < 6000; ++round) {
    const bool clamps = round % 2 == 0;
    const Shape wanted = round % 50 == 0 ? Shape{2, 700} : test::random_shape(random);
    const std::size_t sure_tile = random() % 3;
    std::vector<Drawn> sides;
    for (std::size_t i = 0; i < 3; ++i) sides.push_back(draw(executor, random, wanted, i != sure_tile));
    std::optional<DType> common;
    for (const Drawn& side : sides) {
      if (!side.argument.is_scalar()) common = common ? promote(*common, side.type) : side.type;
    }
    for (const Drawn& side : sides) {
      if (side.argument.is_scalar()) common = promote(*common, side.numbers[0].kind());
    }
    const DType result = random() % 3 == 0 ? kTypes[random() % 11] : *common;
    const DType computation = *common == DType::f64 || result == DType::f64             ? DType::f64
                              : is_floating_point(*common) || is_floating_point(result) ? DType::f32
                                                                                        : DType::i64;
    const ScalarRule rule = random() % 2 == 0 ? ScalarRule::element : ScalarRule::computation;
    const Value value = clamps ? clamp(executor, sides[0].argument, sides[1].argument, sides[2].argument, result, rule)
                               : fma(executor, sides[0].argument, sides[1].argument, sides[2].argument, result, rule);
    const Shape shape = value.shape();
    const TileView actual = view(executor, value);
    for (std::int64_t lane = 0; lane < shape.numel(); ++lane) {
      Scalar operands[3];
      bool valid = true;
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t at = test::source_lane(shape, sides[i].shape, lane);
        const bool direct = sides[i].argument.is_scalar() && rule == ScalarRule::computation;
        operands[i] = converted(computation, direct ? sides[i].numbers[at] : converted(*common, sides[i].numbers[at]));
        valid = valid && sides[i].mask[at] != 0;
      }
      const Scalar expected =
          converted(result, expected_lane(clamps, computation, operands[0], operands[1], operands[2]));
      const Scalar is = actual.element(lane);
      const bool both_nan = std::isnan(is.as_double()) && std::isnan(expected.as_double());
      ASSERT_TRUE(both_nan || is.as_double() == expected.as_double())
          << (clamps ? "clamp" : "fma") << " in " << name(*common) << " to " << name(result) << ": " << is.as_double()
          << ", not " << expected.as_double();
      ASSERT_EQ(actual.valid(lane), valid);
    }
  }
}

TEST(Ternary, FmaRoundsOnceAndClampPrefersTheUpperBound) {
  Executor executor(1, true);
  const Value x = test::tile(executor, DType::f32, Shape{1}, {1 + 0x1p-23});
  EXPECT_EQ(test::numbers(executor, fma(executor, x, x, -(1 + 0x1p-22), DType::f32))[0], 0x1p-46);
  const Value y = test::tile(executor, DType::f32, Shape{3}, {-5, 0.5, 5});
  EXPECT_EQ(test::numbers(executor, clamp(executor, y, 3, 1, DType::f32)), std::vector<double>({1, 1, 1}));
  EXPECT_EQ(test::numbers(executor, clamp(executor, y, -1, 1, DType::f32)), std::vector<double>({-1, 0.5, 1}));
}

TEST(Ternary, WhereTakesScalarsOnAnySide) {
  Executor executor(1, true);
  const Value condition = test::tile(executor, DType::i32, Shape{3}, {0, 7, 0}, {1, 1, 0});
  const Value x = test::tile(executor, DType::f16, Shape{3}, {1, 2, 3}, {0, 1, 1});
  EXPECT_EQ(test::numbers(executor, where(executor, condition, x, -1.0, DType::f16)), std::vector<double>({-1, 2, -1}));
  EXPECT_EQ(test::validity(executor, where(executor, condition, x, -1.0, DType::f16)),
            std::vector<std::uint8_t>({1, 1, 0}));
  EXPECT_EQ(test::numbers(executor, where(executor, condition, 5, x, DType::f32)), std::vector<double>({1, 5, 3}));
  EXPECT_EQ(test::numbers(executor, where(executor, true, x, 0, DType::f32)), std::vector<double>({1, 2, 3}));
  EXPECT_EQ(test::numbers(executor, where(executor, condition, 1, 0, DType::boolean)), std::vector<double>({0, 1, 0}));
}

TEST(Masks, LanesThatAreMaskedOffOrWhoseMaskIsInvalidAreInvalid) {
  Executor executor(1, true);
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = round % 30 == 0 ? Shape{3, 500} : test::random_shape(random);
    const Shape mask_shape = test::random_broadcast_source(random, shape);
    const DType type = kTypes[random() % 11];
    const auto numbers = test::random_numbers(random, shape.numel(), 0, 1);
    const auto chosen = test::random_numbers(random, mask_shape.numel(), 0, 1);
    const auto valid = test::random_mask(random, shape.numel()),
               mask_valid = test::random_mask(random, mask_shape.numel());
    const Value value = mask_lanes(executor, test::tile(executor, type, shape, numbers, valid),
                                   test::tile(executor, DType::boolean, mask_shape, chosen, mask_valid));
    EXPECT_EQ(test::numbers(executor, value), numbers);
    const auto actual = test::validity(executor, value);
    for (std::int64_t lane = 0; lane < shape.numel(); ++lane) {
      const std::size_t at = test::source_lane(shape, mask_shape, lane);
      const auto own = static_cast<std::size_t>(lane);
      ASSERT_EQ(actual[own] != 0, valid[own] != 0 && mask_valid[at] != 0 && chosen[at] != 0);
    }
  }
}

TEST(Bitcast, SharesTheBytesAndTheProducer) {
  Executor executor(1, true);
  const Value x =
      unary(executor, UnaryOperation::negate, test::tile(executor, DType::f32, Shape{2}, {1, 2}, {1, 0}), DType::f32);
  const Value bits = bitcast(executor, x, DType::i32);
  EXPECT_EQ(bits.storage()->contents, x.storage()->contents);
  EXPECT_EQ(item(executor, narrow(executor, bits, 0, 0, 1)).value.as_integer(), static_cast<std::int32_t>(0xBF800000u));
  EXPECT_EQ(test::validity(executor, bits), std::vector<std::uint8_t>({1, 0}));
  const Value back = bitcast(executor, bits, DType::f32);
  EXPECT_EQ(test::numbers(executor, back), std::vector<double>({-1, -2}));
  const Value bytes = bitcast(executor, test::tile(executor, DType::u8, Shape{1}, {0x38}), DType::f8e4m3);
  EXPECT_EQ(test::numbers(executor, bytes)[0], 1);
}

TEST(Cast, RoundsTowardZeroWhenAsked) {
  Executor executor(1, true);
  const Value x = test::tile(executor, DType::f32, Shape{4}, {1.999, -1.999, 1e9, 70000});
  EXPECT_EQ(test::numbers(executor, cast(executor, x, DType::f8e4m3, RoundingMode::toward_zero)),
            std::vector<double>({1.875, -1.875, 448, 448}));
  EXPECT_EQ(test::numbers(executor, cast(executor, x, DType::f16, RoundingMode::toward_zero))[3], 65504);
  EXPECT_TRUE(std::isinf(test::numbers(executor, cast(executor, x, DType::f16))[3]));
}

/// Constants are folded by an executor of one thread beside one that holds no data.
TEST(Executors, ASecondOneComputesWhileTheFirstIsDisabled) {
  Executor disabled(4, false), folding(1, true);
  const Value nothing = binary(disabled, BinaryOperation::add, full(disabled, Shape{4}, DType::i32, 1), 1, DType::i32);
  EXPECT_FALSE(nothing.has_data());
  const Value range = arange(folding, 0, 4, DType::i32);
  const Value offsets = fma(folding, range, 8, 3, DType::i32);
  const Value inside = binary(folding, BinaryOperation::less, offsets, 20, DType::boolean);
  EXPECT_EQ(test::numbers(folding, offsets), std::vector<double>({3, 11, 19, 27}));
  EXPECT_EQ(test::numbers(folding, where(folding, inside, offsets, -1, DType::i32)),
            std::vector<double>({3, 11, 19, -1}));
  EXPECT_EQ(test::numbers(folding, reduce(folding, ReduceOperation::sum, inside, 0, false, DType::i32))[0], 3);
  EXPECT_EQ(disabled.submitted(), 0u);
  // A value that one executor has computed is an operand like any other for a second one.
  Executor other(2, true);
  EXPECT_EQ(test::numbers(other, binary(other, BinaryOperation::add, offsets, 1, DType::i32))[3], 28);
}

}  // namespace
}  // namespace kernbench::numerics::ternary_test
