#include <gtest/gtest.h>

#include "numerics/scalar.h"

namespace kernbench::numerics::promotion_test {
namespace {

constexpr DType kTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i32, DType::i64, DType::f8e4m3,
                            DType::f8e5m2,  DType::f16, DType::bf16, DType::f32, DType::f64};

/// The whole table, by Triton's computation_type_impl; f8 with integers, which it rejects, as documented here.
TEST(Promotion, FollowsTritonForEveryPair) {
  constexpr auto kBool = DType::boolean, u8 = DType::u8, i8 = DType::i8, i32 = DType::i32, i64 = DType::i64,
                 e4 = DType::f8e4m3, e5 = DType::f8e5m2, f16 = DType::f16, bf = DType::bf16, f32 = DType::f32,
                 f64 = DType::f64;
  constexpr DType kTable[11][11] = {
      {kBool, u8, i8, i32, i64, f32, f32, f16, f32, f32, f64}, {u8, u8, u8, i32, i64, f32, f32, f16, f32, f32, f64},
      {i8, u8, i8, i32, i64, f32, f32, f16, f32, f32, f64},    {i32, i32, i32, i32, i64, f32, f32, f16, f32, f32, f64},
      {i64, i64, i64, i64, i64, f32, f32, f16, f32, f32, f64}, {f32, f32, f32, f32, f32, e4, f16, f16, f32, f32, f64},
      {f32, f32, f32, f32, f32, f16, e5, f16, f32, f32, f64},  {f16, f16, f16, f16, f16, f16, f16, f16, f16, f32, f64},
      {f32, f32, f32, f32, f32, f32, f32, f16, bf, f32, f64},  {f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f64},
      {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64}};
  for (std::size_t i = 0; i < 11; ++i) {
    for (std::size_t j = 0; j < 11; ++j) {
      EXPECT_EQ(promote(kTypes[i], kTypes[j]), kTable[i][j]) << name(kTypes[i]) << " with " << name(kTypes[j]);
    }
  }
}

TEST(Promotion, ScalarsRaiseATileOnlyToAHigherKind) {
  for (const DType type : kTypes) {
    const bool boolean = type == DType::boolean, floating = is_floating_point(type);
    EXPECT_EQ(promote(type, Scalar::Kind::boolean), type);
    EXPECT_EQ(promote(type, Scalar::Kind::integer), boolean ? DType::i32 : type);
    EXPECT_EQ(promote(type, Scalar::Kind::floating), floating ? type : DType::f32);
  }
}

TEST(Promotion, DivisionIsAtLeastF32) {
  for (const DType a : kTypes) {
    for (const DType b : kTypes) {
      const bool wide = a == DType::f64 || b == DType::f64;
      EXPECT_EQ(division_type(a, b), wide ? DType::f64 : DType::f32);
    }
  }
}

TEST(Promotion, IntegerTypesHoldTheirRange) {
  EXPECT_TRUE(holds(DType::u8, 255) && holds(DType::u8, 0) && !holds(DType::u8, 256) && !holds(DType::u8, -1));
  EXPECT_TRUE(holds(DType::i8, -128) && !holds(DType::i8, 128));
  EXPECT_TRUE(holds(DType::i32, INT32_MIN) && !holds(DType::i32, std::int64_t{1} << 31));
  EXPECT_TRUE(holds(DType::i64, INT64_MIN) && holds(DType::boolean, 1) && !holds(DType::boolean, 2));
}

TEST(ElementTypes, WidthsKindsAndNames) {
  const char* names[] = {"bool", "u8", "i8", "i32", "i64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"};
  const std::int64_t widths[] = {1, 1, 1, 4, 8, 1, 1, 2, 2, 4, 8};
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_STREQ(name(kTypes[i]), names[i]);
    EXPECT_EQ(item_size(kTypes[i]), widths[i]);
    EXPECT_EQ(is_floating_point(kTypes[i]), i >= 5);
    EXPECT_EQ(is_integer(kTypes[i]), i >= 1 && i <= 4);
    EXPECT_EQ(is_signed(kTypes[i]), i >= 2);
    EXPECT_EQ(is_float8(kTypes[i]), i == 5 || i == 6);
    EXPECT_EQ(device_supports(kTypes[i]), i != 10);
  }
}

}  // namespace
}  // namespace kernbench::numerics::promotion_test
