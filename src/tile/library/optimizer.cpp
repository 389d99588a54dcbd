#include "tile/library/optimizer.h"

#include <algorithm>

#include "tile/library/elementwise.h"

namespace kernbench::tile::library {

namespace {

constexpr std::int64_t kTilesOfUpdate = 9;

tl::Tile load_f32(const View& view, const tl::Extents& at, const tl::Extents& shape) {
  return tl::cast(fill_out(load(view, at, shape), shape), DType::f32);
}

}  // namespace

void adam(const View& parameter, const View& grad, const View& mean, const View& square, const AdamStep& step) {
  const std::int64_t limit = std::clamp<std::int64_t>(tcm_budget() / (4 * kTilesOfUpdate), 1, kLargestBlock);
  for (const Box& box : share_of(parameter, Share::held)) {
    for_each_block(box, block_shape(box.shape, limit), [&](const tl::Extents& at, const tl::Extents& shape) {
      tl::Tile p = load_f32(parameter, at, shape), g = load_f32(grad, at, shape);
      tl::Tile m = load_f32(mean, at, shape), v = load_f32(square, at, shape);
      if (step.decay != 0) g = tl::fma(p, step.decay, g);
      if (step.shrink != 0) p = p - p * step.shrink;
      m = m + (g - m) * step.mean;
      store(mean, at, m);
      v = v + (g * g - v) * step.square;
      store(square, at, v);
      g = tl::Tile();
      const tl::Tile root = tl::sqrt(v) * step.root + step.epsilon;
      store(parameter, at, p - m * step.step / root);
    });
  }
}

}  // namespace kernbench::tile::library
