// Arrays of lanes as the interpreter keeps them: plain doubles with a validity each. Every element type here fits into
// a double exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "kernbench/dtype.h"

namespace kernbench::testing {

struct Lane {
  double value = 0;
  bool valid = true;
};

using Shape = std::vector<std::int64_t>;
std::int64_t numel(const Shape& shape);

/// A dense row-major array; every valid lane holds a value of its element type.
struct Array {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<Lane> lanes;

  std::int64_t size() const { return static_cast<std::int64_t>(lanes.size()); }
  bool all_valid() const;
  bool has_nan() const;
};

/// An array of one value.
Array filled(DType dtype, Shape shape, Lane lane);

bool is_float(DType dtype);
/// Bits of an integer type or bool.
int width(DType dtype);
bool is_signed_integer(DType dtype);

/// A real number as a value of `dtype`. Floats: to nearest, ties to even. Integers: toward zero, saturating, NaN is 0.
double converted(double value, DType dtype);
/// A whole number modulo the width of the integer type.
double wrapped(std::int64_t value, DType dtype);

/// numpy's broadcasting; empty optional-like: `ok` is false when the shapes do not fit.
struct Broadcast {
  bool ok = true;
  Shape shape;
};
Broadcast broadcast(const Shape& a, const Shape& b);
/// `x` stretched to `shape`.
Array stretched(const Array& x, const Shape& shape);

}  // namespace kernbench::testing
