#include "tile/library/activation.h"

namespace kernbench::tile::library {

namespace {

constexpr float kSqrtHalf = 0.70710678118654752440F;
constexpr float kSqrtTwoOverPi = 0.79788456080286535588F;
constexpr float kCube = 0.044715F;

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
tl::Tile gelu_tanh(const tl::Tile& x) {
  auto inner = x * x;
  inner = inner * kCube + 1.0F;
  inner = tl::tanh(inner * x * kSqrtTwoOverPi);
  inner = inner * 0.5F + 0.5F;
  return inner * x;
}

/// 0.5 x (1 + erf(x / sqrt(2)))
tl::Tile gelu_erf(const tl::Tile& x) {
  auto half = tl::erf(x * kSqrtHalf);
  half = half * 0.5F + 0.5F;
  return half * x;
}

}  // namespace

tl::Tile activate(const tl::Tile& x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return tl::maximum(x, 0, tl::PropagateNan::all);
    case Activation::silu:
      return x * tl::sigmoid(x);
    case Activation::gelu:
      return gelu_erf(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
  }
  return x;
}

}  // namespace kernbench::tile::library
