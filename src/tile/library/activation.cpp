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
  }
  return x;
}

}  // namespace kernbench::tile::library
