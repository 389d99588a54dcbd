#include <algorithm>

#include "data/conversion.h"
#include "data/scalar.h"

namespace kernbench::data {

std::int64_t Scalar::as_integer() const {
  return kind_ == Kind::floating ? saturate_to_integer(floating_) : integer_;
}

namespace {

Scalar::Kind kind_of(DType type) {
  if (type == DType::boolean) return Scalar::Kind::boolean;
  return is_floating_point(type) ? Scalar::Kind::floating : Scalar::Kind::integer;
}

int width_rank(DType type) {
  switch (type) {
    case DType::boolean:
      return 0;
    case DType::i32:
      return 1;
    case DType::i64:
      return 2;
    case DType::bf16:
      return 3;
    case DType::f16:
      return 4;
    case DType::f32:
      return 5;
    case DType::f64:
      return 6;
  }
  return 0;
}

}  // namespace

DType promote(DType a, DType b) {
  const bool bf16_meets_integer =
      (a == DType::bf16 && !is_floating_point(b)) || (b == DType::bf16 && !is_floating_point(a));
  if (bf16_meets_integer) return DType::f32;
  return width_rank(a) >= width_rank(b) ? a : b;
}

DType promote(DType tile, Scalar::Kind scalar) {
  if (kind_of(tile) >= scalar) return tile;
  if (scalar == Scalar::Kind::integer) return DType::i32;
  return tile == DType::i64 ? DType::f64 : DType::f32;
}

DType division_type(DType a, DType b) {
  const auto wide = [](DType type) { return type == DType::i64 || type == DType::f64; };
  return wide(a) || wide(b) ? DType::f64 : DType::f32;
}

}  // namespace kernbench::data
