// What the algorithms have in common that go over the distances 1, 2, 4, … < n from rank to rank: those of Bruck and
// PAT.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

inline constexpr std::string_view kBruck = "bruck";

/// From each rank to those at the distances 1, 2, 4, … < n after it.
std::vector<RankPair> bruck_channels(const GroupShape& ranks);
/// Why these channels, and those of a ring beside them, find no room in a PE; empty: they do.
std::string bruck_refusal(const GroupDescription& group);
/// `share` of the bytes from each rank to the one at that distance after it.
CostStep bruck_step(int ranks, std::int64_t distance, double share);

/// Elements of a block that go in one message, or come in one.
struct BlockTile {
  const BlockRow* block = nullptr;
  Piece at = {};
};
/// The tiles of a share of a block, behind the others.
void append_tiles(std::vector<BlockTile>& tiles, const BlockRow& block, const Pieces& share,
                  std::int64_t tile_elements);
/// Sends tiles to the rank at that distance after this one, and stores those that come from the one before it. A rank
/// sends as many as a queue has slots, and from then on takes one for each that it sends: the one that is furthest
/// behind finds room for what it sends, and is sent what it waits for.
void exchange(const RankView& ranks, std::int64_t distance, const std::vector<BlockTile>& sent,
              const std::vector<BlockTile>& taken);

}  // namespace kernbench::distributed
