#include "tile/library/optimizer.h"

#include <algorithm>
#include <utility>

#include "tile/library/elementwise.h"
#include "tile/library/pipeline.h"

namespace kernbench::tile::library {

namespace {

constexpr std::int64_t kTilesOfUpdate = 9;

}  // namespace

void adam(const View& parameter, const View& grad, const View& mean, const View& square, const AdamStep& step) {
  const std::int64_t limit = std::clamp<std::int64_t>(tcm_budget() / (4 * kTilesOfUpdate), 1, kLargestBlock);
  std::vector<Box> blocks;
  for (const Box& box : share_of(parameter, Share::held)) append_blocks(blocks, box, block_shape(box.shape, limit));
  pipeline(growing(std::move(blocks), {}), {parameter, grad, mean, square},
           [&](const Box& block, std::vector<tl::Tile> tiles) {
             const auto take = [&](std::size_t operand) {
               return tl::cast(fill_out(std::exchange(tiles[operand], {}), block.shape), DType::f32);
             };
             tl::Tile p = take(0), g = take(1), m = take(2), v = take(3);
             if (step.decay != 0) g = tl::fma(p, step.decay, g);
             if (step.shrink != 0) p = p - p * step.shrink;
             m = m + (g - m) * step.mean;
             store(mean, block.offset, m);
             v = v + (g * g - v) * step.square;
             store(square, block.offset, v);
             g = tl::Tile();
             const tl::Tile root = tl::sqrt(v) * step.root + step.epsilon;
             store(parameter, block.offset, p - m * step.step / root);
           });
}

}  // namespace kernbench::tile::library
