// A single value of a kind: how scalars enter tile arithmetic and how elements are read back.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernbench/dtype.h"

namespace kernbench::numerics {

/// A boolean, an integer or a floating-point number. As an operand it is weakly typed: it raises the element type of a
/// tile only when its kind is higher, and it is rounded once, to the type that the operation computes in.
class Scalar {
 public:
  enum class Kind : std::uint8_t { boolean, integer, floating };

  Scalar() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T value)  // NOLINT(google-explicit-constructor): scalars mix freely with tiles
      : kind_(std::is_same_v<T, bool>       ? Kind::boolean
              : std::is_floating_point_v<T> ? Kind::floating
                                            : Kind::integer) {
    if constexpr (std::is_floating_point_v<T>) {
      floating_ = static_cast<double>(value);
    } else {
      integer_ = static_cast<std::int64_t>(value);
    }
  }

  Kind kind() const { return kind_; }
  /// The value as a double; integers beyond 2^53 are rounded.
  double as_double() const { return kind_ == Kind::floating ? floating_ : static_cast<double>(integer_); }
  /// The value as an integer: floating-point values truncate toward zero, saturate, and NaN is 0.
  std::int64_t as_integer() const;
  bool as_boolean() const { return kind_ == Kind::floating ? floating_ != 0 : integer_ != 0; }

 private:
  double floating_ = 0;
  std::int64_t integer_ = 0;
  Kind kind_ = Kind::integer;
};

/// The element type that two tiles of these types meet in, by Triton's rules: kind first (boolean < integer < float),
/// then width; of two integers of one width the unsigned; f16 with bf16 is f16; two different f8 types are f16; bf16
/// with anything narrower (integers, booleans and f8 too) is f32. Triton rejects f8 with an integer or a boolean; here
/// it is f32.
DType promote(DType a, DType b);
/// The element type of an operation on a tile and a scalar: the tile's, unless the scalar's kind is higher
/// (boolean with an integer: i32; boolean or integer with a floating-point scalar: f32).
DType promote(DType tile, Scalar::Kind scalar);
/// The element type of a tile that holds a scalar: bool, i32 (i64 when the integer does not fit) or f32.
DType element_type(const Scalar& scalar);
/// The element type of true division, and of the remainder of floats, by Triton's rules: f32 for everything narrower
/// and for integers, f64 when one operand is f64.
DType division_type(DType a, DType b);
/// Whether an element of an integer type (or boolean) holds the integer `value` as it is.
bool holds(DType type, std::int64_t value);

}  // namespace kernbench::numerics
