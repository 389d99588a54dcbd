#include "tile/library/optimizer.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "tile/library/elementwise.h"
#include "tile/library/pipeline.h"

namespace kernbench::tile::library {

namespace {

/// f32 tiles of a block that a step makes beside those that it has loaded.
constexpr std::int64_t kTilesMade = 3;

/// Calls body(block, tiles), in f32, for each block that the program holds of the first operand.
void for_each_held_block(const std::vector<View>& operands,
                         const std::function<void(const Box& block, std::vector<tl::Tile> tiles)>& body) {
  const auto tiles = static_cast<std::int64_t>(2 * operands.size()) + kTilesMade + 2;
  const std::int64_t limit = std::clamp<std::int64_t>(tcm_budget() / (4 * tiles), 1, kLargestBlock);
  std::vector<Box> blocks;
  for (const Box& box : share_of(operands.front(), Share::held))
    append_blocks(blocks, box, block_shape(box.shape, limit));
  PipelineOptions options;
  options.beside = 4 * kTilesMade;
  pipeline(
      growing(std::move(blocks), {}), operands,
      [&](const Box& block, std::vector<tl::Tile> loaded) {
        for (tl::Tile& tile : loaded) tile = tl::cast(fill_out(std::exchange(tile, {}), block.shape), DType::f32);
        body(block, std::move(loaded));
      },
      options);
}

/// The gradient as it counts, with the parameter's share.
tl::Tile counted(tl::Tile grad, const tl::Tile& parameter, float decay, bool maximize) {
  if (maximize) grad = -grad;
  return decay == 0 ? grad : tl::fma(parameter, decay, grad);
}

}  // namespace

void sgd(const SgdStep& step) {
  std::vector<View> operands{step.parameter, step.grad};
  if (step.buffer && !step.is_first) operands.push_back(*step.buffer);
  for_each_held_block(operands, [&](const Box& block, std::vector<tl::Tile> tiles) {
    const tl::Tile p = std::exchange(tiles[0], {});
    tl::Tile g = counted(std::exchange(tiles[1], {}), p, step.decay, step.maximize);
    if (step.buffer) {
      const tl::Tile sum = step.is_first ? g : tl::fma(g, step.add, std::exchange(tiles[2], {}) * step.keep);
      store(*step.buffer, block.offset, sum);
      g = step.nesterov ? tl::fma(sum, step.keep, g) : sum;
    }
    store(step.parameter, block.offset, tl::fma(g, -step.rate, p));
  });
}

void adam(const AdamStep& step) {
  std::vector<View> operands{step.parameter, step.grad};
  if (!step.is_first) {
    operands.insert(operands.end(), {step.mean, step.square});
    if (step.largest) operands.push_back(*step.largest);
  }
  for_each_held_block(operands, [&](const Box& block, std::vector<tl::Tile> tiles) {
    tl::Tile p = std::exchange(tiles[0], {});
    tl::Tile g = counted(std::exchange(tiles[1], {}), p, step.decay, step.maximize);
    if (step.shrink != 1) p = p * step.shrink;
    const tl::Tile m =
        step.is_first ? g * step.mean_add : tl::fma(g, step.mean_add, std::exchange(tiles[2], {}) * step.mean_keep);
    store(step.mean, block.offset, m);
    tl::Tile v = g * step.square_add;
    v = step.is_first ? v * g : tl::fma(v, g, std::exchange(tiles[3], {}) * step.square_keep);
    store(step.square, block.offset, v);
    g = tl::Tile();
    if (step.largest) {
      if (!step.is_first) v = tl::maximum(std::exchange(tiles[4], {}), v, tl::PropagateNan::all);
      store(*step.largest, block.offset, v);
    }
    const tl::Tile root = tl::fma(tl::sqrt(v), step.root, step.epsilon);
    store(step.parameter, block.offset, p - m * step.step / root);
  });
}

}  // namespace kernbench::tile::library
