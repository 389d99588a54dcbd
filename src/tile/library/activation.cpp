#include "tile/library/activation.h"

#include "tile/compute/elementwise.h"
#include "tile/library/tile_math.h"

namespace kernbench::tile::library {

tl::Tile activate(const tl::Tile& x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return apply(numerics::BinaryOperation::clamp_min, x, 0);
    case Activation::silu:
      return numerics::silu<TileMath>(x);
    case Activation::gelu:
      return numerics::gelu<TileMath>(x);
    case Activation::gelu_tanh:
      return numerics::gelu_tanh<TileMath>(x);
    case Activation::log_sigmoid:
      return numerics::log_sigmoid<TileMath>(x);
    case Activation::mish:
      return numerics::mish<TileMath>(x);
    case Activation::hardsigmoid:
      return numerics::hardsigmoid<TileMath>(x);
    case Activation::hardswish:
      return numerics::hardswish<TileMath>(x);
    case Activation::selu:
      return numerics::selu<TileMath>(x);
  }
  return x;
}

}  // namespace kernbench::tile::library
