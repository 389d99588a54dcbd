#include "tile/library/pipeline.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace kernbench::tile::library {

namespace {

constexpr std::int64_t kBlocksUnderWay = 3;
/// Elements: a part of fewer costs more in commands than it brings sooner.
constexpr std::int64_t kSmallestPart = 1024;

/// So many blocks' operands, and one result, have room as tiles of the largest block and type.
std::size_t depth_of(const std::vector<Box>& blocks, const std::vector<View>& operands,
                     const PipelineOptions& options) {
  std::int64_t largest = 1;
  for (const Box& block : blocks) largest = std::max(largest, block.shape.numel());
  const std::int64_t beside = options.beside == 0 ? 0 : options.beside * largest + kBytesOfMask;
  const std::int64_t item = std::max(options.item, widest_item(operands));
  const std::int64_t tiles = (tcm_budget() - beside) / (item * largest) - 1;
  const auto of_a_block = std::max<std::int64_t>(static_cast<std::int64_t>(operands.size()), 1);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(tiles / of_a_block, 1, kBlocksUnderWay));
}

}  // namespace

bool same_elements(const View& operand, const Box& a, const Box& b) {
  for (std::size_t d = 0; d < operand.rank(); ++d)
    if (operand.strides[d] != 0 && (a.offset[d] != b.offset[d] || a.shape[d] != b.shape[d])) return false;
  return true;
}

void append_blocks(std::vector<Box>& blocks, const Box& box, const tl::Extents& block) {
  for_each_block(box, block, [&](const tl::Extents& at, const tl::Extents& shape) { blocks.push_back({at, shape}); });
}

std::vector<Box> growing(std::vector<Box> blocks, const std::vector<bool>& whole) {
  if (blocks.empty()) return blocks;
  const Box first = blocks.front();
  std::size_t cut = 0;
  while (cut < first.shape.size() && ((cut < whole.size() && whole[cut]) || first.shape[cut] <= 1)) ++cut;
  if (cut == first.shape.size()) return blocks;
  const std::int64_t extent = first.shape[cut];
  const std::int64_t slice = first.shape.numel() / extent;
  const std::int64_t smallest = std::max(extent / 8, (kSmallestPart + slice - 1) / slice);
  std::vector<Box> parts;
  for (std::int64_t begin = 0, end = smallest; begin < extent; begin = end, end *= 2) {
    Box part = first;
    part.offset[cut] += begin;
    part.shape[cut] = std::min(end, extent) - begin;
    parts.push_back(part);
  }
  parts.insert(parts.end(), blocks.begin() + 1, blocks.end());
  return parts;
}

void pipeline(const std::vector<Box>& blocks, const std::vector<View>& operands,
              const std::function<void(const Box& block, std::vector<tl::Tile> tiles)>& body,
              const PipelineOptions& options) {
  pipeline(std::vector<PipelinePart>{{blocks, operands, body}}, options);
}

void pipeline(const std::vector<PipelinePart>& parts, const PipelineOptions& options) {
  struct Turn {
    const PipelinePart& part;
    const Box& block;
  };
  std::vector<Turn> turns;
  std::size_t depth = kBlocksUnderWay;
  for (const PipelinePart& part : parts) {
    if (!part.blocks.empty()) depth = std::min(depth, depth_of(part.blocks, part.operands, options));
    for (const Box& block : part.blocks) turns.push_back({part, block});
  }
  const auto start_load = [&](const View& operand, std::size_t o, const Box& block) {
    const bool together = options.mates != nullptr && options.shared[o];
    return together ? load_async(*options.mates, operand, block.offset, block.shape)
                    : load_async(operand, block.offset, block.shape);
  };
  /// Whether a turn has the tile of the one before it.
  const auto keeps = [&](std::size_t turn, std::size_t o) {
    const Turn &before = turns[turn - 1], &here = turns[turn];
    return &before.part == &here.part && same_elements(here.part.operands[o], before.block, here.block);
  };
  std::deque<std::vector<std::optional<PendingLoad>>> under_way;
  std::vector<tl::Tile> kept;
  std::size_t next = 0;
  for (std::size_t t = 0; t < turns.size(); ++t) {
    for (; next < turns.size() && under_way.size() < depth; ++next) {
      const auto& operands = turns[next].part.operands;
      auto& loads = under_way.emplace_back(operands.size());
      for (std::size_t o = 0; o < operands.size(); ++o)
        if (next == 0 || !keeps(next, o)) loads[o] = start_load(operands[o], o, turns[next].block);
    }
    const std::size_t count = turns[t].part.operands.size();
    kept.resize(count);
    std::vector<tl::Tile> tiles;
    tiles.reserve(count);
    for (std::size_t o = 0; o < count; ++o) {
      auto& load = under_way.front()[o];
      tiles.push_back(load ? wait(std::move(*load)) : std::move(kept[o]));
      // A tile that nobody needs any more must not stay in the TCM.
      if (t + 1 < turns.size() && keeps(t + 1, o)) kept[o] = tiles.back();
    }
    under_way.pop_front();
    turns[t].part.body(turns[t].block, std::move(tiles));
  }
}

}  // namespace kernbench::tile::library
