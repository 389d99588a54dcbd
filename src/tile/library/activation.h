// Activation functions on tiles, in f32.
#pragma once

#include <cstdint>

#include "kernbench/tl.h"

namespace kernbench::tile::library {

enum class Activation : std::uint8_t {
  none,
  relu,
  silu,
  gelu,
  gelu_tanh,
  log_sigmoid,
  mish,
  hardsigmoid,
  hardswish,
  selu
};

/// `x` must be f32 unless the activation is none or relu, which keep any type. relu keeps NaN, as PyTorch's does.
/// Live tiles at most: x and two more; of selu, three.
tl::Tile activate(const tl::Tile& x, Activation activation);

}  // namespace kernbench::tile::library
