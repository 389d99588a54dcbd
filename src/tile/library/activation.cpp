#include "tile/library/activation.h"

#include "tile/library/tile_math.h"

namespace kernbench::tile::library {

tl::Tile activate(const tl::Tile& x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return tl::maximum(x, 0, tl::PropagateNan::all);
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
