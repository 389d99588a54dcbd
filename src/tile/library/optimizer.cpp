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

using StepOfBlock = std::function<void(const Box& block, std::vector<tl::Tile> tiles)>;

/// The blocks that the program holds of the first operand.
PipelinePart held_blocks(std::vector<View> operands, StepOfBlock body) {
  const auto tiles = static_cast<std::int64_t>(2 * operands.size()) + kTilesMade + 2;
  const std::int64_t limit = std::clamp<std::int64_t>(tcm_budget() / (4 * tiles), 1, kLargestBlock);
  PipelinePart part;
  for (const Box& box : share_of(operands.front(), Share::held))
    append_blocks(part.blocks, box, block_shape(box.shape, limit));
  part.operands = std::move(operands);
  part.body = std::move(body);
  return part;
}

/// All parts, the blocks of each in turn as they are loaded.
void run(std::vector<PipelinePart> parts) {
  const auto first = std::ranges::find_if(parts, [](const PipelinePart& part) { return !part.blocks.empty(); });
  if (first == parts.end()) return;
  first->blocks = growing(std::move(first->blocks), {});
  PipelineOptions options;
  options.beside = 4 * kTilesMade;
  pipeline(parts, options);
}

/// The tile as one of f32 that fills the block.
tl::Tile taken(tl::Tile& tile, const Box& block) {
  return tl::cast(fill_out(std::exchange(tile, {}), block.shape), DType::f32);
}

/// The gradient as it counts, with the parameter's share.
tl::Tile counted(tl::Tile grad, const tl::Tile& parameter, float decay, bool maximize) {
  if (maximize) grad = -grad;
  return decay == 0 ? grad : tl::fma(parameter, decay, grad);
}

PipelinePart part_of(const SgdStep& step) {
  std::vector<View> operands{step.parameter, step.grad};
  if (step.buffer && !step.is_first) operands.push_back(*step.buffer);
  return held_blocks(std::move(operands), [&step](const Box& block, std::vector<tl::Tile> tiles) {
    const tl::Tile p = taken(tiles[0], block);
    tl::Tile g = counted(taken(tiles[1], block), p, step.decay, step.maximize);
    if (step.buffer) {
      const tl::Tile sum = step.is_first ? g : tl::fma(g, step.add, taken(tiles[2], block) * step.keep);
      store(*step.buffer, block.offset, sum);
      g = step.nesterov ? tl::fma(sum, step.keep, g) : sum;
    }
    store(step.parameter, block.offset, tl::fma(g, -step.rate, p));
  });
}

PipelinePart part_of(const AdamStep& step) {
  std::vector<View> operands{step.parameter, step.grad};
  if (!step.is_first) {
    operands.insert(operands.end(), {step.mean, step.square});
    if (step.largest) operands.push_back(*step.largest);
  }
  return held_blocks(std::move(operands), [&step](const Box& block, std::vector<tl::Tile> tiles) {
    tl::Tile p = taken(tiles[0], block);
    tl::Tile g = counted(taken(tiles[1], block), p, step.decay, step.maximize);
    if (step.shrink != 1) p = p * step.shrink;
    const tl::Tile m =
        step.is_first ? g * step.mean_add : tl::fma(g, step.mean_add, taken(tiles[2], block) * step.mean_keep);
    store(step.mean, block.offset, m);
    tl::Tile v = g * step.square_add;
    v = step.is_first ? v * g : tl::fma(v, g, taken(tiles[3], block) * step.square_keep);
    store(step.square, block.offset, v);
    g = tl::Tile();
    if (step.largest) {
      if (!step.is_first) v = tl::maximum(taken(tiles[4], block), v, tl::PropagateNan::all);
      store(*step.largest, block.offset, v);
    }
    const tl::Tile root = tl::fma(tl::sqrt(v), step.root, step.epsilon);
    store(step.parameter, block.offset, p - m * step.step / root);
  });
}

PipelinePart part_of(const RootStep& step) {
  std::vector<View> operands{step.parameter, step.grad};
  if (!step.is_first) {
    operands.push_back(step.square);
    if (step.mean) operands.push_back(*step.mean);
    if (step.buffer) operands.push_back(*step.buffer);
  }
  return held_blocks(std::move(operands), [&step](const Box& block, std::vector<tl::Tile> tiles) {
    const tl::Tile p = taken(tiles[0], block);
    tl::Tile g = counted(taken(tiles[1], block), p, step.decay, step.maximize);
    tl::Tile v = g * step.add;
    if (!step.is_first)
      v = tl::fma(v, g, taken(tiles[2], block) * step.keep);
    else
      v = step.start == 0 ? v * g : tl::fma(v, g, step.keep * step.start);
    store(step.square, block.offset, v);
    if (step.mean) {
      const tl::Tile m = step.is_first ? g * step.add : tl::fma(g, step.add, taken(tiles[3], block) * step.keep);
      store(*step.mean, block.offset, m);
      v = tl::fma(m, -m, v);
    }
    v = tl::sqrt(v);
    v = v + step.epsilon;
    g = g / v;
    v = tl::Tile();
    if (step.buffer) {
      if (!step.is_first) g = tl::fma(taken(tiles.back(), block), step.momentum, g);
      store(*step.buffer, block.offset, g);
    }
    store(step.parameter, block.offset, tl::fma(g, -step.rate, p));
  });
}

template <class Step>
void run_steps(const std::vector<Step>& steps) {
  std::vector<PipelinePart> parts;
  parts.reserve(steps.size());
  for (const Step& step : steps) parts.push_back(part_of(step));
  run(std::move(parts));
}

}  // namespace

void sgd(const std::vector<SgdStep>& steps) {
  run_steps(steps);
}

void adam(const std::vector<AdamStep>& steps) {
  run_steps(steps);
}

void root_step(const std::vector<RootStep>& steps) {
  run_steps(steps);
}

void scale(const std::vector<View>& tensors, const View& total_norm, float max_norm) {
  const tl::Tile norm = tl::cast(load(total_norm, {0}, {1}), DType::f32);
  const tl::Tile factor = tl::minimum(max_norm / (norm + 1e-6F), 1, tl::PropagateNan::all);
  for (const View& x : tensors) {
    tl::Extents one = x.sizes;
    for (std::size_t d = 0; d < one.size(); ++d) one[d] = 1;
    const tl::Tile times = tl::reshape(factor, one);
    run({held_blocks({x}, [&](const Box& block, const std::vector<tl::Tile>& tiles) {
      store(x, block.offset, tl::cast(tiles[0], DType::f32) * times);
    })});
  }
}

void clamp(const View& x, float low, float high) {
  run({held_blocks({x}, [&](const Box& block, const std::vector<tl::Tile>& tiles) {
    store(x, block.offset, tl::clamp(tl::cast(tiles[0], DType::f32), low, high));
  })});
}

void zero(const View& x) {
  const std::int64_t limit = std::clamp<std::int64_t>(tcm_budget() / (4 * kTilesMade), 1, kLargestBlock);
  for (const Box& box : share_of(x, Share::held)) {
    for_each_block(box, block_shape(box.shape, limit), [&](const tl::Extents& at, const tl::Extents& shape) {
      store(x, at, tl::full(shape, 0, x.dtype()));
    });
  }
}

}  // namespace kernbench::tile::library
