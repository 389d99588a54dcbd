// What kernels that put elements in order share: floats as integers in the same order, and two results of one pass.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "tile/library/elementwise.h"

namespace kernbench::tile::library {

/// i32 in the order of the elements of x, which is f32: the bits with the magnitude of negative ones turned round; NaN
/// is largest, -0 is below +0.
inline tl::Tile ordered_bits(const tl::Tile& x) {
  constexpr std::int32_t kMagnitude = std::numeric_limits<std::int32_t>::max();
  const auto bits = tl::bitcast(x, DType::i32);
  return tl::where(x != x, kMagnitude, tl::where(bits < 0, bits ^ kMagnitude, bits));
}

/// The bits of the elements that ordered_bits made integers of.
inline tl::Tile bits_of_ordered(const tl::Tile& ordered) {
  return tl::where(ordered < 0, ordered ^ std::numeric_limits<std::int32_t>::max(), ordered);
}

/// Calls make(box, values, indices) for the calling program's boxes of two results along lines of `dimension`. spread:
/// whole lines of both. held: the boxes of each that the PE holds, the other being null.
template <class Make>
void make_values_and_indices(const View& values, const View& indices, std::size_t dimension, Share share,
                             const Make& make) {
  if (share == Share::spread) {
    std::vector<bool> along(values.rank(), false);
    along[dimension] = true;
    for (const Box& box : lines_of(values, along, Share::spread)) make(box, &values, &indices);
    return;
  }
  for (const Box& box : local_boxes(values)) make(box, &values, nullptr);
  for (const Box& box : local_boxes(indices)) make(box, nullptr, &indices);
}

}  // namespace kernbench::tile::library
