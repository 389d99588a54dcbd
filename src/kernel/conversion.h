// Between the public types of the tile language and those of the data layer.
#pragma once

#include <string>

#include "data/scalar.h"
#include "data/shape.h"
#include "kernbench/tl.h"

namespace kernbench::kernel {

inline data::Shape to_shape(const tl::Extents& extents) {
  return data::Shape(extents.span());
}
inline tl::Extents to_extents(const data::Shape& shape) {
  return tl::Extents(shape.span());
}
inline data::Scalar to_scalar(const tl::Scalar& scalar) {
  switch (scalar.kind()) {
    case tl::Scalar::Kind::boolean:
      return data::Scalar(scalar.as_integer() != 0);
    case tl::Scalar::Kind::integer:
      return data::Scalar(scalar.as_integer());
    case tl::Scalar::Kind::floating:
      break;
  }
  return data::Scalar(scalar.as_double());
}

/// "[128, 64]"
std::string to_text(const tl::Extents& extents);

}  // namespace kernbench::kernel
