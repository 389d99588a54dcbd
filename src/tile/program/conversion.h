// Between the public types of the tile language and those of src/numerics.
#pragma once

#include <string>

#include "kernbench/tl.h"
#include "numerics/scalar.h"
#include "numerics/shape.h"

namespace kernbench::tile {

inline numerics::Shape to_shape(const tl::Extents& extents) {
  return numerics::Shape(extents.span());
}
inline tl::Extents to_extents(const numerics::Shape& shape) {
  return tl::Extents(shape.span());
}
inline numerics::Scalar to_scalar(const tl::Scalar& scalar) {
  switch (scalar.kind()) {
    case tl::Scalar::Kind::boolean:
      return numerics::Scalar(scalar.as_integer() != 0);
    case tl::Scalar::Kind::integer:
      return numerics::Scalar(scalar.as_integer());
    case tl::Scalar::Kind::floating:
      break;
  }
  return numerics::Scalar(scalar.as_double());
}

/// "[128, 64]"
std::string to_text(const tl::Extents& extents);
/// "valid are 0 to 127"; of an extent of 0 that there are none.
std::string valid_text(std::int64_t extent);

}  // namespace kernbench::tile
