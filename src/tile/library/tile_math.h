// Tiles as the values of numerics/compositions.h.
#pragma once

#include "kernbench/tl.h"
#include "numerics/compositions.h"
#include "tile/compute/elementwise.h"

namespace kernbench::tile::library {

/// REQUIRES: f32 tiles, so that every step rounds as it does on the host.
struct TileMath {
  using Value = tl::Tile;
  static float number(double value) { return static_cast<float>(value); }
  static tl::Tile where(const tl::Tile& condition, const tl::Operand& a, const tl::Operand& b) {
    return tl::where(condition, a, b);
  }
  static tl::Tile at_least(const tl::Tile& x, float low) { return apply(numerics::BinaryOperation::clamp_min, x, low); }
  static tl::Tile at_most(const tl::Tile& x, float high) {
    return apply(numerics::BinaryOperation::clamp_max, x, high);
  }
  static tl::Tile absolute(const tl::Tile& x) { return tl::abs(x); }
  static tl::Tile floor(const tl::Tile& x) { return tl::floor(x); }
  static tl::Tile fmod(const tl::Tile& a, const tl::Tile& b) { return a % b; }
  static tl::Tile exp(const tl::Tile& x) { return tl::exp(x); }
  static tl::Tile expm1(const tl::Tile& x) { return tl::expm1(x); }
  static tl::Tile log(const tl::Tile& x) { return tl::log(x); }
  static tl::Tile log1p(const tl::Tile& x) { return tl::log1p(x); }
  static tl::Tile tanh(const tl::Tile& x) { return tl::tanh(x); }
  static tl::Tile erf(const tl::Tile& x) { return tl::erf(x); }
  static tl::Tile sigmoid(const tl::Tile& x) { return tl::sigmoid(x); }
};

}  // namespace kernbench::tile::library
