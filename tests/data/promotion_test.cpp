#include <gtest/gtest.h>

#include "data/scalar.h"

namespace kernbench::data {
namespace {

constexpr DType kTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i32, DType::i64, DType::f8e4m3,
                            DType::f8e5m2,  DType::f16, DType::bf16, DType::f32, DType::f64};

TEST(Promotion, IsSymmetricAndKeepsEqualTypes) {
  for (const DType a : kTypes) {
    EXPECT_EQ(promote(a, a), a);
    for (const DType b : kTypes) EXPECT_EQ(promote(a, b), promote(b, a));
  }
}

TEST(Promotion, FollowsTriton) {
  EXPECT_EQ(promote(DType::boolean, DType::i32), DType::i32);
  EXPECT_EQ(promote(DType::boolean, DType::f16), DType::f16);
  EXPECT_EQ(promote(DType::i32, DType::f16), DType::f16);
  EXPECT_EQ(promote(DType::i32, DType::f32), DType::f32);
  EXPECT_EQ(promote(DType::i32, DType::bf16), DType::f32);
  EXPECT_EQ(promote(DType::f16, DType::bf16), DType::f16);
  EXPECT_EQ(promote(DType::bf16, DType::f32), DType::f32);
  EXPECT_EQ(promote(DType::f32, DType::f64), DType::f64);
  EXPECT_EQ(promote(DType::i64, DType::i32), DType::i64);
}

TEST(Promotion, ScalarsAreWeak) {
  EXPECT_EQ(promote(DType::f16, Scalar::Kind::floating), DType::f16);
  EXPECT_EQ(promote(DType::bf16, Scalar::Kind::integer), DType::bf16);
  EXPECT_EQ(promote(DType::i32, Scalar::Kind::integer), DType::i32);
  EXPECT_EQ(promote(DType::i32, Scalar::Kind::floating), DType::f32);
  EXPECT_EQ(promote(DType::boolean, Scalar::Kind::boolean), DType::boolean);
  EXPECT_EQ(promote(DType::boolean, Scalar::Kind::integer), DType::i32);
  EXPECT_EQ(promote(DType::boolean, Scalar::Kind::floating), DType::f32);
}

TEST(Promotion, DivisionIsAtLeastF32) {
  EXPECT_EQ(division_type(DType::i32, DType::i32), DType::f32);
  EXPECT_EQ(division_type(DType::f16, DType::f16), DType::f32);
  EXPECT_EQ(division_type(DType::i64, DType::i32), DType::f32);
  EXPECT_EQ(division_type(DType::f32, DType::f64), DType::f64);
}

}  // namespace
}  // namespace kernbench::data
