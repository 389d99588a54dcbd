#include <limits>

#include "numerics/conversion.h"
#include "numerics/scalar.h"

namespace kernbench::numerics {

std::int64_t Scalar::as_integer() const {
  return kind_ == Kind::floating ? saturate_to_integer(floating_) : integer_;
}

namespace {

Scalar::Kind kind_of(DType type) {
  if (type == DType::boolean) return Scalar::Kind::boolean;
  return is_floating_point(type) ? Scalar::Kind::floating : Scalar::Kind::integer;
}

/// i8 meets u8 in u8; all others of different widths are ordered by these.
int integer_rank(DType type) {
  switch (type) {
    case DType::boolean:
      return 0;
    case DType::i8:
      return 1;
    case DType::u8:
      return 2;
    case DType::i32:
      return 3;
    default:
      return 4;
  }
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  const auto either = [&](DType type) { return a == type || b == type; };
  if (either(DType::f64)) return DType::f64;
  if (either(DType::f32)) return DType::f32;
  const bool f8_meets_no_float = (is_float8(a) && !is_floating_point(b)) || (is_float8(b) && !is_floating_point(a));
  if (f8_meets_no_float) return DType::f32;
  if (either(DType::f16) || (is_float8(a) && is_float8(b))) return DType::f16;
  if (either(DType::bf16)) return DType::f32;
  return integer_rank(a) >= integer_rank(b) ? a : b;
}

DType promote(DType tile, Scalar::Kind scalar) {
  if (kind_of(tile) >= scalar) return tile;
  return scalar == Scalar::Kind::integer ? DType::i32 : DType::f32;
}

DType element_type(const Scalar& scalar) {
  if (scalar.kind() == Scalar::Kind::boolean) return DType::boolean;
  if (scalar.kind() == Scalar::Kind::floating) return DType::f32;
  return holds(DType::i32, scalar.as_integer()) ? DType::i32 : DType::i64;
}

DType division_type(DType a, DType b) {
  return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
}

bool holds(DType type, std::int64_t value) {
  const auto within = [&](auto example) {
    using Limits = std::numeric_limits<decltype(example)>;
    return value >= Limits::min() && value <= Limits::max();
  };
  switch (type) {
    case DType::boolean:
      return value == 0 || value == 1;
    case DType::u8:
      return within(std::uint8_t{});
    case DType::i8:
      return within(std::int8_t{});
    case DType::i32:
      return within(std::int32_t{});
    default:
      return true;
  }
}

}  // namespace kernbench::numerics
