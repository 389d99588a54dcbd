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
  const std::size_t depth = depth_of(blocks, operands, options);
  const auto start_load = [&](std::size_t o, const Box& block) {
    const bool together = options.mates != nullptr && options.shared[o];
    return together ? load_async(*options.mates, operands[o], block.offset, block.shape)
                    : load_async(operands[o], block.offset, block.shape);
  };
  std::deque<std::vector<std::optional<PendingLoad>>> under_way;
  std::vector<tl::Tile> kept(operands.size());
  std::size_t next = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (; next < blocks.size() && under_way.size() < depth; ++next) {
      auto& loads = under_way.emplace_back(operands.size());
      for (std::size_t o = 0; o < operands.size(); ++o)
        if (next == 0 || !same_elements(operands[o], blocks[next - 1], blocks[next]))
          loads[o] = start_load(o, blocks[next]);
    }
    std::vector<tl::Tile> tiles;
    tiles.reserve(operands.size());
    for (std::size_t o = 0; o < operands.size(); ++o) {
      auto& load = under_way.front()[o];
      tiles.push_back(load ? wait(std::move(*load)) : std::move(kept[o]));
      // A tile that nobody needs any more must not stay in the TCM.
      if (b + 1 < blocks.size() && same_elements(operands[o], blocks[b], blocks[b + 1])) kept[o] = tiles.back();
    }
    under_way.pop_front();
    body(blocks[b], std::move(tiles));
  }
}

}  // namespace kernbench::tile::library
